"""Ours and the tools one would use instead, on one workload, in one table.

    python benchmarks/peers/run.py [--only byzfl flower] [--passes 3] [--rounds 5] [--clients 50] [--threads 2]

Run it with the Python that has SureFED installed. Every other tool is installed into an environment of its own below
`.venvs`, the first time. Passes are interleaved (A, B, C, A, B, C), each in a fresh process, because machines are
noisy: the ratio of a pass holds where its seconds do not. The seconds of a pass are the median of its rounds, after
two that warm up. Memory is the most that a process held, or all processes of a tool together, looked at twice a second.
A tool that cannot be installed or that fails is named in the table, and the others go on. The figures go to
`result.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import threading
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CONSTRAINTS = HERE.parent.parent / "constraints.txt"
LIMIT = 1800  # seconds that a pass, or an installation, may take


@dataclass(frozen=True)
class Tool:
    """Something that plays the workload.

    ours: the row of ours that does the same work.
    pinned, free: what is installed under our constraints, and after it with no dependencies that we do not name.
    """

    label: str
    script: str
    ours: str
    arguments: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    version_of: str = "surefed"


BAYESIAN, PLAIN = "surefed", "surefed-plain"
TOOLS = {
    BAYESIAN: Tool("SureFED, both beliefs, inspection", "play_surefed.py", BAYESIAN, ("surefed",)),
    "bayesian-torch": Tool(
        "script on bayesian-torch, the same",
        "play_bayesian_torch.py",
        BAYESIAN,
        pinned=("numpy",),
        free=("--no-deps", "bayesian-torch==0.5.0"),
        version_of="bayesian-torch",
    ),
    PLAIN: Tool("SureFED, plain networks, trimmed_mean", "play_surefed.py", PLAIN, ("trimmed_mean",)),
    "byzfl": Tool(
        "byzfl, plain networks, TrMean",
        "play_byzfl.py",
        PLAIN,
        pinned=("numpy", "scipy"),
        free=("--no-deps", "byzfl==0.0.11"),
        version_of="byzfl",
    ),
    "flower": Tool(
        "Flower simulation, plain, FedTrimmedAvg",
        "play_flower.py",
        PLAIN,
        pinned=("numpy",),
        free=("flwr[simulation]>=1.41,<1.43",),
        version_of="flwr",
    ),
}


@dataclass
class Row:
    """What was seen of a tool: for each pass the seconds of its rounds; or why there is nothing.

    worked: the seconds of all cores together, which other load on the machine changes less; empty where several
    processes do the work.
    """

    passes: list[list[float]] = field(default_factory=list)
    worked: list[list[float]] = field(default_factory=list)
    mib: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)
    version: str = ""
    failed: str = ""


def interpreter(name: str) -> str:
    """The Python that has the tool, installed if it is not there yet."""
    tool = TOOLS[name]
    if not tool.free:
        return sys.executable
    place = HERE / ".venvs" / name
    python, mark = place / "bin" / "python", place / "installed"
    torch = next(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("torch=="))
    wanted = " ".join([torch, *tool.pinned, *tool.free])
    if not mark.exists() or mark.read_text() != wanted:
        print(f"installing {name} into {place}", file=sys.stderr)
        venv.create(place, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # torch first and pinned: a looser requirement may replace it by a build for GPUs, gigabytes of it
        done([*pip, "-c", str(CONSTRAINTS), torch, *tool.pinned])
        done([*pip, *tool.free])
        mark.write_text(wanted)
    return str(python)


def done(command: list[str]) -> str:
    """What a command printed; what it complained about if it failed."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT).stdout
    except subprocess.CalledProcessError as error:
        raise RuntimeError(last_line(error.stderr)) from error


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"


def tree_mib(root: int) -> float:
    """MiB held by a process and its descendants, pages that several share counted once."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue  # it has ended
    family, grown = {root}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in family} - family
        family, grown = family | more, bool(more)
    held = 0
    for member in family:
        try:
            rollup = Path(f"/proc/{member}/smaps_rollup").read_text()
            held += int(rollup.split("Pss:")[1].split()[0])
        except (OSError, IndexError):
            continue
    return held / 1024


def play(name: str, python: str, rounds: int, given: dict[str, str]) -> dict[str, Any]:
    """One pass in a fresh process: what it reported, with the MiB held at most by all its processes together."""
    tool = TOOLS[name]
    command = [python, str(HERE / tool.script), str(rounds), *tool.arguments]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, env=given, stdout=pipe, stderr=pipe, text=True, cwd=HERE, start_new_session=True
    )
    most, over = 0.0, threading.Event()

    def look() -> None:
        nonlocal most
        while not over.wait(0.5):
            most = max(most, tree_mib(process.pid))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        said, complained = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"took more than {LIMIT} s") from error
    finally:
        if process.poll() is None:  # too slow, or we were told to stop
            os.killpg(process.pid, signal.SIGKILL)
        over.set()
        watcher.join()
    if process.returncode != 0:
        raise RuntimeError(last_line(complained))
    result: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
    return result | {"mib": max(most, result["mib"])}


def measure(names: list[str], passes: int, rounds: int, environment: dict[str, str]) -> dict[str, Row]:
    """Everybody in turn, pass after pass."""
    rows, pythons = {name: Row() for name in names}, {}
    for name in names:
        try:
            pythons[name] = interpreter(name)
            asked = f"from importlib.metadata import version; print(version({TOOLS[name].version_of!r}))"
            rows[name].version = done([pythons[name], "-c", asked]).strip()
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            rows[name].failed = f"cannot be installed: {error}"
    for turn in range(passes):
        for name, row in rows.items():
            if row.failed:
                continue
            row.load.append(round(os.getloadavg()[0], 2))
            try:
                seen = play(name, pythons[name], rounds, environment)
            except (RuntimeError, OSError, ValueError, IndexError) as error:
                row.failed = f"failed in pass {turn + 1}: {error}"
                continue
            row.passes.append(seen["seconds"])
            row.worked.append(seen["worked"])
            row.mib.append(seen["mib"])
            print(f"pass {turn + 1}, {name}: {statistics.median(seen['seconds']):.3f} s", file=sys.stderr)
    return rows


def ratios(rows: dict[str, Row], name: str) -> list[float]:
    """How many times as long as ours in the same pass, like for like."""
    ours = rows[TOOLS[name].ours].passes
    both = zip(rows[name].passes, ours, strict=False)
    return [statistics.median(theirs) / statistics.median(mine) for theirs, mine in both]


def table(rows: dict[str, Row]) -> str:
    """All of it, for people."""
    lines = [
        "| tool | version | seconds a round, pass by pass | x ours, same pass | core seconds | MiB | load before |"
    ]
    lines.append("|---|---|---|---|---|--:|---|")
    for name, row in rows.items():
        seconds = "  ".join(f"{statistics.median(one):.3f}" for one in row.passes)
        times = "  ".join(f"{ratio:.2f}" for ratio in ratios(rows, name)) if TOOLS[name].ours != name else "1"
        worked = "  ".join(f"{statistics.median(one):.3f}" for one in row.worked if one)
        held = f"{max(row.mib):.0f}" if row.mib else ""
        load = "  ".join(map(str, row.load))
        said = "; ".join(filter(None, [seconds, row.failed]))
        lines.append(f"| {TOOLS[name].label} | {row.version} | {said} | {times} | {worked} | {held} | {load} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=[name for name in TOOLS if TOOLS[name].free], metavar="TOOL")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, default=HERE / "result.json")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    chosen = {TOOLS[name].ours for name in given.only} | set(given.only) if given.only else set(TOOLS)
    environment = os.environ | {"OMP_NUM_THREADS": str(given.threads), "CLIENTS": str(given.clients)}
    rows = measure([name for name in TOOLS if name in chosen], given.passes, given.rounds, environment)
    about = {name: getattr(given, name) for name in ("clients", "threads", "rounds")}
    about |= {"cores": os.cpu_count(), "machine": platform.machine()}
    figures = {name: vars(row) | {"x_ours": ratios(rows, name)} for name, row in rows.items()}
    given.json.write_text(json.dumps({"about": about, "tools": figures}, indent=2) + "\n")
    print(
        f"{given.clients} clients, the paper's CNN, 5 batches of 5; {given.threads} threads on {about['cores']} cores"
    )
    print(table(rows))


if __name__ == "__main__":
    main()

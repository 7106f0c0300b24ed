"""`surefed bench`: how fast a round is on this machine, and how fast the machine would let it be."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.box import SIMPLE_HEAVY
from rich.table import Table

from surefed.cli import console
from surefed.cli.commands import DeviceOption, app
from surefed.core.versions import versions
from surefed.records import write_text
from surefed.sim.bench import PLAYERS, Engine, Kind, Player, Workload, copy_bandwidth, interleaved, middle, peak_mib

PARTS = ("learn", "rule", "other", "round", "evaluate")
COPIED = {"cpu": 1 << 28, "cuda": 1 << 30}
"""Bytes of the copy that measures the memory."""


class Against(StrEnum):
    """What the engine may be measured against."""

    loop = "loop"


@app.command()
def bench(
    clients: Annotated[int, typer.Option(min=1, help="How many clients.")] = 50,
    model: Annotated[str, typer.Option(help="A model; see `surefed list models`.")] = "cnn",
    rule: Annotated[str, typer.Option(help="A rule; one that needs no beliefs trains plain networks.")] = "surefed",
    classes: Annotated[int, typer.Option(min=2, help="Classes told apart; 62 is FEMNIST.")] = 10,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value, e.g. graph.name=regular.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds in a pass, played whole and again part by part.")] = 3,
    passes: Annotated[int, typer.Option(min=1, help="Passes; the median is shown.")] = 3,
    device: DeviceOption = "cpu",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads on a CPU; default: torch's.")] = None,
    compare: Annotated[
        Against | None, typer.Option(help="Also time the straightforward loop over clients, pass by pass in turn.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures here.")] = None,
) -> None:
    """Time a round: 5 batches of 5 random images a client, both beliefs, everybody hears and trusts everybody."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        workload = Workload(
            clients, model, rule, classes, device=device, threads=threads or before, settings=tuple(settings or ())
        )
        result = _measure(workload, rounds, passes, [kind for kind in PLAYERS if kind == "engine" or kind == compare])
    finally:
        torch.set_num_threads(before)
    if file is not None:
        write_text(file, json.dumps(result, indent=2) + "\n")
    _print(result)


def _measure(workload: Workload, rounds: int, passes: int, kinds: list[Kind]) -> dict[str, Any]:
    """All figures, as they are written."""
    engine = Engine(workload)
    players: dict[Kind, Player] = {kind: PLAYERS[kind](workload) if kind != "engine" else engine for kind in kinds}
    place = engine.setup.device
    bandwidth = copy_bandwidth(place, COPIED["cuda" if place.type == "cuda" else "cpu"])
    seen = interleaved(players, rounds, passes, place)
    seconds = {kind: middle(spent) for kind, spent in seen.items()}
    moved, whole = 2 * engine.state_bytes, seconds["engine"]["round"]
    pairs = zip(seen.get("loop", []), seen["engine"], strict=False)
    return {
        "workload": {
            **asdict(workload),
            "weights": engine.setup.network.weights,
            "beliefs": list(engine.setup.groups),
            "learner": engine.setup.experiment.learn.kind,
            "graph": engine.setup.experiment.graph.name,
        },
        "machine": {
            "device": str(place),
            "name": _name(place),
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
            "kernels": engine.kernels,
        },
        "versions": versions(),
        "rounds": rounds,
        "passes": seen,
        "seconds": seconds,
        "loop_over_engine": [slow["round"] / fast["round"] for slow, fast in pairs],
        "bytes_per_round": moved,
        "copy_bytes_per_second": bandwidth,
        "bandwidth_share": moved / whole / bandwidth,
        "clients_per_second": workload.clients / whole,
        "peak_mib": {kind: peak_mib(kind, workload) for kind in kinds},
    }


def _name(place: torch.device) -> str:
    """What the device calls itself."""
    if place.type == "cuda":
        return torch.cuda.get_device_name(place)
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _print(result: dict[str, Any]) -> None:
    work, machine, versions = result["workload"], result["machine"], result["versions"]
    console.say(
        f"{machine['device']}: {machine['name']}, {machine['cores']} cores, {work['threads']} threads, load "
        f"{machine['load']}; own kernels {'on' if machine['kernels'] else 'off'}\n"
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + f"\n{work['clients']} clients, {work['model']} of {work['weights']} weights, {work['learner']}, beliefs "
        f"{' and '.join(work['beliefs'])}, graph {work['graph']}, rule {work['rule']}"
    )
    table = Table(box=SIMPLE_HEAVY, pad_edge=False, collapse_padding=True)
    table.add_column("seconds a round", no_wrap=True)
    for title in (*PARTS, "MiB at most"):
        table.add_column(title, justify="right", no_wrap=True)
    for kind, seconds in result["seconds"].items():
        held = result["peak_mib"][kind]
        table.add_row(kind, *(_short(seconds[part]) for part in PARTS), "-" if held is None else f"{held:.0f}")
    console.out.print(table)
    for kind, passes in result["passes"].items():
        console.say(f"{kind}, round, pass by pass: " + "  ".join(_short(one["round"]) for one in passes))
    if result["loop_over_engine"]:
        ratios = "  ".join(f"{ratio:.2f}" for ratio in result["loop_over_engine"])
        console.say(f"loop / engine, pass by pass: {ratios}")
    console.say(
        f"{result['clients_per_second']:.0f} clients a second; {100 * result['bandwidth_share']:.1f} % of the "
        f"{result['copy_bytes_per_second'] / 1e9:.1f} GB/s that a large copy reads and writes, counting mean, rho and "
        f"moments of all beliefs read and written once a round ({result['bytes_per_round'] / 1e6:.0f} MB)\n"
        "round: whole rounds; learn, rule (inspect and pool), other (draw batches, check, copy): rounds of their own, "
        "part by part; evaluate: social means on the test set; MiB: in a process of its own"
    )


def _short(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds >= 0.1 else f"{1000 * seconds:.2f} ms"

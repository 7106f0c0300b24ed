"""What people see of peers: a live table on a terminal, plain lines in a log, JSON lines for programs."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAVY
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from surefed.cli import console
from surefed.core import Interrupted, SureFEDError
from surefed.peer.attempt import Attempt, Prediction, predict, processes
from surefed.peer.node import Round, Watch
from surefed.records import read
from surefed.report import percent

OFTEN = 1.0
"""Seconds between two lines in a log, unless something changed."""

STYLES = {"trusted": "green", "distrusted": "red", "missing": "yellow", "malformed": "red", "equivocated": "red"}


@contextmanager
def site_watcher(*, quiet: bool) -> Iterator[Watch]:
    """Yields what a peer calls after each round. quiet: JSON lines on standard output instead of words."""
    if quiet:
        yield lambda done: print(json.dumps(done.line), flush=True)
    elif not console.err.is_terminal:
        yield _lines()
    else:
        with Live(console=console.err, refresh_per_second=4) as live:
            yield lambda done: live.update(_picture(done))


def _lines() -> Watch:
    """A line a round, but no more than one a second while everybody's verdict stays the same."""
    told: tuple[float, object] = (0.0, None)

    def watch(done: Round) -> None:
        nonlocal told
        verdicts = tuple(one.verdict for one in done.verdicts.values())
        now = time.monotonic()
        if verdicts != told[1] or now - told[0] >= OFTEN or done.round == done.rounds:
            told = (now, verdicts)
            console.err.print(sentence(done), soft_wrap=True, highlight=False, markup=False)

    return watch


def sentence(done: Round) -> str:
    """A round in one line: accuracy, who answered, who was trusted, who was left out and why, what was put back."""
    by: dict[str, list[str]] = {}
    for site, one in done.verdicts.items():
        by.setdefault(one.verdict, []).append(site)
    heard = by.get("trusted", []) + by.get("distrusted", [])
    expected = sum(len(sites) for verdict, sites in by.items() if verdict != "not expected")
    words = [f"round {done.round}/{done.rounds}: {_score(done.line)}heard {len(heard)} of {expected}"]
    words.append("trusts " + (", ".join(by["trusted"]) if "trusted" in by else "nobody"))
    for verdict, label in (
        ("distrusted", "left out"),
        ("missing", "missing"),
        ("malformed", "malformed"),
        ("equivocated", "equivocated"),
    ):
        for site in by.get(verdict, []):
            words.append(f"{label} {site} ({done.verdicts[site].why})")
    if done.line.get("overwritten"):
        words.append(f"{done.line['overwritten']:.0f} weights put back")
    if done.line["jumped"]:
        words.append(f"{done.line['jumped']} rounds left out before it")
    return "; ".join(words)


def _score(line: Mapping[str, Any]) -> str:
    """Accuracy, or R2 where labels are numbers, if it was measured."""
    for name, word in (("accuracy", "accuracy"), ("r2", "R2")):
        if name in line:
            return f"{word} {percent(line[name]['mean'])}, "
    return ""


def _picture(done: Round) -> Group:
    """A round as a small table."""
    table = Table(box=SIMPLE_HEAVY, pad_edge=False, collapse_padding=True)
    for title in ("neighbour", "verdict", "round", "why"):
        table.add_column(title, no_wrap=title != "why")
    for site, one in done.verdicts.items():
        style = STYLES.get(one.verdict, "")
        table.add_row(
            escape(site),
            Text(one.verdict, style),
            "" if one.round is None else str(one.round),
            escape(one.why),
        )
    put_back = done.line.get("overwritten")
    extra = f", {put_back:.0f} weights put back" if put_back else ""
    head = f"round {done.round} of {done.rounds}: {_score(done.line)}{done.seconds:.2f} s{extra}"
    return Group(Text(head, "bold"), table)


def watch_attempt(attempt: Attempt, *, quiet: bool) -> None:
    """Run a trial federation to its end and print what came of it beside what the simulator predicts."""
    sites = attempt.charter.sites
    try:
        with processes(attempt) as running, _live(attempt, quiet) as show:
            prediction = predict(attempt)
            while any(one.poll() is None for one in running.values()):
                show()
                _check(attempt, running)
                time.sleep(0.2)
            show()
            _check(attempt, running)
    except KeyboardInterrupt:
        raise Interrupted(f"all sites have ended; what they did is in {attempt.folder}") from None
    rows = [row(attempt, site, prediction) for site in sites]
    if quiet:
        console.print_json({"folder": str(attempt.folder), "sites": rows})
    else:
        _print_rows(attempt, rows)


def _check(attempt: Attempt, running: Mapping[str, subprocess.Popen[bytes]]) -> None:
    """A site that failed ends the trial, with its last words."""
    for site, one in running.items():
        if one.poll():
            log = attempt.folder / site / "log.txt"
            last = log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise SureFEDError(f"{site} ended with exit code {one.returncode}: {last} (all of it is in {log})")


def row(attempt: Attempt, site: str, prediction: Prediction) -> dict[str, Any]:
    """What came of one site."""
    record = read(attempt.record(site))
    last = record.last if record.rounds else {"neighbours": {}}
    found = last["neighbours"]
    return {
        "site": site,
        "malicious": site in attempt.malicious,
        "rounds": last.get("round", 0),
        "accuracy": last.get("accuracy", {}).get("mean"),
        "predicted": round(prediction.accuracy[site], 6),
        "trusts": [name for name, one in found.items() if one["verdict"] == "trusted"],
        "predicted_trusts": prediction.trusts[site],
        "left_out": {
            name: one["why"] for name, one in found.items() if one["verdict"] not in ("trusted", "not expected")
        },
        "record": str(attempt.record(site)),
    }


@contextmanager
def _live(attempt: Attempt, quiet: bool) -> Iterator[Callable[[], None]]:
    """Yields a function that shows how far everybody is."""
    if quiet:
        yield lambda: None
    elif not console.err.is_terminal:
        yield _slow_lines(attempt)
    else:
        with Live(console=console.err, refresh_per_second=5) as live:
            yield lambda: live.update(_progress(attempt))


def _slow_lines(attempt: Attempt) -> Callable[[], None]:
    told = -1

    def show() -> None:
        nonlocal told
        states = [attempt.status(site) for site in attempt.charter.sites]
        least = min(state["round"] if state else 0 for state in states)
        if least >= told + max(1, attempt.charter.rounds // 8) or told < 0:
            told = least
            console.err.print(f"round {least} of {attempt.charter.rounds}", highlight=False)

    return show


def _progress(attempt: Attempt) -> Table:
    """Everybody's round, accuracy and trust right now."""
    table = Table(box=SIMPLE_HEAVY, pad_edge=False, collapse_padding=True)
    for title in ("site", "round", "accuracy", "doing", "trusts", "left out"):
        table.add_column(title, no_wrap=True)
    for site in attempt.charter.sites:
        state = attempt.status(site)
        name = Text(site, "red" if site in attempt.malicious else "")
        if state is None:
            table.add_row(name, "", "", "starting", "", "")
            continue
        last = state["last"] or {}
        accuracy = percent(last["accuracy"]["mean"]) if "accuracy" in last else ""
        left_out = [*state["distrusted"], *state["missing"], *state["malformed"], *state["equivocated"]]
        table.add_row(
            name,
            f"{state['round']}/{state['rounds']}",
            accuracy,
            state["doing"],
            ", ".join(state["trusted"]),
            Text(", ".join(left_out), "red"),
        )
    return table


def _print_rows(attempt: Attempt, rows: list[dict[str, Any]]) -> None:
    charter = attempt.charter
    title = (
        f"{len(rows)} sites, {len(attempt.malicious)} of them malicious ({attempt.plan.attack.name}), {charter.rounds} "
        f"rounds over {attempt.transport} with TLS"
    )
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAVY, pad_edge=False, collapse_padding=True)
    table.add_column("site", no_wrap=True)
    table.add_column("accuracy", justify="right", no_wrap=True)
    table.add_column("simulator", justify="right", no_wrap=True)
    table.add_column("trusts")
    table.add_column("left out, and why")
    for one in rows:
        accuracy = "" if one["accuracy"] is None else percent(one["accuracy"])
        why = "\n".join(f"{name}: {reason}" for name, reason in one["left_out"].items())
        name = Text(one["site"] + (" (malicious)" if one["malicious"] else ""), "red" if one["malicious"] else "")
        table.add_row(name, accuracy, percent(one["predicted"]), ", ".join(one["trusts"]), escape(why))
    console.out.print(table)
    console.say(f"records: {attempt.folder}/SITE/record")

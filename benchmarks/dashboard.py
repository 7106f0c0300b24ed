"""How long the dashboard takes to open: 8000 rounds of 50 clients, and 10 000 clients.

    python benchmarks/dashboard.py [--rounds 8000] [--clients 50] [--crowd 10000]

Makes the records in a temporary folder, serves them, and opens each view in a chromium without a window. Prints the
seconds from asking for the page until the view is drawn, and what a step of the slider takes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from surefed.dashboard import dashboard

EXPERIMENT = 'name = "bench"\nseed = 0\nrounds = {}\n[rule]\nname = "surefed"\nkappa = 16.0\n[attack]\nname = "alie"\n'
DISTINCT = 60
STEPS = 25


def record(folder: Path, rounds: int, clients: int, snapshots: int) -> None:
    """A run whose camps part slowly; of its snapshots DISTINCT are different."""
    rng = np.random.default_rng(0)
    (folder / "trust").mkdir(parents=True)
    bad = np.arange(clients) >= clients * 6 // 10
    names = [str(at) for at in range(clients)]
    about = {"clients": names, "malicious": [name for name, liar in zip(names, bad, strict=True) if liar]}
    about |= {"layers": {"1.weight": 90_000, "1.bias": 7_982}, "weights": 97_982, "notices": []}
    (folder / "experiment.toml").write_text(EXPERIMENT.format(rounds))
    (folder / "run.json").write_text(json.dumps(about))
    with (folder / "rounds.jsonl").open("w") as file:
        for round in range(1, rounds + 1):
            file.write(json.dumps(line(round, rounds, float(rng.random()))) + "\n")
    kept = [packed(rng, bad, at / DISTINCT, full=clients <= 1000) for at in range(min(DISTINCT, snapshots))]
    for at in range(snapshots):
        round = rounds - (snapshots - 1 - at) * (rounds // snapshots)
        (folder / "trust" / f"{round:06d}.npz").write_bytes(kept[at * len(kept) // snapshots])
    (folder / "result.json").write_text("{}")


def line(round: int, rounds: int, noise: float) -> dict[str, Any]:
    part = round / rounds
    score = {"mean": 0.9 * part + 0.05 * noise, "worst": 0.8 * part, "malicious": 0.1}
    return {
        "round": round, "accuracy": score, "loss": score, "local_accuracy": score, "local_learning": 50,
        "trusted": {"honest": 0.9, "malicious": 1 - part, "self": 1.0, "nobody": 0},
        "detection": {"precision": 0.5, "recall": part}, "outside": {"honest": 0.0, "malicious": 900 * part},
        "overwritten": 100 * noise,
    }  # fmt: skip


def packed(rng: np.random.Generator, bad: np.ndarray[Any, Any], part: float, full: bool) -> bytes:
    """A snapshot's file; of very many clients only what is read of them."""
    across = bad[:, None] != bad[None, :]
    left_out = across & (rng.random(across.shape, dtype=np.float32) < part)
    arrays: dict[str, Any] = {"trusted": ~left_out, "edges": np.ones_like(across), "malicious": bad}
    arrays["accuracy"] = np.where(bad, 0.1, 0.9).astype(np.float32)
    if full:
        arrays |= {"outside": np.where(left_out, 40, 0), "worst": np.where(left_out, 95_000, 7)}
        arrays |= {"sigmas": np.where(left_out, 20.0, 3.0).astype(np.float32), "overwritten": np.zeros(len(bad))}
    file = BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def opening(browser: Browser, address: str, run: str, view: str) -> tuple[float, float | None]:
    """Seconds until a view is drawn in a fresh page, and seconds a step of the slider takes."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page.set_default_timeout(120_000)
    started = time.perf_counter()
    page.goto(f"{address}#view={view}&run={run}")
    page.wait_for_selector(f"main[data-shown={view}]")
    opened = time.perf_counter() - started
    steps = []
    slider = page.locator("input[type=range]")
    if slider.is_visible() and int(slider.get_attribute("max") or 0) >= STEPS:
        for _ in range(STEPS):
            now = page.locator(".figure canvas").get_attribute("data-round")
            before = time.perf_counter()
            page.keyboard.press(",")
            page.wait_for_selector(f".figure canvas:not([data-round='{now}'])")
            steps.append(time.perf_counter() - before)
    page.close()
    return opened, statistics.median(steps) if steps else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--crowd", type=int, default=10_000)
    parser.add_argument("--passes", type=int, default=3)
    asked = parser.parse_args()
    chromium = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as place:
        record(Path(place) / "long", asked.rounds, asked.clients, asked.rounds)
        record(Path(place) / "crowd", asked.rounds, asked.crowd, 2)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"] if os.geteuid() == 0 else [])
            for name in ("long", "crowd"):
                for view in ("federation", "trust", "curves", "why"):
                    told = []
                    for _ in range(asked.passes):
                        server = dashboard([Path(place) / name], port=0)  # a fresh one: nothing is kept in memory
                        server.start()
                        told.append(opening(browser, server.address, name, view))
                        server.stop()
                    step = told[-1][1]
                    print(
                        f"{name:<6} {view:<11} opens in "
                        + "  ".join(f"{seconds:.2f}" for seconds, _ in told)
                        + (f" s; a step {1000 * step:.0f} ms" if step is not None else " s"),
                        flush=True,
                    )
            browser.close()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()

"""Records made by hand, small and exact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from surefed.records import Recorder

EXPERIMENT = """\
name = "{name}"
seed = {seed}
rounds = {rounds}
[data]
name = "digits"
[graph]
name = "complete"
[rule]
name = "{rule}"
kappa = {kappa}
[attack]
name = "{attack}"
malicious = 0.4
"""
NAMES = ["0", "1", "2", "3", "4"]
BAD = [3, 4]
LAYERS = {"1.weight": 6, "1.bias": 4}


def begin(
    folder: Path, rule: str = "surefed", attack: str = "label_flip", *, rounds: int = 40,
    names: list[str] | None = None, seed: int = 0, kappa: float = 16.0, name: str = "made",
) -> Recorder:  # fmt: skip
    """The record of a federation of five, two of them malicious, before its first round."""
    clients = names or NAMES
    made = Recorder(folder)
    made.begin(
        EXPERIMENT.format(name=name, rule=rule, attack=attack, rounds=rounds, seed=seed, kappa=kappa),
        {
            "identity": "x", "clients": clients, "malicious": [clients[at] for at in BAD if at < len(clients)],
            "layers": LAYERS, "weights": 10, "notices": [], "started": "2026-01-01T00:00:00+00:00", "device": "cpu",
        },
    )  # fmt: skip
    return made


def line(round: int, accuracy: float, malicious: float = 0.0) -> dict[str, Any]:
    """The figures of a round."""
    return {
        "round": round,
        "accuracy": {"mean": accuracy, "worst": accuracy / 2, "malicious": None},
        "loss": {"mean": 1.0, "worst": 1.0, "malicious": 1.0},
        "trusted": {"honest": 1.0, "malicious": malicious, "self": 1.0, "nobody": 0},
        "outside": {"honest": 0.0, "malicious": 4.0},
        "overwritten": 0.0,
    }


def arrays(apart: bool, clients: int = 5) -> dict[str, np.ndarray[Any, Any]]:
    """A snapshot: everybody trusts everybody or, apart, only their own kind; then weight 8 is 20 sigmas away."""
    bad = np.isin(np.arange(clients), BAD)
    across = bad[:, None] != bad[None, :]
    left_out = across & apart
    return {
        "trusted": ~left_out,
        "edges": np.ones((clients, clients), dtype=bool),
        "accuracy": np.where(bad, 0.1, 0.9).astype(np.float32),
        "malicious": bad,
        "outside": np.where(left_out, 4, 0),
        "worst": np.where(left_out, 8, 2),
        "sigmas": np.where(left_out, 20.0, 3.0).astype(np.float32),
        "overwritten": np.zeros(clients, dtype=np.int64),
    }


def play(made: Recorder, round: int, accuracy: float, apart: bool) -> None:
    """Add a round."""
    made.trust(round, arrays(apart))
    made.round(line(round, accuracy, 0.0 if apart else 1.0), {"round": round, "rounds": 0.1, "evaluate": 0.1})


def parted(folder: Path, **options: Any) -> Recorder:
    """A finished run of 40 rounds whose camps part after round 20."""
    made = begin(folder, **options)
    for round, accuracy in ((1, 0.2), (10, 0.7), (20, 0.4), (30, 0.8), (40, 0.9)):
        play(made, round, accuracy, apart=round > 20)
    made.finish({"rounds": 40})
    return made


def headed(folder: Path, fault: int) -> Recorder:
    """A finished run under a rule with headings: whoever is left out has that fault, and a heading of -0.25."""
    made = begin(folder)
    for round in (1, 40):
        seen = arrays(apart=round == 40)
        seen["heading"] = np.where(seen["trusted"], 0.75, -0.25).astype(np.float32)
        seen["fault"] = np.where(seen["trusted"], 0, fault).astype(np.uint8)
        seen["outside"] = np.zeros_like(seen["outside"])
        made.trust(round, seen)
        made.round(line(round, 0.5), {"round": round, "rounds": 0.1, "evaluate": 0.1})
    made.finish({"rounds": 40})
    return made


def peer(folder: Path, hostile: str = "west") -> Path:
    """A peer's record: three rounds, a neighbour that is trusted, one that lies and one that went missing."""
    begin(folder, names=["north", "south", hostile, "east"], rounds=30)
    run = json.loads((folder / "run.json").read_text())
    run |= {"kind": "peer", "site": "north", "federation": "clinics", "malicious": []}
    (folder / "run.json").write_text(json.dumps(run))
    with (folder / "rounds.jsonl").open("w") as file:
        for round in (1, 2, 3):
            verdicts = {
                "south": {"verdict": "trusted", "round": round, "why": "", "outside": 0, "sigmas": 2.5, "weight": 1},
                hostile: {
                    "verdict": "distrusted",
                    "round": round,
                    "why": "",
                    "outside": 7,
                    "sigmas": 23.5,
                    "weight": 8,
                },
                "east": {"verdict": "missing", "round": None, "why": "no answer by the deadline"},
            }
            file.write(json.dumps(line(round, 0.3 * round) | {"neighbours": verdicts}) + "\n")
    counted = {"expected": 3, "heard": 3, "trusted": 3, "distrusted": 0, "missing": 0, "malformed": 0, "last_heard": 3}
    state = {
        "site": "north", "doing": "waiting", "why": "", "at": "2026-01-01T00:00:00Z", "transport": "memory",
        "present": ["south"], "certificate_days": 9.5, "disk_free": 5_000_000_000, "deadline": 10.0, "jumped": 0,
        "neighbours": {"south": counted | {"refused": {}}, hostile: counted | {"refused": {"replay": 2}}},
    }  # fmt: skip
    (folder / "peer.json").write_text(json.dumps(state))
    event = {"round": 2, "at": "2026-01-01T00:00:00Z", "kind": "refused", "site": hostile, "text": "a replay"}
    (folder / "events.jsonl").write_text(json.dumps(event) + "\n" + '{"round": 3, "ki')
    return folder

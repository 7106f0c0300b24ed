from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from .test_cli import call, here

__all__ = ["here"]

TINY = ["--clients", "4", "--model", "linear", "--rounds", "1", "--passes", "2", "--threads", "1"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small copies, and no process of its own for the memory."""
    monkeypatch.setattr("surefed.cli.bench.COPIED", {"cpu": 1 << 20})
    monkeypatch.setattr("surefed.cli.bench.peak_mib", lambda kind, workload: {"engine": 12.0, "loop": 34.0}[kind])


def test_what_is_measured_is_written_and_adds_up(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("bench", *TINY, "--compare", "loop", "--json", "bench.json") == 0
    result = json.loads((here / "bench.json").read_text())
    assert result["workload"]["weights"] == 650
    assert result["workload"]["beliefs"] == ["social", "local"]
    assert result["workload"]["threads"] == 1
    assert set(result["versions"]) == {"surefed", "python", "torch", "numpy"}
    assert [len(result["passes"][kind]) for kind in ("engine", "loop")] == [2, 2]
    assert set(result["seconds"]["loop"]) == {"learn", "rule", "other", "round", "evaluate"}
    ratios = [
        slow["round"] / fast["round"]
        for slow, fast in zip(result["passes"]["loop"], result["passes"]["engine"], strict=True)
    ]
    assert result["loop_over_engine"] == pytest.approx(ratios)
    whole = result["seconds"]["engine"]["round"]
    assert result["clients_per_second"] == pytest.approx(4 / whole)
    # mean, rho and four moments of 8 beliefs with 650 weights, read and written
    assert result["bytes_per_round"] == 2 * 6 * 8 * 650 * 4
    assert result["bandwidth_share"] == pytest.approx(
        result["bytes_per_round"] / whole / result["copy_bytes_per_second"]
    )
    assert result["peak_mib"] == {"engine": 12.0, "loop": 34.0}
    said = capsys.readouterr().out
    for words in ("torch", "1 threads", "kernels", "clients a second", "GB/s", "loop / engine", "650 weights"):
        assert words in said


def test_plain_networks_have_one_belief_and_no_loop_beside_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("bench", *TINY, "--rule", "trimmed_mean", "--json", "bench.json") == 0
    result = json.loads((here / "bench.json").read_text())
    assert (result["workload"]["beliefs"], result["workload"]["learner"]) == (["social"], "point")
    assert list(result["passes"]) == ["engine"]
    assert result["loop_over_engine"] == []
    assert "loop" not in capsys.readouterr().out


def test_threads_are_given_back(here: Path) -> None:
    before = torch.get_num_threads()
    assert call("bench", *TINY, "--threads", str(before + 1)) == 0
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--rule", "surefd"], 2, "surefed"),
        (["--model", "nothing"], 2, "model"),
        (["--set", "graph.nme=ring"], 2, "graph"),
        (["--rule", "krum", "--compare", "loop"], 2, "--compare"),
        (["--device", "abacus"], 2, "abacus"),
        (["--clients", "0"], 2, "--clients"),
        (["--json", "file/bench.json"], 5, "cannot write"),
    ],
)
def test_every_mistake_has_its_message_and_exit_code(
    words: list[str], code: int, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "file").write_text("")
    assert call("bench", *TINY, *words) == code
    assert message in capsys.readouterr().err

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import surefed
from surefed.cli import paper as command
from surefed.sweep import Sweep, read_sweep
from surefed.sweep.events import Event

from ..sweep.conftest import SMALL, Inline
from .test_cli import call, here

__all__ = ["here"]

GRIDS = Path(surefed.__file__).parents[2] / "configs" / "paper"
NON_STEALTHY = {"label_flip", "alie", "sign_flip", "general_random", "gaussian"}
BASELINES = {"bayp2pfl", "zeno", "trimmed_mean", "clipping", "fltrust"}


@pytest.fixture(scope="module")
def grids() -> dict[str, Sweep]:
    return {name: read_sweep(GRIDS / f"{name}.toml") for name in command.GRIDS}


def methods(sweep: Sweep) -> set[str]:
    """The small version may make one experiment of two; its label names both."""
    return {name for cell in sweep.cells for name in cell.labels["method"].split("+")}


def test_every_committed_grid_is_a_part_and_has_a_small_version(grids: dict[str, Sweep]) -> None:
    assert {file.stem for file in GRIDS.glob("*.toml")} == set(command.GRIDS)
    for name in command.GRIDS:
        quick = read_sweep(GRIDS / f"{name}.toml", quick=True)
        assert quick.folder_name == f"{name}-quick"
        assert quick.title == f"quick: {grids[name].title}"
        assert all(cell.experiment.rounds <= 300 and cell.experiment.data.clients == 10 for cell in quick.cells)
        assert methods(quick) == methods(grids[name])


@pytest.mark.parametrize("name", ["mnist", "femnist", "cifar10"])
def test_the_tables_are_the_papers(grids: dict[str, Sweep], name: str) -> None:
    cells = grids[name].cells
    seeds = Counter((cell.labels["method"], cell.experiment.attack.name) for cell in cells)
    for method in {"surefed", *BASELINES}:
        for attack in {*NON_STEALTHY, "trojan", "none"}:
            assert seeds[method, attack] == (3 if method in ("surefed", "bayp2pfl", "zeno") else 1)  # zeno is the best
    for cell in cells:
        assert (cell.experiment.rounds, cell.experiment.attack.malicious) == (8000, 0.4)
        assert (cell.values["data.clients"], cell.values["data.name"]) == (50, name)
        assert (cell.experiment.learn.batches, cell.experiment.learn.batch_size) == (5, 5)
    rates = {cell.labels["method"]: cell.values["learn.learning_rate"] for cell in cells}
    # the paper's appendix: Adam 0.001 for BNNs, SGD 0.01 for Trimmed Mean and Clipping, 0.1 for Zeno
    assert (rates["surefed_paper"], rates["bayp2pfl"], rates["trimmed_mean"]) == (0.001, 0.001, 0.01)
    assert (rates["clipping"], rates["zeno"]) == (0.01, 0.1)
    assert {cell.experiment.rule.name for cell in cells if cell.labels["method"] == "surefed_paper"} == {"paper"}


def test_the_ablations_cover_what_the_paper_varies_and_more(grids: dict[str, Sweep]) -> None:
    studies: dict[str, list[dict[str, object]]] = {}
    for cell in grids["ablations"].cells:
        for study in cell.labels["study"].split("+"):
            studies.setdefault(study, []).append({**cell.values, **cell.labels})
    ours = [row for row in studies["share"] if row["method"] == "surefed"]
    assert [row["attack.malicious"] for row in ours] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert {row["method"] for row in studies["share"]} == {"surefed", *BASELINES}
    assert {row["graph.name"] for row in studies["graph"]} == {"complete", "drop_edges", "time_varying"}
    assert {row["graph.share"] for row in studies["graph"] if row["graph.name"] != "complete"} == {0.2}
    assert {row["attack.which"] for row in studies["which"]} == {"random", "best", "worst"}
    assert {row["data.name"] for row in (*studies["graph"], *studies["which"])} == {"femnist"}
    assert {row["method"] for row in studies["bounds"]} == {"surefed", "local_only", "oracle"}
    assert {2, "auto"} <= {row["rule.kappa"] for row in studies["kappa"]}
    for study, key in (
        ("rho", "learn.rho"),
        ("learning_rate", "learn.learning_rate"),
        ("introspection", "rule.introspection"),
        ("early_stop", "learn.early_stop"),
        ("agreement", "rule.agreement"),
        ("c", "rule.c"),
        ("heading", "rule.heading"),
    ):
        assert len({row[key] for row in studies[study]}) >= 4
    assert len(studies["uncertainty"]) == 2


def test_what_is_searched_is_searched_on_other_seeds_than_are_reported(grids: dict[str, Sweep]) -> None:
    searches = ("rates", "operating")
    searched = {cell.experiment.seed for name in searches for cell in grids[name].cells}
    reported = {cell.experiment.seed for name in command.GRIDS if name not in searches for cell in grids[name].cells}
    assert not searched & reported
    assert {cell.labels["method"] for cell in grids["rates"].cells} == BASELINES


@pytest.fixture
def small(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Grids of a cell or two in the folder one stands in."""
    folder = here / "configs" / "paper"
    folder.mkdir(parents=True)
    for name in command.GRIDS:
        small = SMALL.replace('name = "small"', f'name = "{name}"')
        (folder / f"{name}.toml").write_text(small + "seed = [0, 1]\nquick = { seed = 0, rounds = 2 }\n")
    monkeypatch.setattr("surefed.sweep.drive._backend", lambda *given: Inline())
    return here


def test_a_part_is_run_into_its_own_folder(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("paper", "mnist") == 0
    assert "runs/paper/mnist/cells.csv" in capsys.readouterr().out
    assert [entry.name for entry in (small / "runs" / "paper").iterdir()] == ["mnist"]


def test_quick_runs_everything_and_says_so(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[dict[str, object]] = []
    monkeypatch.setattr(command, "all_command", lambda **given: asked.append(given))
    assert call("paper", "--quick", "--out", "quick") == 0
    parts = {entry.name for entry in (small / "quick").iterdir()}
    assert parts == {f"{name}-quick" for name in (*command.GRIDS, "theory")}
    assert (small / "quick" / "theory-quick" / "theory.md").read_text().startswith("# quick: ")
    assert [(given["repetitions"], given["rounds"], given["out"]) for given in asked] == [
        (20, 300, Path("quick/theory-quick"))
    ]
    assert "quick: beyond" in capsys.readouterr().out


def test_a_part_that_fails_does_not_keep_the_others(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = Inline({"s0": [Event("s0", "failed", text="no room")]})
    monkeypatch.setattr("surefed.sweep.drive._backend", lambda *given: failing)
    monkeypatch.setattr(command, "all_command", lambda **given: None)
    assert call("paper") == 7
    assert "mnist: 1 of 2 cells failed" in capsys.readouterr().err
    assert all((small / "runs" / "paper" / name / "s1" / "result.json").exists() for name in command.GRIDS)


def test_a_dry_run_runs_nothing(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("paper", "--dry-run") == 0
    assert capsys.readouterr().out.count("2 cells of 8 rounds in all") == len(command.GRIDS)
    assert not (small / "runs").exists()


def test_time_is_shared_by_the_parts(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("paper", "--until", "0") == 124
    assert "because the time is up" in capsys.readouterr().err


def test_a_part_that_is_not_there_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("paper", "minst") == 2
    assert "did you mean 'mnist'" in " ".join(capsys.readouterr().err.split())

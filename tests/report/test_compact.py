from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from surefed.core import RecordError
from surefed.report import compact
from surefed.report.build import build, build_markdown
from surefed.report.gather import gather
from surefed.sim import Experiment, run
from surefed.sim.check import checked
from surefed.sweep import read_sweep
from surefed.sweep.folder import Folder

from ..sweep.conftest import SMALL
from .made import plans, values, write_sweep


@pytest.fixture
def full(tmp_path: Path) -> Path:
    failed = {
        "name": "median-alie-s0",
        "labels": {"method": "median"},
        "values": values("median", "alie"),
        "score": None,
    }
    write_sweep(tmp_path / "runs" / "mnist", [*plans(attacks=["label_flip", "trojan"]), failed])
    femnist = plans(["surefed"], ["none"])
    for plan in femnist:
        plan["values"]["data.name"] = "femnist"
    write_sweep(tmp_path / "runs" / "femnist", femnist)
    return tmp_path / "runs"


def test_what_is_saved_gives_the_same_tables_and_figures(full: Path, tmp_path: Path) -> None:
    before = gather([full])
    places = compact.save(before, tmp_path / "results")
    assert [place.name for place, _ in places] == ["mnist", "femnist"]
    build(before, tmp_path / "one")
    build(gather([tmp_path / "results"]), tmp_path / "two")
    files = sorted(file.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("*") if file.is_file())
    assert files == sorted(
        file.relative_to(tmp_path / "two") for file in (tmp_path / "two").rglob("*") if file.is_file()
    )
    others = [file for file in files if not file.name.endswith("-cells.csv") and file.name != "index.html"]
    for file in (file for file in others if not file.name.endswith("-cells.tex")):  # the commands differ, as they must
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file


def test_a_snapshot_is_read_as_it_was(full: Path, tmp_path: Path) -> None:
    (before,) = gather([full / "mnist"])
    compact.save([before], tmp_path / "saved")
    after = compact.read(tmp_path / "saved")
    one, two = (next(cell for cell in sweep.cells if cell.snapshots) for sweep in (before, after))
    assert one.name == two.name
    assert one.curve == two.curve
    for left, right in zip(one.snapshots, two.snapshots, strict=True):
        assert left.round == right.round
        for name in ("trusted", "edges", "malicious"):
            assert np.array_equal(getattr(left, name), getattr(right, name))
    assert not two.snapshots[0].edges.all()


def test_saving_what_was_saved_changes_nothing(full: Path, tmp_path: Path) -> None:
    compact.save(gather([full]), tmp_path / "one")
    compact.save(gather([tmp_path / "one"]), tmp_path / "two")
    for file in sorted((tmp_path / "one").rglob("*.*")):
        assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()


def test_no_folder_of_a_machine_is_saved(full: Path, tmp_path: Path) -> None:
    for place, _ in compact.save(gather([full]), tmp_path / "results"):
        for file in place.iterdir():
            assert "/home" not in file.read_text(), file


def test_the_command_of_a_saved_cell_is_its_experiment(tmp_path: Path) -> None:
    grid = '[rule]\nname = ["surefed", "trimmed_mean", "clipping"]\n[attack]\nname = ["label_flip", "none"]\n'
    (tmp_path / "grid.toml").write_text(SMALL + grid)
    sweep = read_sweep(tmp_path / "grid.toml")
    folder = Folder(tmp_path / "full", sweep)
    folder.write_grid()
    folder.write_table()
    compact.save(gather([tmp_path / "full"]), tmp_path / "saved")
    digests = {cell.name: checked(cell.experiment).digest() for cell in sweep.cells}
    saved = compact.read(tmp_path / "saved").cells
    assert len(saved) == 6
    for cell in saved:
        program, verb, file, *settings = shlex.split(cell.command)
        assert (program, verb) == ("surefed", "run")
        assert settings[::2] == ["--set"] * (len(settings) // 2)
        assert checked(Experiment.read(Path(file), settings[1::2])).digest() == digests[cell.name]


def test_single_runs_are_saved_too(tmp_path: Path) -> None:
    plan = {"rounds": 2, "data": {"clients": 4}, "model": {"name": "linear"}, "attack": {"name": "label_flip"}}
    for seed in (0, 1):
        run(Experiment.of({**plan, "seed": seed}), out=tmp_path / "runs" / f"s{seed}")
    before = gather([tmp_path / "runs"])
    assert [cell.name for cell in before[0].cells] == ["s0", "s1"]
    compact.save(before, tmp_path / "saved")
    one = build_markdown(before, tmp_path / "one.md").read_text()
    assert one == build_markdown(gather([tmp_path / "saved"]), tmp_path / "two.md").read_text()
    assert "Single runs" in one


def test_records_are_never_overwritten(full: Path) -> None:
    sweeps = gather([full / "mnist"])
    with pytest.raises(RecordError, match="must not be overwritten"):
        compact.save(sweeps, full / "mnist")


@pytest.mark.parametrize("name", ["curves.json", "trust.json", "sweep.json"])
def test_a_damaged_file_is_named(full: Path, tmp_path: Path, name: str) -> None:
    compact.save(gather([full / "mnist"]), tmp_path / "saved")
    (tmp_path / "saved" / name).write_text("{")
    with pytest.raises(RecordError, match=name):
        compact.read(tmp_path / "saved")


def test_another_format_is_refused(full: Path, tmp_path: Path) -> None:
    compact.save(gather([full / "mnist"]), tmp_path / "saved")
    told = json.loads((tmp_path / "saved" / "curves.json").read_text())
    (tmp_path / "saved" / "curves.json").write_text(json.dumps({**told, "format": 2}))
    with pytest.raises(RecordError, match="update SureFED"):
        compact.read(tmp_path / "saved")


def test_a_folder_of_nothing_says_what_would_be_right(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="neither a sweep"):
        gather([tmp_path])
    with pytest.raises(RecordError, match="neither a sweep"):
        gather([tmp_path / "nowhere"])


def test_a_folder_given_twice_counts_once(full: Path) -> None:
    assert len(gather([full, full / "mnist", full])) == 2

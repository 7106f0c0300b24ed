from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from surefed.cli.report import plan as plan_of_file
from surefed.core import RecordError
from surefed.report import compact
from surefed.report.gather import gather
from surefed.report.merge import Merged
from surefed.report.provenance import commands, versions
from surefed.report.results import Cell, Sweep
from surefed.sim import Experiment, run
from surefed.sweep import read_sweep
from surefed.sweep.folder import Folder

from ..sweep.conftest import SMALL
from .made import digest, plans, write_sweep

Plans = list[dict[str, Any]]
GRID = """\
seed = [0, 1]
[[vary.method]]
label = "surefed"
rule.name = "surefed"
[[vary.method]]
label = "trimmed_mean"
rule.name = "trimmed_mean"
[[vary.attack]]
label = "label_flip"
attack.name = "label_flip"
[[vary.attack]]
label = "nobody lies"
attack.name = "none"
"""


def content(place: Path) -> dict[str, str]:
    """Every file of a folder; there are no folders in it."""
    return {file.name: file.read_text() for file in place.iterdir()}


def asked(made: Iterable[dict[str, Any]]) -> compact.Plan:
    """A grid's file that asks for these cells."""
    cells = [Cell(one["name"], {}, one["values"], one["labels"], "", digest=digest(one["values"])) for one in made]
    return lambda grid: cells


def add(runs: Path, out: Path, plan: compact.Plan = lambda grid: None) -> tuple[Sweep, Merged]:
    ((place, merged),) = compact.save(gather([runs]), out, plan)
    return compact.read(place), merged


def without(made: Plans, *names: str) -> Plans:
    """These cells wait."""
    return [{**one, "score": None, "status": "waiting"} if one["name"] in names else one for one in made]


def wide(made: Plans, kappa: float, **more: Any) -> Plans:
    """The same cells with another setting."""
    return [{**one, "values": {**one["values"], "rule.kappa": kappa}, **more} for one in made]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two methods, two attacks and two seeds, all finished, beside its file."""
    home = tmp_path_factory.mktemp("whole")
    (home / "grid.toml").write_text(SMALL + GRID)
    sweep = read_sweep(home / "grid.toml")
    for cell in sweep.cells:
        run(cell.experiment, out=home / "small" / cell.name)
    write_part(home, "small", (), 1, 2)
    return home


def write_part(home: Path, name: str, finished: Iterable[str], *sessions: int, all_planned: bool = True) -> Path:
    """Some cells of the sweep as if a machine had run only those; all_planned: whether it knows of the others."""
    sweep, place, wanted = read_sweep(home / "grid.toml"), home / name, set(finished)
    for cell in wanted if name != "small" else ():
        shutil.copytree(home / "small" / cell, place / cell)
    if not all_planned:
        sweep = replace(sweep, cells=tuple(cell for cell in sweep.cells if cell.name in wanted))
    folder = Folder(place, sweep)
    for at in sessions:
        folder.write_grid({"started": f"2026-01-0{at}", "command": f"surefed sweep {at}", "versions": {}})
    folder.write_table()
    return place


@pytest.mark.parametrize("all_planned", [True, False])
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_parts_give_the_same_files_as_the_whole(
    whole: Path, tmp_path: Path, order: tuple[int, ...], all_planned: bool
) -> None:
    names = [cell.name for cell in read_sweep(whole / "grid.toml").cells]
    halves = {1: names[::2][:3] + names[1::2][:1], 2: names[::2][3:] + names[1::2][1:]}
    for at in order:
        place = write_part(whole, f"{tmp_path.name}-{at}/small", halves[at], at, all_planned=all_planned)
        after, merged = add(place, tmp_path / "parts", plan_of_file)
        assert len(after.cells) == 8
        assert merged == Merged(merged.sweep, merged.kept)
    assert merged.kept == tuple(name for name in names if name in halves[order[0]])
    add(whole / "small", tmp_path / "once", plan_of_file)
    assert content(tmp_path / "parts") == content(tmp_path / "once")


def test_a_part_says_which_cells_there_should_be(whole: Path, tmp_path: Path) -> None:
    """A cell that nobody has run yet has the row that the table of the whole sweep would have."""
    names = [cell.name for cell in read_sweep(whole / "grid.toml").cells]
    part = write_part(whole, "part/small", names[:3], 1, all_planned=False)
    known = write_part(whole, "known/small", names[:3], 1)
    add(part, tmp_path / "part", plan_of_file)
    add(known, tmp_path / "known", plan_of_file)
    assert content(tmp_path / "part") == content(tmp_path / "known")
    assert [cell.status for cell in compact.read(tmp_path / "part").cells] == ["finished"] * 3 + ["waiting"] * 5


@pytest.mark.parametrize("planned", [True, False])
def test_what_is_not_run_again_is_kept_as_it_was_made(tmp_path: Path, planned: bool) -> None:
    made = plans()
    first = write_sweep(tmp_path / "a" / "mnist", without(made, made[3]["name"]), started="2026-01-01")
    again = [{**one, "score": 0.5, "versions": {"surefed": "0.2.0"}} for one in made]
    later = without(again, *(one["name"] for one in again[2:]))
    second = write_sweep(tmp_path / "b" / "mnist", later, title="newer", started="2026-02-02")
    plan = asked(made) if planned else lambda grid: None
    before, _ = add(first, tmp_path / "saved", plan)
    after, merged = add(second, tmp_path / "saved", plan)
    assert after.title == "newer"
    assert [cell.score for cell in after.cells[:2]] == [0.5, 0.5]
    assert versions(after) == ["surefed 0.2.0", "surefed 0.1.0, torch 2.9"]
    assert [session["started"] for session in after.grid["sessions"]] == ["2026-01-01", "2026-02-02"]
    assert len(commands(after)) == 1
    for one, two in zip(before.cells[2:], after.cells[2:], strict=True):
        assert (one.name, one.row, one.curve, one.versions, one.notices) == (
            two.name,
            two.row,
            two.curve,
            two.versions,
            two.notices,
        )
    assert after.cells[3].status == "waiting"
    assert len(merged.kept) == 9
    assert merged.lines() == [f"kept 9 cells (saved before): {made[2]['name']}, {made[4]['name']}, "
                              f"{made[5]['name']} and 6 more"]  # fmt: skip


def test_sessions_that_made_nothing_of_what_is_left_are_not_told(tmp_path: Path) -> None:
    made = plans(["surefed"], ["alie"])
    add(write_sweep(tmp_path / "a" / "mnist", made, started="2026-01-01"), tmp_path / "saved")
    after, merged = add(write_sweep(tmp_path / "b" / "mnist", made, started="2026-02-02"), tmp_path / "saved")
    assert [session["started"] for session in after.grid["sessions"]] == ["2026-02-02"]
    assert merged.lines() == []


def test_a_failure_is_told_until_somebody_goes_further(tmp_path: Path) -> None:
    made = plans(["surefed"], ["alie"])
    failed, waits = [{**made[0], "score": None}, made[1]], without(made, made[0]["name"])
    add(write_sweep(tmp_path / "a" / "mnist", failed), tmp_path / "saved")
    after, _ = add(write_sweep(tmp_path / "b" / "mnist", waits), tmp_path / "saved")
    assert (after.cells[0].status, after.cells[0].row["error"]) == ("failed", "OSError: no room in x.bin")
    after, _ = add(write_sweep(tmp_path / "c" / "mnist", made), tmp_path / "saved")
    assert (after.cells[0].status, after.cells[0].row["error"]) == ("finished", "")
    after, _ = add(tmp_path / "a" / "mnist", tmp_path / "saved")
    assert after.cells[0].finished


@pytest.mark.parametrize("planned", [True, False])
def test_other_settings_replace_and_are_told(tmp_path: Path, planned: bool) -> None:
    made = plans(["surefed"], ["alie", "none"])
    add(write_sweep(tmp_path / "a" / "mnist", wide(made, 50.0)), tmp_path / "saved")
    now = wide(made, 200.0, score=0.5)
    runs = write_sweep(tmp_path / "b" / "mnist", without(now, made[1]["name"], made[2]["name"], made[3]["name"]))
    after, merged = add(runs, tmp_path / "saved", asked(now) if planned else lambda grid: None)
    assert [cell.score for cell in after.cells] == [0.5, None, None, None]
    assert {cell.values["rule.kappa"] for cell in after.cells} == {200.0}
    assert merged.lines() == [
        "replaced 1 cell (settings changed: rule.kappa): surefed-alie-s0",
        "dropped 3 cells (not finished again yet; settings changed: rule.kappa): "
        "surefed-alie-s1, surefed-none-s0, surefed-none-s1",
    ]


@pytest.mark.parametrize(("kappa", "changed"), [(50.0, ()), (200.0, ("rule.kappa",))])
def test_what_does_not_tell_experiments_apart_is_no_changed_setting(
    tmp_path: Path, kappa: float, changed: tuple[str, ...]
) -> None:
    for at, kappa_then in enumerate((50.0, kappa)):
        (one,) = wide(plans(["surefed"], ["alie"])[:1], kappa_then)
        one["values"] |= {"name": f"name {at}", "checkpoint_every": at + 1}
        _, merged = add(write_sweep(tmp_path / f"{at}" / "mnist", [one]), tmp_path / "saved")
    assert merged.replaced == ("surefed-alie-s0",)
    assert merged.changed == changed


def test_what_the_grid_no_longer_has_is_dropped(tmp_path: Path) -> None:
    made = plans(["surefed", "zeno"], ["alie"])
    add(write_sweep(tmp_path / "a" / "mnist", made), tmp_path / "saved")
    runs = write_sweep(tmp_path / "b" / "mnist", made[:1])
    after, merged = add(runs, tmp_path / "saved", asked(made[:3]))
    assert [cell.name for cell in after.done] == [one["name"] for one in made[:3]]
    assert merged.kept == ("surefed-alie-s1", "zeno-alie-s0")
    assert merged.lines()[-1] == "dropped 1 cell (no longer in the grid): zeno-alie-s1"


@pytest.mark.parametrize("plan", [None, plans(["zeno"], ["alie"])])
def test_where_nobody_knows_the_grid_nothing_is_dropped(tmp_path: Path, plan: Plans | None) -> None:
    """The file is not here, or does not ask for what was run: it is of another version."""
    made = plans(["surefed"], ["alie", "none"])
    add(write_sweep(tmp_path / "a" / "mnist", made), tmp_path / "saved")
    later = [{**made[0], "score": 0.5}]
    told = (lambda grid: None) if plan is None else asked(plan)
    after, merged = add(write_sweep(tmp_path / "b" / "mnist", later), tmp_path / "saved", told)
    assert [cell.score for cell in after.cells] == [0.5, 0.92, 0.9, 0.92]
    last = [] if plan is None else ["saved 1 cell (though a.toml asks for something else now): surefed-alie-s0"]
    assert merged.lines() == [
        "kept 3 cells (saved before): surefed-alie-s1, surefed-none-s0, surefed-none-s1",
        "unsure of 3 cells (perhaps no longer in the grid; a.toml is not here or has changed since): "
        "surefed-alie-s1, surefed-none-s0, surefed-none-s1",
        *last,
    ]


@pytest.mark.parametrize("planned", [True, False])
def test_a_cell_that_is_called_otherwise_now_is_kept(tmp_path: Path, planned: bool) -> None:
    """One more seed, and the names of all cells say theirs: the experiments are the same."""
    made = plans(["surefed"], ["alie"])
    add(write_sweep(tmp_path / "a" / "mnist", [{**made[0], "name": "surefed-alie"}]), tmp_path / "saved")
    made[0]["labels"] = {"method": "ours"}
    runs = write_sweep(tmp_path / "b" / "mnist", without(made, made[0]["name"]))
    after, merged = add(runs, tmp_path / "saved", asked(made) if planned else lambda grid: None)
    assert [(cell.name, cell.row["cell"], cell.score) for cell in after.cells] == [
        ("surefed-alie-s0", "surefed-alie-s0", 0.9),
        ("surefed-alie-s1", "surefed-alie-s1", 0.92),
    ]
    assert after.cells[0].method == "ours"
    assert merged.lines() == ["kept 1 cell (saved before): surefed-alie-s0"]


def test_only_the_lowest_seed_keeps_its_snapshots(tmp_path: Path) -> None:
    made = plans(["surefed"], ["alie"])
    first, _ = add(write_sweep(tmp_path / "a" / "mnist", without(made, made[0]["name"])), tmp_path / "saved")
    assert [bool(cell.snapshots) for cell in first.cells] == [False, True]
    after, _ = add(write_sweep(tmp_path / "b" / "mnist", without(made, made[1]["name"])), tmp_path / "saved")
    assert [bool(cell.snapshots) for cell in after.cells] == [True, False]


def test_what_all_have_in_common_is_found_anew(tmp_path: Path) -> None:
    made = plans(["surefed"], ["alie"])
    add(write_sweep(tmp_path / "a" / "mnist", made[:1]), tmp_path / "saved")
    assert "seed = 0" in (tmp_path / "saved" / "common.toml").read_text()
    after, _ = add(write_sweep(tmp_path / "b" / "mnist", made[1:]), tmp_path / "saved")
    assert "seed" not in (tmp_path / "saved" / "common.toml").read_text()
    assert [cell.values["seed"] for cell in after.cells] == [0, 1]
    assert "--set seed=1" in after.cells[1].command


def test_single_runs_come_together(tmp_path: Path) -> None:
    plan = {"rounds": 2, "data": {"clients": 4}, "model": {"name": "linear"}, "attack": {"name": "label_flip"}}
    for seed in (0, 1):
        run(Experiment.of({**plan, "seed": seed}), out=tmp_path / f"runs-{seed}" / f"s{seed}")
        after, merged = add(tmp_path / f"runs-{seed}", tmp_path / "saved")
    assert [cell.name for cell in after.done] == ["s0", "s1"]
    assert merged.lines() == ["kept 1 cell (saved before): s0"]
    run(Experiment.of({**plan, "seed": 2}), out=tmp_path / "runs-2" / "s0")
    after, merged = add(tmp_path / "runs-2", tmp_path / "saved")
    assert [cell.values["seed"] for cell in after.done] == [2, 1]
    assert merged.lines()[1:] == ["replaced 1 cell (settings changed: seed): s0"]
    shutil.copytree(tmp_path / "runs-2" / "s0", tmp_path / "runs-3" / "twice")  # somebody ran the same again
    after, _ = add(tmp_path / "runs-3", tmp_path / "saved")
    assert [cell.name for cell in after.done] == ["s0", "s1", "twice"]


FILES = ["cells.csv", "common.toml", "curves.json", "sweep.json", "trust.json"]


class Killed(BaseException):
    pass


def dying(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let so many changes of the disk happen, and no other: who is killed does not clean up."""
    asked_for = 0
    for name in ("write_bytes", "replace", "rename", "rmdir", "unlink", "mkdir"):
        real = getattr(Path, name)

        def change(self: Path, *given: Any, real: Callable[..., Any] = real, **more: Any) -> Any:
            nonlocal asked_for
            asked_for += 1
            if asked_for > after:
                raise Killed
            return real(self, *given, **more)

        monkeypatch.setattr(Path, name, change)


def test_whoever_is_killed_leaves_the_old_files_or_the_new_ones(tmp_path: Path) -> None:
    made = plans(["surefed", "zeno"], ["alie"])
    write_sweep(tmp_path / "a" / "mnist", made[1:2])
    (runs,) = gather([write_sweep(tmp_path / "b" / "mnist", [made[0], *made[2:]])])
    add(tmp_path / "a" / "mnist", tmp_path / "old")
    old = content(tmp_path / "old")
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    compact.save([runs], tmp_path / "new")
    new = content(tmp_path / "new")
    assert all(old[name] != new[name] for name in old)
    seen = []
    for at in range(200):
        place = tmp_path / f"killed-{at}"
        shutil.copytree(tmp_path / "old", place)
        (place / "README.md").write_text("somebody's own")
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, at)
            try:
                compact.save([runs], place)
                break
            except Killed:
                pass
        found = compact.read(place)  # whole, whatever lies about
        told = {file.name: file.read_text() for file in place.iterdir() if file.is_file()}
        assert told.pop("README.md") == "somebody's own"
        assert told in (old, new), at
        assert len(found.cells) == (4 if told == new else 1)
        seen.append(told == new)
        compact.save([runs], place)
        assert content(place) == {**new, "README.md": "somebody's own"}
    assert seen == sorted(seen)
    assert seen.count(True) >= 5, "killed while files were on their way"
    assert seen.count(False) >= 10, "killed while files were written"


def test_half_a_first_save_is_no_sweep(tmp_path: Path) -> None:
    (runs,) = gather([write_sweep(tmp_path / "a" / "mnist", plans(["surefed"], ["alie"]))])
    for at in range(100):
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, at)
            with pytest.raises(Killed):
                compact.save([runs], tmp_path / "results" / "mnist")
        if (tmp_path / "results" / "mnist" / ".fresh" / "sweep.json").exists():
            break
    with pytest.raises(RecordError, match="neither a sweep"):
        gather([tmp_path / "results"])
    compact.save([runs], tmp_path / "results" / "mnist")
    assert len(gather([tmp_path / "results"])[0].done) == 2


def test_a_first_save_that_was_killed_on_its_way_counts(tmp_path: Path) -> None:
    made = plans(["surefed"], ["alie"])
    (one,) = gather([write_sweep(tmp_path / "a" / "mnist", made[:1])])
    (two,) = gather([write_sweep(tmp_path / "b" / "mnist", made[1:])])
    ready = 0
    for at in range(100):
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, at)
            try:
                compact.save([one], tmp_path / f"{at}")
                break
            except Killed:
                pass
        whole = (tmp_path / f"{at}" / ".ready").exists()
        ready += whole
        if whole:
            for given in ("folder", "parent"):
                parent = shutil.copytree(tmp_path / f"{at}", tmp_path / f"{given}-{at}" / "mnist").parent
                (found,) = gather([parent / "mnist" if given == "folder" else parent])
                assert [cell.score for cell in found.cells] == [0.9], (given, at)
                assert sorted(content(parent / "mnist")) == FILES, (given, at)
        ((_, merged),) = compact.save([two], tmp_path / f"{at}")
        assert len(merged.sweep.done) == (2 if whole else 1), at
    assert ready >= 5


def lose_rows(place: Path) -> None:
    (place / "cells.csv").write_text("".join((place / "cells.csv").read_text().splitlines(keepends=True)[:-1]))


def lose_a_name(place: Path) -> None:
    grid = json.loads((place / "sweep.json").read_text())
    del grid["cells"][0]["name"]
    (place / "sweep.json").write_text(json.dumps(grid))


@pytest.mark.parametrize(
    "damage",
    [
        lambda place: (place / "curves.json").write_text("{"),
        lambda place: (place / "curves.json").unlink(),
        lambda place: (place / "trust.json").unlink(),
        lambda place: (place / "sweep.json").unlink(),
        lambda place: (place / "cells.csv").unlink(),
        lambda place: (place / "cells.csv").write_bytes(b"\xff\xff"),
        lose_rows,
        lose_a_name,
    ],
)
def test_damaged_results_are_not_added_to(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    runs = write_sweep(tmp_path / "mnist", plans(["surefed"], ["alie"]))
    add(runs, tmp_path / "saved")
    damage(tmp_path / "saved")
    left = {file.name: file.read_bytes() for file in (tmp_path / "saved").iterdir()}
    with pytest.raises(RecordError, match=r"is damaged .* such as git, or delete it"):
        add(runs, tmp_path / "saved")
    assert left == {file.name: file.read_bytes() for file in (tmp_path / "saved").iterdir()}


def test_results_without_their_curves_are_not_taken_for_full_records(tmp_path: Path) -> None:
    add(write_sweep(tmp_path / "mnist", plans(["surefed"], ["alie"])), tmp_path / "saved")
    (tmp_path / "saved" / "curves.json").unlink()
    with pytest.raises(RecordError, match=r"curves\.json is damaged .* such as git, or delete it"):
        gather([tmp_path / "saved"])


def test_results_of_another_grid_are_not_added_to(tmp_path: Path) -> None:
    made = plans(["surefed"], ["alie"])
    write_sweep(tmp_path / "runs" / "mnist", made)
    add(tmp_path / "runs" / "mnist", tmp_path / "results" / "mnist")
    for other, quick in (("femnist", False), ("mnist", True)):
        runs = write_sweep(tmp_path / f"other-{quick}" / other, made, quick=quick)
        with pytest.raises(RecordError, match=f"the grid 'mnist', and these are of the grid '{other}'.*delete that"):
            add(runs, tmp_path / "results" / "mnist")
    run(Experiment.of({"rounds": 2, "data": {"clients": 4}, "model": {"name": "linear"}}), out=tmp_path / "single")
    with pytest.raises(RecordError, match="these are of single runs; --save to another"):
        add(tmp_path / "single", tmp_path / "results" / "mnist")
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="is a file; --save to another"):
        add(tmp_path / "runs" / "mnist", tmp_path / "file")


def test_where_one_sweep_is_refused_none_is_saved(tmp_path: Path) -> None:
    made = plans(["surefed"], ["alie"])
    for name in ("mnist", "femnist"):
        write_sweep(tmp_path / "runs" / name, made)
    write_sweep(tmp_path / "results" / "femnist", made)
    with pytest.raises(RecordError, match="full records"):
        compact.save(gather([tmp_path / "runs"]), tmp_path / "results")
    assert not (tmp_path / "results" / "mnist").exists()

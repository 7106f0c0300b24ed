from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import surefed
from surefed.attacks import ATTACKS
from surefed.cli import main
from surefed.rules import RULES

QUICK = ["--set", "rounds=6", "--set", "data.clients=5", "--set", "model.name=linear", "--set", "evaluate.every=3"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    return tmp_path


def call(*words: str) -> int:
    """Run the command in this process and give its exit code."""
    before, sys.argv = sys.argv, ["surefed", *words]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0


def test_from_nothing_to_a_figure(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("init") == 0
    assert call("run", "experiment.toml", *QUICK, "--out", "run") == 0
    said = capsys.readouterr()
    assert "SureFED" in said.out
    assert "run/figure.png" in said.out
    assert "round 6/6: accuracy" in said.err
    assert (here / "run" / "figure.png").stat().st_size > 10_000
    assert call("show", "run", "--figure", "again.svg") == 0
    assert (here / "again.svg").exists()


def test_json_is_json_and_nothing_else(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", *QUICK, "--out", "run", "--format", "json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["rule"] == "surefed"
    assert said.err == ""
    assert call("show", "run", "--format", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [line["round"] for line in shown[0]["rounds_evaluated"]] == [1, 3, 6]
    assert call("list", "--format", "json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert set(listed["rules"]) == set(RULES)
    assert listed["attacks"]["gaussian"]["options"] == {"scale": 1.0, "mode": "add"}


def test_without_a_file_or_folder_a_run_finds_its_place(here: Path) -> None:
    assert call("run", *QUICK, "--format", "json") == 0
    (folder,) = (here / "runs").iterdir()
    assert folder.name.startswith("experiment-surefed-label_flip-")
    assert surefed.read(folder).finished


def test_list_names_everything_with_its_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list") == 0
    said = capsys.readouterr().out
    assert all(name in said for name in (*RULES, *ATTACKS, "digits", "dirichlet", "complete", "cnn"))
    assert call("list", "attacks") == 0
    assert "surefed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run", "--set", "rule.nam=surefed"], 2, "no option 'nam'"),
        (["run", "--set", "rounds=many"], 2, "rounds"),
        (["run", "--set", "attack.name=label_flp"], 2, "did you mean 'label_flip'"),
        (["run", "--set", "attack.malicious=1.0"], 2, "less than 1"),
        (["run", "missing.toml"], 2, "surefed init missing.toml"),
        (["run", "--device", "tpu9"], 2, "cannot use the device"),
        (["run", "--frobnicate"], 2, "No such option"),
        (["list", "rulez"], 2, "did you mean 'rules'"),
        (["run", "--set", "learn.batch_size=1000"], 3, "fewer than a batch of 1000"),
        (["run", "--set", "graph.name=networkx:cycle_graph", "--set", "graph.n=3"], 3, "3 nodes"),
        (["run", "--resume"], 4, "no run to resume without --out"),
        (["run", "--resume", "--out", "nowhere"], 4, "no run to resume in nowhere"),
        (["run", "--out", "x" * 300], 5, "too long"),
        (["init", "nowhere/e.toml"], 5, "no folder nowhere"),
        (["run", "--set", "model.name=full:x"], 2, "module 'full' has no 'x'"),
        (["show", "nowhere"], 4, "neither the folder of a run"),
        (["run", "--out", "full"], 4, "something else than a run"),
        (["init", "full/taken"], 4, "exists"),
        (["init", "full/taken/deeper"], 5, "cannot write"),
        (["show", "full", "--figure", "x.xyz"], 4, "neither the folder of a run"),
    ],
)
def test_every_mistake_has_its_message_and_exit_code(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    (here / "full").mkdir()
    (here / "full" / "taken").write_text("mine")
    assert call(*words) == code
    said = capsys.readouterr()
    assert message in said.err.replace("\n", " ")
    assert "Traceback" not in said.err
    assert (here / "full" / "taken").read_text() == "mine"


def test_a_model_in_the_users_folder_is_found(here: Path) -> None:
    (here / "mine.py").write_text(
        "from torch import nn\n"
        "def net(shape, classes, width=4):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.Tanh(), nn.Linear(width, classes))\n"
    )
    own = ["--set", "model.name=mine:net", "--set", "model.width=7", "--set", "rounds=2", "--set", "data.clients=4"]
    command = [sys.executable, "-m", "surefed", "run", *own, "--out", "run", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=here)
    assert done.returncode == 0, done.stderr
    assert surefed.read(here / "run").run["weights"] == 64 * 7 + 7 + 7 * 10 + 10


def test_a_folder_alone_is_enough_to_resume(here: Path) -> None:
    assert call("run", *QUICK, "--out", "run", "--format", "json") == 0
    (here / "run" / "result.json").unlink()  # as if it had been killed before it was done
    assert call("run", "--out", "run", "--resume", "--format", "json") == 0
    assert surefed.read(here / "run").finished


def test_the_demo_compares_three_rules(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = (Path(surefed.__file__).parent / "cli" / "demo.toml").read_text().replace("rounds = 1200", "rounds = 4")
    (here / "demo.toml").write_text(quick)
    monkeypatch.setattr("surefed.cli.commands.DEMO", here / "demo.toml")
    assert call("demo") == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("SureFED", "BayP2PFL", "local only", "runs/demo/figure.png"))
    assert call("demo", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["figure"] == "runs/demo-2/figure.png"
    (here / "runs" / "demo-2" / "local_only" / "result.json").unlink()
    assert call("demo", "--resume", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["figure"] == "runs/demo-2/figure.png"


def test_names_with_brackets_and_letters_of_all_alphabets(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", *QUICK, "--set", "name=a [/b] c", "--out", "[bold]x") == 0
    said = capsys.readouterr().out
    assert "a [/b] c" in said
    assert "record: [bold]x" in said
    for name in ("日本", "中国"):
        assert call("run", *QUICK, "--set", f"name={name}", "--format", "json") == 0
        assert json.loads(capsys.readouterr().out)["name"] == name
    assert call("show", "[bold]x", "--figure", "x.xyz") == 2
    assert ".png, .svg or .pdf" in capsys.readouterr().err


def test_an_unfinished_folder_says_how_to_go_on_even_without_its_file(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("run", *QUICK, "--out", "run", "--format", "json") == 0
    (here / "run" / "result.json").unlink()
    assert call("run", "--out", "run") == 4
    assert "unfinished; go on with --resume" in capsys.readouterr().err
    (here / "run" / "trust" / "notes.npz").write_text("a stray file")
    assert call("show", "run") == 0
    (here / "run" / "rounds.jsonl").write_text("[]")
    assert call("show", "run") == 4
    assert "damaged" in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["80", "160"])
def test_numbers_are_never_cut(here: Path, columns: str) -> None:
    for name in ("one", "two-with-a-very-long-name-that-goes-on-and-on"):
        assert call("run", *QUICK, "--out", f"runs/{name}", "--format", "json") == 0
    command = [sys.executable, "-m", "surefed", "show", "runs"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": columns})
    for heading in ("accuracy", "malicious", "seconds"):
        assert heading in done.stdout, done.stdout
    assert done.stdout.count(" %") >= 8


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out == f"surefed {surefed.__version__}\n"


def test_python_dash_m(here: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "surefed", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "Exit codes: 0 done" in done.stdout


def test_compare_runs_every_cell_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "--rules", "surefed,local_only", "--attacks", "none,trojan", *QUICK]
    assert call(*words) == 0
    said = capsys.readouterr()
    assert said.err.count("round 6/6") == 4
    assert " b " in said.out
    assert (here / "runs" / "compare" / "local_only-trojan" / "result.json").exists()
    assert call(*words, "--format", "json") == 0
    again = capsys.readouterr()
    assert [cell["rule"] for cell in json.loads(again.out)] == ["surefed", "surefed", "local_only", "local_only"]
    assert again.err == ""
    assert call("compare", "--rules", "surefd") == 2
    assert "did you mean 'surefed'" in capsys.readouterr().err

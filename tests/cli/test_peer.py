"""The commands for sites: run one, try a whole federation, ask the doctor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from surefed.cli.commands import app
from surefed.cli.watching import sentence
from surefed.core import SureFEDError
from surefed.peer.attempt import prepare
from surefed.peer.node import Round
from surefed.peer.verdict import Verdict
from surefed.records import read


def use(*words: str) -> int:
    """Run a command in this process and give its exit code."""
    try:
        app(list(words), prog_name="surefed", standalone_mode=True)
    except SureFEDError as error:
        print(error)
        return error.exit_code
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_a_round_in_one_line() -> None:
    done = Round(
        round=12,
        rounds=80,
        line={"accuracy": {"mean": 0.931}, "overwritten": 3.0, "jumped": 2},
        verdicts={
            "anna": Verdict("trusted", 12),
            "bert": Verdict(
                "distrusted", 12, "17 weights lie outside the band; the worst is in 2.weight, 23.4 stds away"
            ),
            "cleo": Verdict("missing", None, "no answer by the deadline"),
            "dora": Verdict("not expected"),
        },
        seconds=0.5,
    )
    assert sentence(done) == (
        "round 12/80: accuracy 93.1 %, heard 2 of 3; trusts anna; left out bert (17 weights lie outside the band; the "
        "worst is in 2.weight, 23.4 stds away); missing cleo (no answer by the deadline); 3 weights put back; 2 rounds "
        "left out before it"
    )


def test_the_doctor_ends_with_the_code_of_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attempt = prepare(tmp_path, sites=2, malicious=0, rounds=1)
    settings = str(attempt.folder / "site1" / "peer.toml")
    (attempt.folder / "site1" / "site1.key").chmod(0o640)
    assert use("doctor", settings, "--format", "json") == 6
    said = capsys.readouterr().out
    findings = json.loads(said[: said.rindex("]") + 1])
    assert [one["result"] for one in findings] == ["PASS", "PASS", "FAIL", "WARN"]
    assert use("doctor", settings) == 6
    assert "FAIL keys" in capsys.readouterr().out


def test_a_site_without_a_certificate_does_not_start(tmp_path: Path) -> None:
    attempt = prepare(tmp_path, sites=2, malicious=0, rounds=1)
    (attempt.folder / "site1" / "site1.pem").unlink()
    assert use("peer", "run", str(attempt.folder / "site1" / "peer.toml")) == 6
    assert not attempt.record("site1").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--transport", "pigeon"), "zenoh"),
        (("--sites", "3", "--malicious", "3"), "at least one must be honest"),
        (("--attack", "label_flop"), "label_flip"),
    ],
)
def test_a_trial_that_cannot_be(
    tmp_path: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert use("peer", "try", "--out", str(tmp_path / "try"), *words) == 2
    assert said in capsys.readouterr().out


def command(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "surefed", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


@pytest.mark.slow
def test_a_federation_is_tried_with_one_command(tmp_path: Path) -> None:
    folder = tmp_path / "try"
    running = command(
        "peer", "try", "--sites", "3", "--malicious", "1", "--rounds", "4", "--out", str(folder), "--format", "json"
    )
    said, complaints = running.communicate(timeout=300)
    assert running.returncode == 0, complaints
    sites = json.loads(said)["sites"]
    assert [one["malicious"] for one in sites] == [False, False, True]
    for one in sites:
        assert one["accuracy"] == pytest.approx(one["predicted"], abs=1e-6)
        assert one["trusts"] == one["predicted_trusts"]
        assert read(one["record"]).finished


@pytest.mark.slow
def test_ctrl_c_ends_every_process_of_a_trial(tmp_path: Path) -> None:
    folder = tmp_path / "try"
    running = command("peer", "try", "--sites", "3", "--malicious", "0", "--rounds", "1000000", "--out", str(folder))
    status = folder / "site1" / "record" / "peer.json"
    while not status.exists() and running.poll() is None:
        time.sleep(0.1)
    pids = []
    for site in ("site1", "site2", "site3"):
        path = folder / site / "record" / "peer.json"
        while not path.exists() and running.poll() is None:
            time.sleep(0.1)
        pids.append(json.loads(path.read_text())["pid"])
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_without_the_extra_a_command_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import importlib.util as u; right = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'cryptography' else right(name, *rest)\n"
        "from surefed.cli import main; import sys; sys.argv = ['surefed', 'peer', 'run', 'peer.toml']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert "pip install 'surefed[peer]'" in done.stderr.replace("\n", " ")
    assert isinstance(app, typer.Typer)

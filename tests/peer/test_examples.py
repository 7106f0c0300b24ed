"""The example programs run, and the liar's victims end as predicted."""

from __future__ import annotations

import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from surefed.peer import Settings, open_peer
from surefed.peer.attempt import prepare
from surefed.sim.assemble import assemble
from surefed.sim.engine import begin, play_round, social
from surefed.sim.experiment import Experiment

EXAMPLES = Path(__file__).parents[2] / "examples" / "peer"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_a_site_inside_a_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    load("embed", monkeypatch).main()
    said = capsys.readouterr().out
    assert said.count("accuracy") == 3
    assert "82 weights" in said


def test_the_settings_are_well_formed() -> None:
    settings = Settings.read(EXAMPLES / "peer.toml")
    assert settings.network.addresses.keys() == {"south", "east"}


def test_a_malicious_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = prepare(tmp_path, sites=3, malicious=0, rounds=3, transport="grpc")
    honest = [open_peer(Settings.read(tmp_path / site / "peer.toml")) for site in ("site1", "site2")]
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(one.run) for one in honest]
        load("malicious", monkeypatch).main(tmp_path, "site3", "alie")
        for one in running:
            one.result()
    said = attempt.plan.model_dump(exclude_unset=True) | {"attack": {"name": "alie", "clients": ["site3"]}}
    setup = assemble(Experiment.of(said), data=attempt.whole)
    world = begin(setup)
    for _ in range(3):
        play_round(setup, world)
    for at, one in enumerate(honest):
        assert (one.belief.mean - social(setup, world).mean[at]).abs().max() <= 1e-5

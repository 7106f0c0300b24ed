"""What the README shows is what one gets."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from surefed.attacks import Scene
from surefed.core import Belief, Stream
from surefed.rules import Receivers

ROOT = Path(__file__).parent.parent


def code_of_the_readme() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return str(code)


def test_the_readmes_example_is_the_one_in_examples() -> None:
    example = (ROOT / "examples" / "own_model.py").read_text()
    without_docstring = ast.parse(example).body[1:]
    assert [ast.dump(node) for node in ast.parse(code_of_the_readme()).body] == [
        ast.dump(node) for node in without_docstring
    ]


def test_the_readmes_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quick = code_of_the_readme().replace("rounds=800", "rounds=3")
    assert quick != code_of_the_readme()
    exec(quick, {})
    assert list(tmp_path.glob("runs/ten-sites-surefed-label_flip-*/figure.png"))


def test_files_that_the_readme_points_to_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_the_rule_and_the_attack_in_contributing_do_what_they_say() -> None:
    scope: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL):
        exec(code, scope)
    rule = scope["median"]()
    sent = Belief(torch.tensor([[1.0], [5.0], [2.0]]), torch.zeros(3, 1))
    edges = torch.tensor([[True, True, True], [False, True, False], [False, False, False]])
    outcome = rule.step(Receivers(sent, 0, 1), sent, edges, rule.init(3, 3, sent.weights))
    assert outcome.social.mean.flatten().tolist() == [2.0, 5.0, 2.0]
    start, learned = Belief(torch.ones(1, 2), torch.zeros(1, 2)), Belief(torch.tensor([[1.5, 0.0]]), torch.zeros(1, 2))
    everybody = torch.ones(1, 1, dtype=torch.bool)
    scene = Scene(learned, start, learned[:0], learned[:0], everybody[0], everybody, round=0)
    lie = scope["sign_flip"]().send(learned, scene, Stream(0, "lies", ["0"]))
    assert lie.belief.mean.tolist() == [[0.5, 2.0]]

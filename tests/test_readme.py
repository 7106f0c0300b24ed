"""What the README shows is what one gets."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

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


def test_the_rule_in_contributing_keeps_to_the_contract() -> None:
    import torch

    from surefed.rules import Receivers

    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    scope: dict[str, object] = {}
    exec(code, scope)
    rule = scope["median"]()  # type: ignore[operator]
    from surefed.core import Belief

    sent = Belief(torch.tensor([[1.0], [5.0], [2.0]]), torch.zeros(3, 1))
    edges = torch.tensor([[True, True, True], [False, True, False], [False, False, False]])
    outcome = rule.step(Receivers(sent, 0, 1), sent, edges, rule.init(3, 3))
    assert outcome.social.mean.flatten().tolist() == [2.0, 5.0, 2.0]

from __future__ import annotations

from typing import Any

import pytest

from surefed.core import ConfigError
from surefed.sim import Experiment, toml
from surefed.sim.assemble import assemble
from surefed.sim.check import checked


def test_what_is_written_out_is_what_a_run_writes_out_but_for_what_data_decides() -> None:
    experiment = Experiment.of({"attack": {"name": "trojan"}, "rule": {"kappa": "auto", "before": "nnm"}})
    before, after = checked(experiment), assemble(experiment).experiment
    assert before.data.partition == "auto"
    assert toml.write(before.model_copy(update={"data": after.data})) == toml.write(after)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rule": {"kapa": 2}}, "the rule 'surefed' has no option 'kapa'; did you mean 'kappa'"),
        ({"rule": {"kappa": -1}}, "kappa must not be negative"),
        ({"rule": {"before": "nmn"}}, "there is no step before a rule 'nmn'"),
        ({"attack": {"name": "alei"}}, "there is no attack 'alei'; did you mean 'alie'"),
        ({"model": {"name": "mlp", "hiden": [3]}}, "the model 'mlp' has no option 'hiden'; did you mean 'hidden'"),
        ({"graph": {"name": "rings"}}, "there is no graph 'rings'; did you mean 'ring'"),
        ({"graph": {"name": "regular", "j": 3}}, "the graph 'regular' has no option 'j'; known: k"),
        ({"data": {"name": "mnist", "pat": "x"}}, "unknown key 'data.pat'"),
        ({"learn": {"kind": "point"}}, "judges by the uncertainty of beliefs"),
    ],
)
def test_mistakes_are_found_without_data(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        checked(Experiment.of(values))

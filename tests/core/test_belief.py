from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefed.core import STD_MIN, Belief, rho_of, stack


@given(st.floats(1e-6, 10.0))
def test_rho_of_inverts_softplus_over_the_whole_range(std: float) -> None:
    rho = rho_of(torch.tensor([std]))
    assert Belief(torch.zeros(1), rho).std.item() == pytest.approx(std, rel=1e-5)


def test_softplus_values_worked_by_hand() -> None:
    belief = Belief(torch.zeros(3), torch.tensor([-3.0, -5.0, 0.0]))
    assert belief.std.tolist() == pytest.approx([0.04858735, 0.00671535, math.log(2)], rel=1e-5)


def test_constant_has_the_asked_std() -> None:
    assert Belief.constant(torch.zeros(2, 3), 0.05).std.tolist()[1] == pytest.approx([0.05] * 3)


def test_mean_and_rho_must_have_one_shape() -> None:
    with pytest.raises(ValueError, match=r"\(2,\) but rho has \(3,\)"):
        Belief(torch.zeros(2), torch.zeros(3))


def test_finite_sees_a_single_bad_number_but_not_a_large_sum() -> None:
    mean, rho = torch.zeros(5, 1000), torch.zeros(5, 1000)
    mean[1, 999], rho[2, 0], mean[3] = math.nan, math.inf, 3e38  # row 3: every number finite, their sum not
    mean[4, 3], mean[4, 4] = math.inf, -math.inf
    assert Belief(mean, rho).finite().tolist() == [True, False, False, True, False]


def test_stack_blanks_what_cannot_be_a_belief() -> None:
    good = Belief(torch.tensor([1.0, 2.0]), torch.tensor([0.0, -1.0]))
    bad = Belief(torch.tensor([1.0, math.nan]), torch.zeros(2))
    long = Belief(torch.ones(3), torch.ones(3))
    sent, valid = stack([good, bad, long, None], weights=2)
    assert valid.tolist() == [True, False, False, False]
    assert torch.equal(sent.mean, torch.tensor([[1.0, 2.0], [0, 0], [0, 0], [0, 0]]))


def test_the_smallest_std_is_a_number_that_squares_to_a_precision() -> None:
    assert torch.tensor(STD_MIN).square().reciprocal().isfinite()

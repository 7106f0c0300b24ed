from __future__ import annotations

import functools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefed.core import FAULTS, Belief, rho_of
from surefed.rules import RULES, Receivers

from .test_contract import SEEDS, same, step, world

headed, bayp2pfl = RULES["surefed"], RULES["bayp2pfl"]
surefed = functools.partial(
    headed, heading="off", std_floor=0.0, std_ceiling=0.0
)  # the band alone, as the paper has it


def test_a_round_worked_by_hand() -> None:
    """One receiver, local belief N(0, 0.1^2) on two weights, kappa 2: the band is [-0.2, 0.2]."""
    local = Belief(torch.zeros(1, 2), rho_of(torch.full((1, 2), 0.1)))
    sent = Belief(
        torch.tensor([[0.1, 0.1], [0.15, -0.15], [0.1, 0.3]]),
        rho_of(torch.tensor([[0.1, 0.1], [0.2, 0.1], [0.1, 0.1]])),
    )
    at = Receivers(sent[:1], 0, 1, local=local, local_learns=torch.tensor([True]), detail=True)
    outcome = step(surefed(kappa=2.0), at, sent, torch.ones(1, 3, dtype=torch.bool))
    found = outcome.inspection
    assert found.trusted.tolist() == [[True, True, False]]  # the third leaves the band on its second weight
    assert found.outside is not None
    assert found.worst is not None
    assert found.overwritten is not None
    assert found.outside.tolist() == [[0, 0, 1]]
    assert found.worst[0, 2].item() == 1
    # first weight: precisions 100 and 25, mean (10 + 3.75) / 125; second: both 100, mean (0.1 - 0.15) / 2
    assert outcome.social.mean[0].tolist() == pytest.approx([0.11, -0.025], rel=1e-4)
    assert outcome.social.std[0].tolist() == pytest.approx([62.5**-0.5, 0.1], rel=1e-4)
    assert found.overwritten.tolist() == [0]


def test_a_poisoned_self_is_left_out_and_repaired() -> None:
    local = Belief(torch.zeros(1, 2), rho_of(torch.full((1, 2), 0.1)))
    poisoned = Belief(torch.tensor([[5.0, 0.1]]), rho_of(torch.full((1, 2), 0.3)))
    at = Receivers(poisoned, 0, 1, local=local, local_learns=torch.tensor([True]))
    outcome = step(surefed(kappa=2.0), at, poisoned, torch.ones(1, 1, dtype=torch.bool))
    assert not outcome.inspection.trusted.any()
    assert outcome.social.mean[0].tolist() == pytest.approx([0.0, 0.1])  # nobody trusted: own belief, then repaired
    assert outcome.social.std[0].tolist() == pytest.approx([0.3, 0.3])


@given(seed=SEEDS)
def test_an_endless_band_is_bayp2pfl(seed: int) -> None:
    at, sent, edges = world(seed)
    one, other = step(surefed(kappa=math.inf), at, sent, edges), step(bayp2pfl(), at, sent, edges)
    same(one, other)
    assert torch.equal(one.inspection.trusted, other.inspection.trusted)


@given(seed=SEEDS)
def test_a_band_of_no_width_trusts_only_an_identical_belief(seed: int) -> None:
    at, sent, edges = world(seed)
    assert at.local is not None
    sent.mean[3] = at.local.mean[5]
    trusted = step(surefed(kappa=0.0), at, sent, edges | True).inspection.trusted
    assert trusted.nonzero().tolist() == [[5, 3]]


@given(seed=SEEDS, low=st.floats(0.0, 8.0), high=st.floats(0.0, 8.0))
def test_a_wider_band_trusts_whoever_a_narrower_one_did(seed: int, low: float, high: float) -> None:
    at, sent, edges = world(seed)
    narrow, wide = (step(surefed(kappa=kappa), at, sent, edges) for kappa in sorted((low, high)))
    assert not (narrow.inspection.trusted & ~wide.inspection.trusted).any()


@given(seed=SEEDS, shift=st.floats(-5.0, 5.0))
def test_shifting_every_mean_shifts_the_result(seed: int, shift: float) -> None:
    at, sent, edges = world(seed)
    assert at.local is not None

    def moved(belief: Belief) -> Belief:
        return Belief(belief.mean.double() + shift, belief.rho.double())

    exact = [Belief(belief.mean.double(), belief.rho.double()) for belief in (at.social, at.local, sent)]
    here = step(surefed(kappa=4.0), replace(at, social=exact[0], local=exact[1]), exact[2], edges)
    there = step(surefed(kappa=4.0), replace(at, social=moved(at.social), local=moved(at.local)), moved(sent), edges)
    assert torch.equal(here.inspection.trusted, there.inspection.trusted)
    assert torch.allclose(here.social.mean + shift, there.social.mean, atol=1e-9)


@given(seed=SEEDS)
def test_after_introspection_nobody_is_outside_its_own_band(seed: int) -> None:
    at, sent, edges = world(seed)
    assert at.local is not None
    social = step(surefed(kappa=1.0), at, sent, edges).social
    assert ((social.mean - at.local.mean).abs() <= at.local.std * 1.0).all()


@pytest.mark.parametrize(
    ("options", "who"),
    [
        ({"introspection": "always"}, [True, True]),
        ({"introspection": "never"}, [False, False]),
        ({"introspection": "while_local_learns"}, [True, False]),
        ({"introspection": "first_rounds", "introspection_rounds": 4}, [True, True]),  # it is round 3
        ({"introspection": "first_rounds", "introspection_rounds": 3}, [False, False]),
    ],
)
def test_when_a_client_looks_into_itself(options: dict[str, object], who: list[bool]) -> None:
    local = Belief(torch.zeros(2, 1), torch.zeros(2, 1))
    social = Belief(torch.full((2, 1), 100.0), torch.zeros(2, 1))
    at = Receivers(social, 3, 10, local=local, local_learns=torch.tensor([True, False]))
    outcome = step(surefed(kappa=2.0, **options), at, social, torch.eye(2, dtype=torch.bool))
    assert (outcome.social.mean[:, 0] == 0.0).tolist() == who


def test_a_band_that_measures_itself_worked_by_hand() -> None:
    """Halves that differ by 0.3 and 0.1 at a local std of 0.1: the largest disagreement is 3 stds."""
    local = Belief(torch.zeros(1, 2), rho_of(torch.full((1, 2), 0.1)))
    half_a, half_b = (Belief(torch.tensor([mean]), local.rho) for mean in ([0.2, 0.0], [-0.1, 0.1]))
    sent = Belief(torch.tensor([[0.25, 0.0], [0.0, 0.25], [0.31, 0.0]]), torch.zeros(3, 2))
    at = Receivers(
        sent[:1], 0, 1, local=local, local_learns=torch.tensor([True]), halves=(half_a, half_b), layers=(1, 1)
    )
    hears = torch.ones(1, 3, dtype=torch.bool)
    assert step(surefed(kappa="auto", c=1.0), at, sent, hears).inspection.trusted.tolist() == [[True, True, False]]
    assert step(surefed(kappa="auto", c=0.8), at, sent, hears).inspection.trusted.tolist() == [[False, False, False]]
    layered = step(surefed(kappa="auto", c=1.0, per_layer=True), at, sent, hears)  # bands of 0.3 and 0.1
    assert layered.inspection.trusted.tolist() == [[True, False, False]]


def test_one_std_for_all_forgets_what_is_uncertain() -> None:
    """The sender moved a weight nobody is sure about; a band of one width cannot know that."""
    local = Belief(torch.zeros(1, 2), rho_of(torch.tensor([[1.0, 0.01]])))
    sent = Belief(torch.tensor([[1.5, 0.0], [0.0, 0.05]]), torch.zeros(2, 2))
    at = Receivers(sent[:1], 0, 1, local=local, local_learns=torch.tensor([True]))
    hears = torch.ones(1, 2, dtype=torch.bool)
    assert step(surefed(kappa=2.0), at, sent, hears).inspection.trusted.tolist() == [[True, False]]
    assert step(surefed(kappa=2.0, band_std=0.1), at, sent, hears).inspection.trusted.tolist() == [[False, True]]


def test_a_floor_under_received_stds_closes_the_hole_of_forged_variances() -> None:
    local = Belief(torch.zeros(1, 1), rho_of(torch.tensor([[0.1]])))
    sent = Belief(torch.tensor([[0.0], [0.0], [0.19]]), rho_of(torch.tensor([[0.1], [0.1], [0.0001]])))
    at = Receivers(sent[:1], 0, 1, local=local, local_learns=torch.tensor([True]))
    hears = torch.ones(1, 3, dtype=torch.bool)
    assert step(surefed(kappa=2.0), at, sent, hears).social.mean.item() == pytest.approx(0.19, rel=1e-3)
    assert step(surefed(kappa=2.0, std_floor=1.0), at, sent, hears).social.mean.item() == pytest.approx(
        0.19 / 3, rel=1e-3
    )


def test_a_ceiling_over_received_stds_keeps_claims_of_doubt_from_spreading() -> None:
    """Two of three claim a std of 10 beside a local 0.1: read as 0.2, the precision is (100 + 25 + 25) / 3."""
    local = Belief(torch.zeros(1, 1), rho_of(torch.tensor([[0.1]])))
    sent = Belief(torch.zeros(3, 1), rho_of(torch.tensor([[0.1], [10.0], [10.0]])))
    at = Receivers(sent[:1], 0, 1, local=local, local_learns=torch.tensor([True]))
    hears = torch.ones(1, 3, dtype=torch.bool)
    pooled = step(surefed(kappa=2.0, std_ceiling=2.0), at, sent, hears).social
    assert pooled.std.item() == pytest.approx(50**-0.5, rel=1e-3)
    assert step(surefed(kappa=2.0), at, sent, hears).social.std.item() == pytest.approx((100.02 / 3) ** -0.5, rel=1e-3)


@pytest.mark.parametrize(
    "options",
    [{"c": 0.0}, {"band_std": -1.0}, {"std_floor": 2.0}, {"std_ceiling": 0.5}, {"per_layer": True}],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must|belongs"):
        surefed(**options)


@pytest.mark.parametrize("options", [{"kappa": -1.0}, {"kappa": math.nan}, {"agreement": 0.0}, {"agreement": 1.5}])
def test_values_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        surefed(**options)


def test_the_test_looks_at_means_only_so_a_forged_variance_owns_the_pool() -> None:
    """A known hole of the paper's rule, kept visible: inflated precision passes the inspection and takes over."""
    local = Belief(torch.zeros(1, 1), rho_of(torch.tensor([[0.1]])))
    sent = Belief(torch.tensor([[0.0], [0.0], [0.19]]), rho_of(torch.tensor([[0.1], [0.1], [0.0001]])))
    at = Receivers(sent[:1], 0, 1, local=local, local_learns=torch.tensor([True]))
    outcome = step(surefed(kappa=2.0), at, sent, torch.ones(1, 3, dtype=torch.bool))
    assert outcome.inspection.trusted.all()
    assert outcome.social.mean.item() == pytest.approx(0.19, rel=1e-3)


def ways(
    local: list[float], social: list[float], senders: list[list[float]], before: tuple[float, float] = (1.0, 1.0)
) -> tuple[Receivers, Belief]:
    """One receiver that doubts its second weight twice as much as its first; everybody began at (1, 1)."""
    own, others = torch.tensor([local]), torch.tensor(senders)
    std = torch.tensor([[0.1, 0.2]])
    at = Receivers(
        Belief(torch.tensor([social]), rho_of(std)),
        0,
        1,
        local=Belief(own, rho_of(std)),
        local_learns=torch.tensor([True]),
        start=torch.ones(2),
        previous=Belief(torch.tensor([before]), rho_of(std)),
        detail=True,
    )
    return at, Belief(others, rho_of(std).expand_as(others))


def test_a_sender_must_have_gone_the_same_way() -> None:
    """In local stds from the start, the local way is (3, 0) and the own social one (3, 0): it agrees by 1.

    The senders' ways are (3, 0), (4, 3), (3, 4) and (-3, 0): they agree by 1, 4/5, 3/5 and -1. A heading of 0.7 trusts
    the first two. On the weight that is doubted twice as much, 0.6 and 0.8 count as 3 and 4.
    """
    at, sent = ways([1.3, 1.0], [1.3, 1.0], [[1.3, 1.0], [1.4, 1.6], [1.3, 1.8], [0.7, 1.0]])
    outcome = step(headed(heading=0.7), at, sent, torch.ones(1, 4, dtype=torch.bool))
    assert outcome.inspection.heading is not None
    assert outcome.inspection.heading[0].tolist() == pytest.approx([1.0, 0.8, 0.6, -1.0], abs=1e-6)
    assert outcome.inspection.trusted.tolist() == [[True, True, False, False]]
    assert outcome.social.mean[0].tolist() == pytest.approx([1.35, 1.3])


def test_the_own_social_belief_is_the_measure() -> None:
    """The own social way (3, 4) agrees with the local way (3, 0) by 3/5: 0.7 of that is 0.42, and 3/5 will do now."""
    at, sent = ways([1.3, 1.0], [1.3, 1.8], [[1.3, 1.0], [1.4, 1.6], [1.3, 1.8], [0.7, 1.0]])
    outcome = step(headed(heading=0.7), at, sent, torch.ones(1, 4, dtype=torch.bool))
    assert outcome.inspection.trusted.tolist() == [[True, True, True, False]]
    strict = step(headed(heading=0.7, lowest=0.65), at, sent, torch.ones(1, 4, dtype=torch.bool))
    assert strict.inspection.trusted.tolist() == [[True, True, False, False]]


def test_a_social_belief_that_lost_its_way_is_replaced_as_a_whole() -> None:
    """Its way (-3, 0) is the opposite of the local one, so it trusts nobody here, itself included."""
    at, sent = ways([1.3, 1.2], [0.7, 1.0], [[0.7, 1.0]])
    outcome = step(headed(), at, sent, torch.ones(1, 1, dtype=torch.bool))
    assert at.local is not None
    assert outcome.inspection.overwritten is not None
    assert not outcome.inspection.trusted.any()
    assert torch.equal(outcome.social.mean, at.local.mean)
    assert outcome.inspection.overwritten.tolist() == [2]
    never = step(headed(introspection="never"), at, sent, torch.ones(1, 1, dtype=torch.bool))
    assert torch.equal(never.social.mean, at.social.mean)


def test_who_was_trusted_once_needs_no_lowest_heading() -> None:
    """The own social way (3, 4) agrees with the local one by 3/5, the sender's (3, 6) by 0.45, more than 0.7 * 3/5."""
    at, sent = ways([1.3, 1.0], [1.3, 1.8], [[1.3, 1.8], [1.3, 2.2]])
    rule, both = headed(heading=0.7, lowest=0.5), torch.ones(1, 2, dtype=torch.bool)
    record = rule.init(1, 2, 2)
    new = rule.step(at, sent, both, record)
    assert new.inspection.trusted.tolist() == [[True, False]]
    assert new.state.known.tolist() == [[True, False]]
    old = rule.step(at, sent, both, record._replace(known=both))
    assert old.inspection.trusted.all()


def test_a_client_alone_is_its_local_self_until_it_has_a_heading() -> None:
    """Its social way (3, 9) agrees with the local one by 1/sqrt(10) = 0.32: too little to be anybody, while alone."""
    at, sent = ways([1.3, 1.0], [1.3, 2.8], [[1.3, 2.8], [1.3, 2.8]])
    rule, both = headed(lowest=0.5), torch.ones(1, 2, dtype=torch.bool)
    assert at.local is not None
    assert torch.equal(rule.step(at, sent, both, rule.init(1, 2, 2)).social.mean, at.local.mean)
    company = rule.step(at, sent, both, rule.init(1, 2, 2)._replace(known=both))
    assert torch.allclose(company.social.mean, at.social.mean)


def test_whoever_is_out_is_not_heard_and_the_reason_is_told() -> None:
    at, sent = ways([1.3, 1.0], [1.3, 1.0], [[1.3, 1.0]] * 4)
    rule = headed()
    record = rule.init(1, 4, 2)._replace(verdict=torch.tensor([[0, 1, 2, 4]], dtype=torch.uint8))
    seen = rule.step(at, sent, torch.ones(1, 4, dtype=torch.bool), record).inspection
    assert seen.trusted.tolist() == [[True, True, False, False]]
    assert seen.fault is not None
    assert [FAULTS[fault] for fault in seen.fault[0].tolist()] == ["", "", "against us", "far ahead"]


def test_who_has_not_moved_has_no_heading() -> None:
    at, sent = ways([1.3, 1.0], [1.3, 1.0], [[1.0, 1.0]])
    assert not step(headed(), at, sent, torch.ones(1, 1, dtype=torch.bool)).inspection.trusted.any()


@given(seed=SEEDS)
def test_a_heading_of_anything_leaves_the_band_to_decide(seed: int) -> None:
    at, sent, edges = world(seed)
    loose = step(
        headed(heading=0.0, lowest=-1.0, against=0.0, ahead=0.0, adrift=0.0, kappa=4.0, std_floor=0.0, std_ceiling=0.0),
        at,
        sent,
        edges,
    )
    same(loose, step(surefed(kappa=4.0), at, sent, edges))
    assert torch.equal(loose.inspection.trusted, step(surefed(kappa=4.0), at, sent, edges).inspection.trusted)


@pytest.mark.parametrize(
    "bad",
    [
        {"heading": -0.1},
        {"heading": 1.1},
        {"lowest": 2.0},
        {"heading": math.nan},
        {"against": -1.0},
        {"ahead": math.inf},
        {"adrift": 1.0},
        {"adrift": -0.1},
        {"camps": -0.1},
        {"camps": 1.1},
    ],
)
def test_a_heading_that_makes_no_sense_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        headed(**bad)

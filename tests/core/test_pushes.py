"""Records of pushes: a case worked by hand, and every number against a plain loop."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from surefed.core import heading, pushes
from surefed.core.pushes import AGAINST, AHEAD, CLEARED, Record

SEEDS = st.integers(0, 2**20)


def cosine(one: list[float], other: list[float]) -> float:
    size = math.sqrt(sum(x * x for x in one) * sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / size if size > 0 else 0.0


def made(
    seed: int, receivers: int = 4, senders: int = 6, weights: int = 23
) -> tuple[Record, Tensor, Tensor, Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng)

    heard = torch.rand(receivers, senders, generator=rng) < 0.8
    record = pushes.begin(receivers, senders, weights)._replace(
        course=random(receivers, weights), pull=random(receivers, weights), heard=heard
    )
    edges = torch.rand(receivers, senders, generator=rng) < 0.8
    return record, random(receivers, weights), random(receivers, weights), random(senders, weights), edges


def plainly(record: Record, previous: Tensor, learned: Tensor, sent: Tensor, edges: Tensor) -> tuple[list, list, list]:
    """What the sums become, pair by pair; the receiver's own push is the last of each row."""
    along, pulled, seen = (
        [list(row) for row in value.tolist()] for value in (record.along, record.pulled, record.seen)
    )
    for i, before in enumerate(previous.tolist()):
        own = [b - a for a, b in zip(before, learned[i].tolist(), strict=True)]
        pull = [0.9 * a + 0.1 * b for a, b in zip(record.pull[i].tolist(), own, strict=True)]
        course = record.course[i].tolist()
        if sum(a * b for a, b in zip(course, pull, strict=True)) <= 0:
            course = pull
        company = int(record.heard[i].sum()) > 1
        for j, message in enumerate([*sent.tolist(), learned[i].tolist()]):
            itself = j == len(sent)
            if company and (itself or (bool(record.heard[i, j]) and bool(edges[i, j]))):
                push = [b - a for a, b in zip(before, message, strict=True)]
                along[i][j] = 0.98 * along[i][j] + 0.02 * cosine(course, push)
                pulled[i][j] = 0.98 * pulled[i][j] + 0.02 * cosine(pull, push)
                seen[i][j] = 0.98 * seen[i][j] + 0.02
    return along, pulled, seen


@given(seed=SEEDS)
def test_a_round_is_weighed_as_a_plain_loop_would(seed: int) -> None:
    record, previous, learned, sent, edges = made(seed)
    for _ in range(2):
        after = pushes.weigh(record, previous, learned, sent, edges, against=0.5, ahead=3.0)
        for found, wanted in zip(
            (after.along, after.pulled, after.seen), plainly(record, previous, learned, sent, edges), strict=True
        ):
            assert torch.allclose(found, torch.tensor(wanted), atol=1e-5)
        record = after


@given(seed=SEEDS)
def test_tiles_and_pairs_change_nothing(seed: int) -> None:
    record, previous, learned, sent, _ = made(seed, senders=9)
    edges = torch.zeros(4, 9, dtype=torch.bool)
    edges[torch.arange(4), torch.arange(4) * 2] = edges[torch.arange(4), torch.arange(4)] = True
    few = pushes.weigh(record, previous, learned, sent, edges, against=0.5, ahead=3.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pushes, "TILE", 5)
        patch.setattr(pushes, "PAIRS", 40)
        assert heading.TILE > 5
        again = pushes.weigh(record, previous, learned, sent, edges, against=0.5, ahead=3.0)
        patch.setattr(
            pushes, "_of_some", lambda course, pull, before, sent, edges: pushes._of_all(course, pull, before, sent)
        )
        whole = pushes.weigh(record, previous, learned, sent, edges, against=0.5, ahead=3.0)
    for one, other, third in zip(few, again, whole, strict=True):
        assert torch.allclose(one.float(), other.float(), atol=1e-6)
        assert torch.allclose(one.float(), third.float(), atol=1e-5)


@given(seed=SEEDS)
def test_different_messages_of_a_sender_are_weighed_by_who_hears_them(seed: int) -> None:
    """The first sender tells the first two receivers one thing and the others another."""
    record, previous, learned, sent, edges = made(seed)
    second = torch.randn(1, sent.shape[1], generator=torch.Generator().manual_seed(seed + 1))
    senders = torch.tensor([0, 1, 2, 3, 4, 5, 0])
    upper = torch.tensor([True, True, False, False])
    hears = torch.cat((edges, edges[:, :1]), 1)
    hears[:, 0] &= upper
    hears[:, 6] &= ~upper
    found = pushes.weigh(record, previous, learned, torch.cat((sent, second)), hears, senders, against=0.5, ahead=3.0)
    for rows, first in ((upper, sent[:1]), (~upper, second)):
        alone = pushes.weigh(record, previous, learned, torch.cat((first, sent[1:])), edges, against=0.5, ahead=3.0)
        for one, other in zip(
            (found.along, found.pulled, found.seen), (alone.along, alone.pulled, alone.seen), strict=True
        ):
            assert torch.allclose(one[rows], other[rows], atol=1e-6)
    trusted = pushes.move_on(found, previous, learned, hears, senders)
    assert torch.equal(trusted.heard, edges)


def judged(
    theirs: list[float],
    own: float,
    *,
    pulled: float = 0.0,
    seen: float = 1.0,
    verdicts: list[int] | None = None,
    against: float = 0.5,
    ahead: float = 3.0,
) -> list[int]:
    """What is found of senders whose record says this, 10 000 weights: chance is 0.01, six times that 0.06."""
    count = len(theirs)
    record = pushes.begin(1, count, 10_000)._replace(
        along=seen * torch.tensor([[*theirs, own]]),
        pulled=torch.full((1, count + 1), pulled),
        seen=torch.full((1, count + 1), seen),
        verdict=torch.tensor([verdicts or [0] * count], dtype=torch.uint8),
    )
    still = torch.zeros(1, 10_000)
    nobody = torch.zeros(1, count, dtype=torch.bool)
    after = pushes.weigh(record, still, still, torch.zeros(count, 10_000), nobody, against=against, ahead=ahead)
    found: list[int] = after.verdict[0].tolist()
    return found


def test_verdicts_worked_by_hand() -> None:
    assert judged([-0.06, -0.04, 0.04], 0.1, pulled=-0.01) == [AGAINST, 0, 0]  # half of 0.1, and back along the pull
    assert judged([-0.06], 0.1, pulled=0.01) == [0]  # one's own data say otherwise
    assert judged([-0.06], 0.1, pulled=-0.01, seen=0.39) == [0]  # too early
    assert judged([-0.06], 0.05, pulled=-0.01) == [0]  # a push of one's own that may be chance
    assert judged([0.07, 0.05], 0.13) == [CLEARED, 0]
    assert judged([0.25, 0.27], 0.13) == [CLEARED, 0]  # twice 0.13 is more than a fellow learner does
    assert judged([0.07], 0.13, pulled=-0.01) == [0]
    assert judged([0.07], 0.11) == [0]  # not sure enough to clear anybody
    assert judged([0.07], 0.13, seen=0.79) == [0]


def test_who_is_not_cleared_in_time_may_not_push_back_at_all() -> None:
    assert judged([-0.01, 0.01], 0.13, pulled=0.01) == [AGAINST, 0]
    assert judged([-0.01], 0.13, pulled=0.01, seen=0.97) == [0]
    assert judged([-0.01], 0.11, pulled=0.01) == [0]  # not sure enough
    assert judged([-0.01], 0.13, pulled=0.01, verdicts=[CLEARED]) == [CLEARED]


def test_who_is_far_ahead_worked_by_hand() -> None:
    assert judged([0.37, 0.35], 0.02) == [AHEAD, 0]  # thrice 0.12, twice what may be chance
    assert judged([0.61, 0.59], 0.2) == [AHEAD, 0]  # thrice one's own
    assert judged([0.73, 0.71], 0.02, seen=0.5) == [AHEAD, 0]  # twice as much for half a record
    assert judged([0.97], 0.02, seen=0.24, ahead=1.0) == [0]
    assert judged([0.97], 0.02, seen=0.26, ahead=1.0) == [AHEAD]
    # the course was not one's own, so nobody is against it
    assert judged([0.97, -0.5], 0.1, pulled=-0.01) == [AHEAD, 0]


def test_who_is_as_far_ahead_as_those_that_were_cleared_is_not_ahead() -> None:
    """Of 0.1, 0.2, 0.2 and 0.9 the lower middle is 0.2, and thrice that 0.6."""
    fair = [CLEARED] * 4
    assert judged([0.61, 0.59, 0.1, 0.2, 0.2, 0.9], 0.02, verdicts=[0, 0, *fair]) == [AHEAD, 0, *fair]


def test_who_was_led_astray_takes_its_time_with_the_next_one() -> None:
    assert judged([0.97, 0.0], 0.02, seen=0.79, verdicts=[0, AHEAD]) == [0, AHEAD]
    assert judged([0.97, 0.0], 0.02, seen=0.81, verdicts=[0, AHEAD]) == [AHEAD, AHEAD]


def test_who_was_cleared_needs_more_to_be_out() -> None:
    fair = [CLEARED, CLEARED]
    assert judged([-0.26, 0.0, 0.0], 0.25, pulled=-0.01, verdicts=[CLEARED, *fair]) == [AGAINST, *fair]
    assert judged([-0.24, 0.0, 0.0], 0.25, pulled=-0.01, verdicts=[CLEARED, *fair]) == [CLEARED, *fair]
    # below 0.24, all may have been learned
    assert judged([-0.26, 0.0, 0.0], 0.2, pulled=-0.01, verdicts=[CLEARED, *fair]) == [CLEARED, *fair]
    assert judged([0.73, 0.1, 0.1], 0.02, verdicts=[CLEARED, *fair]) == [AHEAD, *fair]  # six times 0.12
    assert judged([0.71, 0.1, 0.1], 0.02, verdicts=[CLEARED, *fair]) == [CLEARED, *fair]


def test_while_half_of_those_that_were_cleared_push_back_nobody_is_judged_but_who_is_ahead() -> None:
    """0.13 would be cleared, -0.3 be out for pushing back, 0.97 for being ahead."""
    given, fair = [0.13, -0.3, 0.0, 0.0], [CLEARED] * 3
    judge = partial(judged, own=0.13, pulled=0.0, verdicts=[0, 0, 0, 0, *fair])
    assert judge([*given, 0.1, 0.1, -0.1]) == [CLEARED, AGAINST, 0, 0, *fair]
    assert judge([*given, 0.1, -0.1, -0.1]) == [0, 0, 0, 0, *fair]
    assert judge([0.97, *given[1:], 0.1, -0.1, -0.1]) == [AHEAD, 0, 0, 0, *fair]


@pytest.mark.parametrize(("turn", "found"), [(-0.3, [AGAINST, AGAINST, CLEARED]), (-0.1, [CLEARED, 0, CLEARED])])
def test_who_drags_a_receiver_against_its_pull_is_out_cleared_or_not(turn: float, found: list[int]) -> None:
    """The pull is the first axis, the course at this cosine to it; least is 0.06, and 0.05 back may be chance."""
    record = pushes.begin(1, 3, 10_000)._replace(
        along=torch.tensor([[-0.07, -0.07, -0.05, 0.5]]),
        pulled=torch.tensor([[-0.1, -0.1, -0.1, 0.5]]),
        seen=torch.ones(1, 4),
        verdict=torch.tensor([[CLEARED, 0, CLEARED]], dtype=torch.uint8),
    )
    record.pull[0, 0] = 1.0
    record.course[0, 0], record.course[0, 1] = turn, math.sqrt(1 - turn**2)
    still, sent, nobody = torch.zeros(1, 10_000), torch.zeros(3, 10_000), torch.zeros(1, 3, dtype=torch.bool)
    judge = partial(pushes.weigh, learned=still, sent=sent, edges=nobody, against=0.0, ahead=0.0, adrift=0.2)
    assert judge(record, still).verdict[0].tolist() == found
    short = record._replace(along=0.97 * record.along, seen=0.97 * record.seen)
    assert judge(short, still).verdict[0].tolist() == [CLEARED, 0, CLEARED]  # no full record
    assert judge(record._replace(pulled=-record.pulled), still).verdict[0].tolist() == [CLEARED, 0, CLEARED]


def test_0_is_never() -> None:
    assert judged([-0.9], 0.5, pulled=-0.1, against=0.0) == [0]
    assert judged([-0.01], 0.5, against=0.0) == [0]
    assert judged([0.97], 0.02, ahead=0.0) == [0]
    record = pushes.begin(1, 1, 10_000)._replace(
        along=torch.tensor([[-0.9, 0.5]]), pulled=torch.tensor([[-0.9, 0.5]]), seen=torch.ones(1, 2)
    )
    record.pull[0, 0], record.course[0, 0] = 1.0, -1.0
    still, nobody = torch.zeros(1, 10_000), torch.zeros(1, 1, dtype=torch.bool)
    assert pushes.weigh(record, still, still, still, nobody, against=0.0, ahead=0.0, adrift=0.0).verdict.item() == 0


def test_more_tolerance_is_not_less() -> None:
    """Whom to clear does not depend on how much pushing back is borne."""
    for against in (0.25, 1.0, 2.0):
        assert judged([0.13, 0.05, -0.12], 0.13, pulled=0.0, seen=0.9, against=against) == [CLEARED, 0, 0]


def test_a_record_is_as_long_as_the_shorter_one_of_the_two() -> None:
    """The receiver's own pushes were weighed for fewer rounds than the sender's: 0.39 is too early for a verdict."""
    record = pushes.begin(1, 1, 10_000)._replace(
        along=torch.tensor([[-0.5, 0.39 * 0.1]]), pulled=torch.full((1, 2), -0.1), seen=torch.tensor([[1.0, 0.39]])
    )
    still, nobody = torch.zeros(1, 10_000), torch.zeros(1, 1, dtype=torch.bool)
    after = pushes.weigh(record, still, still, still, nobody, against=0.5, ahead=3.0)
    assert after.verdict.tolist() == [[0]]
    later = pushes.weigh(
        record._replace(along=torch.tensor([[-0.5, 0.041]]), seen=torch.tensor([[1.0, 0.41]])),
        still, still, still, nobody, against=0.5, ahead=3.0,
    )  # fmt: skip
    assert later.verdict.tolist() == [[AGAINST]]


def test_who_is_out_stays_out() -> None:
    assert judged([0.5], 0.5, verdicts=[AGAINST]) == [AGAINST]
    assert judged([0.5], 0.5, verdicts=[AHEAD]) == [AHEAD]


def test_after_somebody_was_ahead_the_record_begins_anew() -> None:
    record = pushes.begin(2, 2, 10_000)._replace(
        course=torch.ones(2, 10_000), along=torch.tensor([[0.97, 0.1, 0.02], [0.1, 0.1, 0.1]]), seen=torch.ones(2, 3),
        pulled=torch.full((2, 3), -0.1),
    )  # fmt: skip
    still, nobody = torch.zeros(2, 10_000), torch.zeros(2, 2, dtype=torch.bool)
    after = pushes.weigh(record, still, still, torch.zeros(2, 10_000), nobody, against=0.5, ahead=3.0)
    assert after.verdict.tolist() == [[AHEAD, 0], [0, 0]]
    assert after.out.tolist() == [[AHEAD, 0], [0, 0]]
    assert not after.course[0].any()
    assert not after.along[0].any()
    assert not after.pulled[0].any()
    assert not after.seen[0].any()
    assert after.course[1].all()
    assert after.seen[1].all()


def test_the_course_is_where_the_belief_went() -> None:
    record, previous, learned, _, edges = made(3)
    after = pushes.move_on(record, previous, learned, edges)
    assert torch.allclose(after.course, 0.98 * record.course + 0.02 * (learned - previous))
    assert torch.equal(after.heard, edges)
    assert torch.equal(after.known, edges)
    assert torch.equal(pushes.move_on(after, previous, learned, ~edges).known, torch.ones_like(edges))


def test_a_lie_of_1e20_is_no_evidence() -> None:
    record, previous, learned, sent, edges = made(5)
    sent[2] = 1e30
    after = pushes.weigh(record, previous, learned, sent, edges, against=0.5, ahead=3.0)
    assert all(torch.isfinite(value.float()).all() for value in after)


def test_a_record_goes_with_its_senders() -> None:
    record, previous, learned, sent, edges = made(7)
    record = pushes.move_on(
        pushes.weigh(record, previous, learned, sent, edges, against=0.5, ahead=3.0), previous, learned, edges
    )
    now = pushes.carried(record, "abcdef", "cfxa")
    for name in ("along", "pulled", "seen", "heard", "known", "verdict"):
        old, new = getattr(record, name), getattr(now, name)
        assert torch.equal(new[:, [0, 1, 3]], old[:, [2, 5, 0]]), name
        assert not new[:, 2].any(), name
    assert torch.equal(now.along[:, -1], record.along[:, -1])
    assert torch.equal(now.course, record.course)
    assert all(
        torch.equal(one, other) for one, other in zip(pushes.carried(record, "abcdef", "abcdef"), record, strict=True)
    )

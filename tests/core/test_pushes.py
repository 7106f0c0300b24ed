"""Records of pushes: a case worked by hand, and every number against a plain loop."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from surefed.core import felt, heading, pushes
from surefed.core.pushes import AGAINST, AHEAD, CLEARED, Record

LIMITS, NEVER = {"against": 0.5, "ahead": 3.0}, {"against": 0.0, "ahead": 0.0}
pytestmark = pytest.mark.usefixtures("each_path")
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

    heard, known = (torch.rand(receivers, senders, generator=rng) < share for share in (0.8, 0.7))
    record = pushes.begin(receivers, senders, weights)._replace(
        course=random(receivers, weights), pull=random(receivers, weights), heard=heard, known=heard | known
    )
    edges = torch.rand(receivers, senders, generator=rng) < 0.8
    before, after, sent = random(receivers, weights), random(receivers, weights), random(senders, weights)
    sent *= torch.tensor([1.0, 10.0, 100.0])[torch.arange(senders) % 3][:, None]  # some count more, some the most
    return record, before, after, sent, edges


SUMS = ("along", "pulled", "weight", "seen")


def plainly(
    record: Record, previous: Tensor, learned: Tensor, sent: Tensor, edges: Tensor, fit: Tensor
) -> list[list[list[float]]]:
    """What the sums become, pair by pair; the receiver's own push is the last of each row."""
    sums = [[list(row) for row in getattr(record, name).tolist()] for name in SUMS]
    for i, before in enumerate(previous.tolist()):
        own = [b - a for a, b in zip(before, learned[i].tolist(), strict=True)]
        pull = [0.9 * a + 0.1 * b for a, b in zip(record.pull[i].tolist(), own, strict=True)]
        course = record.course[i].tolist()
        if sum(a * b for a, b in zip(course, pull, strict=True)) <= 0:
            course = pull
        longest = max(math.hypot(*own), 0.98 * float(record.longest[i]))
        company = int(record.heard[i].sum()) > 1
        for j, message in enumerate([*sent.tolist(), learned[i].tolist()]):
            itself = j == len(sent)
            fellow = not itself and (bool(record.heard[i, j]) or (bool(record.known[i, j]) and bool(fit[i, j])))
            if company and (itself or (fellow and bool(edges[i, j]))):
                push = [b - a for a, b in zip(before, message, strict=True)]
                size = min(50.0, max(1.0, math.hypot(*push) / (4 * longest))) if cosine(course, push) < 0 else 1.0
                values = size * cosine(course, push), size * cosine(pull, push), size, 1.0
                for one, value in zip(sums, values, strict=True):
                    one[i][j] = 0.98 * one[i][j] + 0.02 * value
    return sums


@given(seed=SEEDS)
def test_a_round_is_weighed_as_a_plain_loop_would(seed: int) -> None:
    record, previous, learned, sent, edges = made(seed)
    fit = torch.rand(edges.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    for _ in range(2):
        after = pushes.weigh(record, previous, learned, sent, edges, fit, **NEVER)
        for name, wanted in zip(SUMS, plainly(record, previous, learned, sent, edges, fit), strict=True):
            assert torch.allclose(getattr(after, name), torch.tensor(wanted), atol=1e-5), name
        record = after


def test_one_huge_lie_is_not_made_good_by_many_small_truths() -> None:
    """Course and pull are the first axis, and so is one's own push, 1 long.

    In every fifth round the first sender takes back forty, which counts ten times; else it goes forth as the receiver
    does: ten back, four forth. The second is honest, but thrice as fast and at a slant of 60 degrees.
    """
    record = pushes.begin(1, 2, 4)._replace(heard=torch.ones(1, 2, dtype=torch.bool))
    record.course[0, 0] = record.pull[0, 0] = 1.0
    still, learned, everybody = torch.zeros(1, 4), torch.tensor([[1.0, 0, 0, 0]]), torch.ones(1, 2, dtype=torch.bool)
    slant = [1.5, 1.5 * math.sqrt(3), 0.0, 0.0]
    for number in range(300):
        lie = [1.0 if number % 5 else -40.0, 0.0, 0.0, 0.0]
        record = pushes.weigh(record, still, learned, torch.tensor([lie, slant]), everybody, everybody, **NEVER)
    past = [(-10.0 if number % 5 == 0 else 1.0, 0.98 ** (299 - number)) for number in range(300)]
    wanted = sum(counted * kept for counted, kept in past) / sum(abs(counted) * kept for counted, kept in past)
    assert wanted == pytest.approx(-6 / 14, abs=0.03)
    assert (record.along / record.weight)[0].tolist() == pytest.approx([wanted, 0.5, 1.0], abs=1e-5)
    assert record.weight[0].tolist() == pytest.approx([14 / 5, 1.0, 1.0], rel=0.1)


def test_a_push_is_measured_by_the_longest_of_ones_own_of_late() -> None:
    """The receiver moved by 5 two rounds ago, 4.8 today, and by 1 since; -40 counts for 2.08, 6 of another once."""
    record = pushes.begin(1, 2, 4)._replace(heard=torch.ones(1, 2, dtype=torch.bool))
    still, everybody = torch.zeros(1, 4), torch.ones(1, 2, dtype=torch.bool)
    for own in (5.0, 1.0):
        learned = torch.tensor([[own, 0, 0, 0]])
        record = pushes.weigh(record, still, learned, torch.zeros(2, 4), everybody, everybody, **NEVER)
    assert record.longest.item() == pytest.approx(4.9)
    sent = torch.tensor([[-40.0, 0, 0, 0], [6.0, 0, 0, 0]])
    after = pushes.weigh(record, still, learned, sent, everybody, everybody, **NEVER)
    counted = (after.weight - 0.98 * record.weight)[0] / 0.02
    assert counted.tolist() == pytest.approx([40 / (4 * 4.802), 1.0, 1.0], abs=1e-4)


def test_a_huge_push_forth_counts_once_and_a_push_back_fifty_times_at_most() -> None:
    """Else who flips nine updates would make them good by one huge truth, and one lie would outlast the record."""
    record = pushes.begin(1, 3, 4)._replace(heard=torch.ones(1, 3, dtype=torch.bool))
    record.course[0, 0] = record.pull[0, 0] = 1.0
    still, learned, everybody = torch.zeros(1, 4), torch.tensor([[1.0, 0, 0, 0]]), torch.ones(1, 3, dtype=torch.bool)
    sent = torch.tensor([[8000.0], [-20.0], [-8000.0]]) * learned
    after = pushes.weigh(record, still, learned, sent, everybody, everybody, **NEVER)
    assert after.along[0].tolist() == pytest.approx([0.02, -0.1, -1.0, 0.02])
    assert after.weight[0].tolist() == pytest.approx([0.02, 0.1, 1.0, 0.02])
    assert after.seen[0].tolist() == pytest.approx([0.02] * 4)


def test_silence_or_garbage_in_between_hides_no_lie() -> None:
    """Of senders not heard in the round before, those are weighed that were once, and would be now."""
    yes, no = True, False
    record = pushes.begin(1, 4, 4)._replace(
        heard=torch.tensor([[yes, yes, no, no]]), known=torch.tensor([[yes, yes, yes, no]])
    )
    still, learned, everybody = torch.zeros(1, 4), torch.tensor([[1.0, 0, 0, 0]]), torch.ones(1, 4, dtype=torch.bool)
    for fit, seen in (([yes, no, yes, yes], [1, 1, 1, 0, 1]), ([yes, no, no, yes], [1, 1, 0, 0, 1])):
        after = pushes.weigh(record, still, learned, torch.ones(4, 4), everybody, torch.tensor([fit]), **NEVER)
        assert (after.seen > 0)[0].tolist() == [bool(one) for one in seen]


@given(seed=SEEDS)
def test_tiles_and_pairs_change_nothing(seed: int) -> None:
    record, previous, learned, sent, _ = made(seed, senders=9)
    edges = torch.zeros(4, 9, dtype=torch.bool)
    edges[torch.arange(4), torch.arange(4) * 2] = edges[torch.arange(4), torch.arange(4)] = True
    few = pushes.weigh(record, previous, learned, sent, edges, edges, **LIMITS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(felt, "TILE", 5)
        patch.setattr(felt, "PAIRS", 40)
        assert heading.TILE > 5
        again = pushes.weigh(record, previous, learned, sent, edges, edges, **LIMITS)
        patch.setattr(
            felt, "_of_some", lambda course, pull, before, sent, edges: felt._of_all(course, pull, before, sent)
        )
        whole = pushes.weigh(record, previous, learned, sent, edges, edges, **LIMITS)
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
    found = pushes.weigh(record, previous, learned, torch.cat((sent, second)), hears, hears, senders, **LIMITS)
    for rows, first in ((upper, sent[:1]), (~upper, second)):
        alone = pushes.weigh(record, previous, learned, torch.cat((first, sent[1:])), edges, edges, **LIMITS)
        for name in SUMS:
            assert torch.allclose(getattr(found, name)[rows], getattr(alone, name)[rows], atol=1e-6), name
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
        weight=torch.full((1, count + 1), seen),
        seen=torch.full((1, count + 1), seen),
        verdict=torch.tensor([verdicts or [0] * count], dtype=torch.uint8),
    )
    still = torch.zeros(1, 10_000)
    nobody = torch.zeros(1, count, dtype=torch.bool)
    after = pushes.weigh(record, still, still, torch.zeros(count, 10_000), nobody, nobody, against=against, ahead=ahead)
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
    """The pull is the first axis, and the course goes so far along it; a tenth of the longest push, 2, is 0.2.

    least is 0.06, and 0.05 back may be chance.
    """
    record = pushes.begin(1, 3, 10_000)._replace(
        along=torch.tensor([[-0.07, -0.07, -0.05, 0.5]]),
        pulled=torch.tensor([[-0.1, -0.1, -0.1, 0.5]]),
        weight=torch.ones(1, 4),
        seen=torch.ones(1, 4),
        verdict=torch.tensor([[CLEARED, 0, CLEARED]], dtype=torch.uint8),
        longest=torch.tensor([[2 / 0.98]]),
    )
    record.pull[0, 0] = 7.0  # how long it is does not matter
    record.course[0, 0], record.course[0, 1] = turn, 5.0
    still, sent, nobody = torch.zeros(1, 10_000), torch.zeros(3, 10_000), torch.zeros(1, 3, dtype=torch.bool)
    judge = partial(
        pushes.weigh, learned=still, sent=sent, edges=nobody, fit=nobody, against=0.0, ahead=0.0, adrift=0.1
    )
    assert judge(record, still).verdict[0].tolist() == found
    short = record._replace(along=0.97 * record.along, weight=0.97 * record.weight, seen=0.97 * record.seen)
    assert judge(short, still).verdict[0].tolist() == [CLEARED, 0, CLEARED]  # no full record
    assert judge(record._replace(pulled=-record.pulled), still).verdict[0].tolist() == [CLEARED, 0, CLEARED]


def test_0_is_never() -> None:
    assert judged([-0.9], 0.5, pulled=-0.1, against=0.0) == [0]
    assert judged([-0.01], 0.5, against=0.0) == [0]
    assert judged([0.97], 0.02, ahead=0.0) == [0]
    record = pushes.begin(1, 1, 10_000)._replace(
        along=torch.tensor([[-0.9, 0.5]]), pulled=torch.tensor([[-0.9, 0.5]]), weight=torch.ones(1, 2),
        seen=torch.ones(1, 2),
    )  # fmt: skip
    record.pull[0, 0], record.course[0, 0] = 1.0, -1.0
    still, nobody = torch.zeros(1, 10_000), torch.zeros(1, 1, dtype=torch.bool)
    assert pushes.weigh(record, still, still, still, nobody, nobody, **NEVER).verdict.item() == 0


def test_more_tolerance_is_not_less() -> None:
    """Whom to clear does not depend on how much pushing back is borne."""
    for against in (0.25, 1.0, 2.0):
        assert judged([0.13, 0.05, -0.12], 0.13, pulled=0.0, seen=0.9, against=against) == [CLEARED, 0, 0]


def test_a_record_is_as_long_as_the_shorter_one_of_the_two() -> None:
    """The receiver's own pushes were weighed for fewer rounds than the sender's: 0.39 is too early for a verdict."""
    record = pushes.begin(1, 1, 10_000)._replace(
        along=torch.tensor([[-0.5, 0.39 * 0.1]]), pulled=torch.full((1, 2), -0.1),
        weight=torch.tensor([[1.0, 0.39]]), seen=torch.tensor([[1.0, 0.39]]),
    )  # fmt: skip
    still, nobody = torch.zeros(1, 10_000), torch.zeros(1, 1, dtype=torch.bool)
    after = pushes.weigh(record, still, still, still, nobody, nobody, **LIMITS)
    assert after.verdict.tolist() == [[0]]
    later = pushes.weigh(
        record._replace(
            along=torch.tensor([[-0.5, 0.041]]), weight=torch.tensor([[1.0, 0.41]]), seen=torch.tensor([[1.0, 0.41]])
        ),
        still, still, still, nobody, nobody, **LIMITS,
    )  # fmt: skip
    assert later.verdict.tolist() == [[AGAINST]]


def test_who_is_out_stays_out() -> None:
    assert judged([0.5], 0.5, verdicts=[AGAINST]) == [AGAINST]
    assert judged([0.5], 0.5, verdicts=[AHEAD]) == [AHEAD]


def test_after_somebody_was_ahead_the_record_begins_anew() -> None:
    record = pushes.begin(2, 2, 10_000)._replace(
        course=torch.ones(2, 10_000), along=torch.tensor([[0.97, 0.1, 0.02], [0.1, 0.1, 0.1]]),
        pulled=torch.full((2, 3), -0.1), weight=torch.ones(2, 3), seen=torch.ones(2, 3),
    )  # fmt: skip
    still, nobody = torch.zeros(2, 10_000), torch.zeros(2, 2, dtype=torch.bool)
    after = pushes.weigh(record, still, still, torch.zeros(2, 10_000), nobody, nobody, **LIMITS)
    assert after.verdict.tolist() == [[AHEAD, 0], [0, 0]]
    assert after.out.tolist() == [[AHEAD, 0], [0, 0]]
    assert not after.course[0].any()
    assert not after.along[0].any()
    assert not after.pulled[0].any()
    assert not after.weight[0].any()
    assert not after.seen[0].any()
    assert after.course[1].all()
    assert after.seen[1].all()


def test_the_course_is_where_the_belief_went() -> None:
    record, previous, learned, _, edges = made(3)
    after = pushes.move_on(record, previous, learned, edges)
    assert torch.allclose(after.course, 0.98 * record.course + 0.02 * (learned - previous))
    assert torch.equal(after.heard, edges)
    assert torch.equal(after.known, record.known | edges)
    assert torch.equal(pushes.move_on(after, previous, learned, ~edges).known, torch.ones_like(edges))


def test_a_lie_of_1e30_is_finite_evidence() -> None:
    record, previous, learned, sent, edges = made(5)
    sent[2] = 1e30
    after = pushes.weigh(record, previous, learned, sent, edges, edges, **LIMITS)
    assert all(torch.isfinite(value.float()).all() for value in after)
    assert (after.along.abs() <= 1.001 * after.weight).all()


def test_beside_one_who_does_not_learn_every_push_counts_once() -> None:
    record, previous, _, sent, edges = made(5)
    after = pushes.weigh(record, previous, previous, sent, edges, edges, **LIMITS)
    assert torch.equal(after.weight, after.seen)
    assert not after.along[:, -1].any()


def test_a_record_goes_with_its_senders() -> None:
    record, previous, learned, sent, edges = made(7)
    record = pushes.move_on(
        pushes.weigh(record, previous, learned, sent, edges, edges, **LIMITS), previous, learned, edges
    )
    now = pushes.carried(record, "abcdef", "cfxa")
    for name in (*SUMS, "heard", "known", "verdict"):
        old, new = getattr(record, name), getattr(now, name)
        assert torch.equal(new[:, [0, 1, 3]], old[:, [2, 5, 0]]), name
        assert not new[:, 2].any(), name
    assert torch.equal(now.along[:, -1], record.along[:, -1])
    assert torch.equal(now.course, record.course)
    assert all(
        torch.equal(one, other) for one, other in zip(pushes.carried(record, "abcdef", "abcdef"), record, strict=True)
    )

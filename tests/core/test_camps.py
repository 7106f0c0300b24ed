"""Camps: a case worked by hand, every step against plain loops, and what must not matter."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from surefed.core import camps, pushes
from surefed.core.camps import SKETCH, Leanings, lean, other_camp, sketch
from surefed.core.pushes import AGAINST, APART, CLEARED, Record

SEEDS = st.integers(0, 2**20)
Vector = list[float]


def judged(
    leanings: Tensor, own: Tensor, *, alike: float = 0.75, felt: float = 1.0, before: tuple[int, ...] = ()
) -> list[int]:
    """Who is in the other camp, of senders with so full a record. leanings: [sender, number]; own: [number]

    before: who was in the round before.
    """
    rows = torch.zeros(len(leanings) + 1, SKETCH)
    rows[:, : leanings.shape[1]] = torch.cat((leanings, own[None]))
    told = torch.full((1, len(rows)), felt)
    known = torch.ones(1, len(leanings), dtype=torch.bool)
    apart = torch.zeros_like(known)
    apart[0, list(before)] = True
    return other_camp(felt * rows[None], told, known, apart, alike)[0].nonzero().flatten().tolist()


def axes(*rows: dict[int, float], numbers: int = 32) -> Tensor:
    """Leanings by the numbers that are not 0."""
    found = torch.zeros(len(rows), numbers)
    for row, parts in zip(found, rows, strict=True):
        for at, value in parts.items():
            row[at] = value
    return found


def two_camps(ours: int, theirs: int, *, way: float) -> Tensor:
    """Everybody leans its own way by 1; the latter, all together, by `way` along one more."""
    return axes(*({1 + at: 1.0} for at in range(ours)), *({0: way, 1 + ours + at: 1.0} for at in range(theirs)))


def test_by_hand() -> None:
    """Three of us, three liars that lean 3 together, all 1 for themselves.

    Seen from our middle, (1/3, 1/3, 1/3), a liar is at 3 along theirs, -1/3 along each of ours and 1 along its own: two
    of them have a product of 9 + 1/3 and squares of 10 + 1/3, a cosine of 28/31 = 0.903. So have two of us seen from
    theirs: (-3, 1, 0, 0, -1/3, -1/3, -1/3).
    """
    leanings = two_camps(3, 3, way=3.0)
    assert judged(leanings, leanings[0], alike=0.903) == [3, 4, 5]
    assert judged(leanings, leanings[0], alike=0.904) == []
    assert judged(leanings, leanings[4]) == [0, 1, 2]


def test_camps_stay_apart_a_little_longer() -> None:
    """They are alike by 28/31, as worked out above; 0.8 times as much is enough where there were two before."""
    leanings = two_camps(3, 3, way=3.0)
    limit = 28 / 31 / camps.STAY
    assert judged(leanings, leanings[0], alike=limit - 1e-3, before=(4,)) == [3, 4, 5]
    assert judged(leanings, leanings[0], alike=limit + 1e-3, before=(4,)) == []
    assert judged(leanings, leanings[0], alike=limit - 1e-3) == []


def test_nobody_is_in_a_camp_where_all_differ_alike() -> None:
    leanings = torch.eye(12)
    assert judged(leanings, leanings[0], alike=0.3) == []


@pytest.mark.parametrize(("ours", "theirs"), [(3, 20), (20, 3), (7, 7)])
def test_no_majority_is_asked_for(ours: int, theirs: int) -> None:
    leanings = two_camps(ours, theirs, way=4.0)
    assert judged(leanings, leanings[0]) == list(range(ours, ours + theirs))
    assert judged(leanings, leanings[-1]) == list(range(ours))


@pytest.mark.parametrize(("ours", "theirs"), [(2, 6), (6, 2), (1, 7)])
def test_what_two_have_in_common_may_be_chance(ours: int, theirs: int) -> None:
    leanings = two_camps(ours, theirs, way=9.0)
    assert judged(leanings, leanings[0]) == []


def test_one_that_leans_far_hides_no_camp() -> None:
    """It counts as four times as long as the receiver's own, so it does not move the middle far."""
    leanings = torch.cat((two_camps(6, 6, way=4.0), axes({31: 50.0})))
    assert judged(leanings, leanings[0]) == [6, 7, 8, 9, 10, 11]


def test_it_takes_a_record() -> None:
    leanings = two_camps(4, 4, way=4.0)
    assert judged(leanings, leanings[0], felt=0.39) == []
    assert judged(leanings, leanings[0], felt=0.41) == [4, 5, 6, 7]


def made(seed: int) -> tuple[Tensor, Tensor]:
    """Leanings of ten senders, some of which lean together, and of the receiver itself, which is like one of them."""
    rng = torch.Generator().manual_seed(seed)
    leanings = torch.randn(10, 30, generator=rng)
    leanings[torch.rand(10, generator=rng) < 0.5] += 12 * torch.rand(1, generator=rng) * torch.randn(30, generator=rng)
    return leanings, leanings[int(torch.randint(0, 10, (1,), generator=rng))] + 0.1 * torch.randn(30, generator=rng)


@given(seed=SEEDS, alike=st.sampled_from([0.5, 0.75]))
def test_it_is_what_plain_loops_find(seed: int, alike: float) -> None:
    leanings, own = made(seed)
    assert judged(leanings, own, alike=alike) == plainly(leanings.tolist(), own.tolist(), alike)


def test_some_of_these_have_camps_and_some_have_none() -> None:
    found = [bool(judged(*made(seed))) for seed in range(40)]
    assert 5 < sum(found) < 35


@given(seed=SEEDS)
def test_what_does_not_matter(seed: int) -> None:
    """The order of senders, and how far all lean."""
    leanings, own = made(seed)
    wanted = judged(leanings, own)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(seed))
    assert sorted(order[judged(leanings[order], own)].tolist()) == wanted
    assert judged(7 * leanings, 7 * own) == wanted


def test_receivers_do_not_matter_to_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [made(seed) for seed in range(6)]
    rows = torch.zeros(6, 11, SKETCH)
    for row, (leanings, own) in zip(rows, several, strict=True):
        row[:, :30] = torch.cat((leanings, own[None]))
    felt, known = torch.ones(6, 11), torch.ones(6, 10, dtype=torch.bool)
    found = other_camp(rows, felt, known, ~known, 0.75)
    assert [row.nonzero().flatten().tolist() for row in found] == [judged(*one) for one in several]
    monkeypatch.setattr(camps, "PAIRS", 250)
    assert torch.equal(other_camp(rows, felt, known, ~known, 0.75), found)


def test_whoever_is_not_known_does_not_count() -> None:
    leanings = two_camps(4, 4, way=4.0)
    rows = torch.zeros(1, 9, SKETCH)
    rows[0, :, :32] = torch.cat((leanings, leanings[:1]))
    known = torch.tensor([[True] * 6 + [False] * 2])
    assert not other_camp(rows, torch.ones(1, 9), known, ~known, 0.75).any()


def plainly(leanings: list[Vector], own: Vector, alike: float) -> list[int]:
    """The same, number by number."""
    most = camps.FAR * math.sqrt(dot(own, own))
    leanings = [[value * min(1.0, most / math.sqrt(dot(one, one))) for value in one] for one in leanings]
    middle = mean(leanings)
    unit = [unit_of(minus(one, middle)) for one in leanings]
    itself, size = unit_of(minus(own, middle)), range(len(leanings))
    table = [[dot(one, other) for other in unit] for one in unit]
    weights = [dot(one, itself) for one in unit]
    for _ in range(2**camps.SQUARINGS):
        weights = [dot(row, weights) for row in table]
        weights = unit_of(weights)
    score = [dot(row, weights) for row in table]
    mine = sum(dot(one, itself) * weight for one, weight in zip(unit, weights, strict=True))
    ordered, best, border = sorted(score), 0.0, math.inf
    for k in range(2, len(score) - 1):
        low, high = ordered[:k], ordered[k:]
        between = (sum(low) / len(low) - sum(high) / len(high)) ** 2 * len(low) * len(high)
        if between > best:
            best, border = between, (low[-1] + high[0]) / 2
    theirs = [at for at in size if (score[at] > border) != (mine > border)]
    ours = [at for at in size if at not in theirs]
    if min(len(ours), len(theirs)) < camps.LEAST:
        return []
    return theirs if min(cohesion(leanings, theirs, ours), cohesion(leanings, ours, theirs)) >= alike else []


def cohesion(leanings: list[Vector], camp: list[int], others: list[int]) -> float:
    """The mean cosine over the pairs of a camp, seen from the middle of the others."""
    middle = mean([leanings[at] for at in others])
    unit = {at: unit_of(minus(leanings[at], middle)) for at in camp}
    found = [dot(unit[one], unit[other]) for one in camp for other in camp if one < other]
    return sum(found) / len(found)


def dot(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def minus(one: Vector, other: Vector) -> Vector:
    return [a - b for a, b in zip(one, other, strict=True)]


def mean(rows: list[Vector]) -> Vector:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def unit_of(one: Vector) -> Vector:
    length = math.sqrt(dot(one, one))
    return [value / length for value in one]


def test_a_sketch_is_signed_sums_of_every_256th_weight() -> None:
    means, signs = torch.randn(3, 700), camps.signs(1, 700)[0]
    wanted = [[0.0] * SKETCH for _ in range(3)]
    for row, line in zip(means.tolist(), wanted, strict=True):
        for at, value in enumerate(row):
            line[at % SKETCH] += value * int(signs[at])
    assert torch.allclose(sketch(means, signs), torch.tensor(wanted), atol=1e-5)
    assert torch.equal(sketch(means[:, :5], signs[:5])[:, :5], means[:, :5] * signs[:5])


def test_products_of_sketches_are_those_of_the_vectors() -> None:
    """On average over the signs, and in one of twenty to twice 1 / sqrt(256) of the lengths."""
    one, other = torch.randn(2, 5000, generator=torch.Generator().manual_seed(0)) + 0.5
    off = []
    for secret in range(200):
        a, b = sketch(torch.stack((one, other)), camps.signs(1, 5000, secret)[0])
        off.append(float(a @ b - one @ other) / float(one.norm() * other.norm()))
    assert abs(sum(off) / 200) < 4 / math.sqrt(SKETCH * 200)
    assert sum(abs(value) > 2 / math.sqrt(SKETCH) for value in off) <= 20


@given(seed=SEEDS, share=st.sampled_from([0.1, 0.7]))
def test_leanings_are_those_of_a_plain_loop(seed: int, share: float) -> None:
    """Where a tenth of the pairs count, only these are looked at."""
    rng = torch.Generator().manual_seed(seed)
    before = camps.begin(3, 4, 300)._replace(
        leaning=torch.randn(3, 5, SKETCH, generator=rng), felt=torch.rand(3, 5, generator=rng)
    )
    previous, learned = (torch.randn(3, 300, generator=rng) for _ in range(2))
    sent = torch.randn(4, 300, generator=rng) * torch.tensor([1.0, 10.0, 0.1, 1.0])[:, None]
    longest, felt = 5 + 30 * torch.rand(3, 1, generator=rng), torch.rand(3, 4, generator=rng) < share
    company = torch.tensor([[True], [False], [share > 0.5]])
    leaning, told = lean(before, previous, learned, sent, longest, felt, company)
    signs = before.signs[0]
    for i in range(3):
        for j in range(5):
            message = learned[i] if j == 4 else sent[j]
            counts = bool(company[i]) and (j == 4 or bool(felt[i, j]))
            push = sketch(message[None], signs)[0] - sketch(previous[i : i + 1], signs)[0]
            push *= min(1.0, float(longest[i]) / float(push.norm()))
            wanted = 0.98 * before.leaning[i, j] + 0.02 * push if counts else before.leaning[i, j]
            assert torch.allclose(leaning[i, j], wanted, atol=1e-4)
            assert float(told[i, j]) == pytest.approx(
                0.98 * float(before.felt[i, j]) + 0.02 if counts else float(before.felt[i, j]), abs=1e-6
            )


def test_a_lie_of_3e38_leaves_numbers() -> None:
    before = camps.begin(1, 2, 300)
    sent = torch.tensor([[3e38], [-3e38]]).expand(-1, 300)
    everybody = torch.ones(1, 2, dtype=torch.bool)
    leaning, _ = lean(
        before, torch.zeros(1, 300), torch.ones(1, 300), sent, torch.ones(1, 1), everybody, everybody[:, :1]
    )
    assert leaning.isfinite().all()
    assert leaning.norm(dim=2).max() <= 0.0201


def test_nothing_of_it_waits_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meta tensors have no values to look at; they are to be taken for a GPU's."""
    monkeypatch.setattr(camps, "few", lambda edges: False)
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    before = Leanings(*(value.to("meta") for value in camps.begin(5, 5, 600)))
    means, some = torch.zeros(5, 600, device="meta"), torch.ones(5, 5, dtype=torch.bool, device="meta")
    leaning, felt = lean(before, means, means, means, means[:, :1], some, some[:, :1])
    assert other_camp(leaning, felt, some, some, 0.75).shape == (5, 5)


def met(rounds: int, *, backdoor: Tensor, record: Record | None = None, senders: Tensor | None = None) -> Record:
    """Eight that hear each other, all as receivers; the last four push for one thing more.

    backdoor: [weight]. senders: as if messages came in another order.
    """
    rng, weights = torch.Generator().manual_seed(1), 400
    whose = torch.arange(8) if senders is None else senders
    everybody = torch.ones(8, 8, dtype=torch.bool)
    record = pushes.begin(8, 8, weights)._replace(heard=everybody, known=everybody) if record is None else record
    still, own = torch.zeros(8, weights), 0.3 * torch.randn(8, weights, generator=rng)
    for _ in range(rounds):
        learned = own + torch.randn(8, weights, generator=rng)
        learned[4:] += backdoor
        record = pushes.weigh(record, still, learned, learned, everybody, everybody, against=0.0, ahead=0.0)
        given = None if senders is None else whose
        record = pushes.part(record, still, learned, learned[whose], everybody, given, alike=0.75)
        record = pushes.move_on(record, still, still, everybody & (record.out == 0))
    return record


BACKDOOR = 2.0 * torch.randn(400, generator=torch.Generator().manual_seed(2))


def test_two_camps_part_and_come_together_again() -> None:
    """Noise thrice as long as what each wants for itself; what four of them want together is as long as the noise."""
    together = met(25, backdoor=BACKDOOR)
    assert not together.apart.any()
    apart = met(30, backdoor=BACKDOOR)
    wanted = torch.zeros(8, 8, dtype=torch.bool)
    wanted[:4, 4:] = wanted[4:, :4] = True
    assert torch.equal(apart.apart, wanted)
    assert apart.out[0].tolist() == [0] * 4 + [APART] * 4
    assert torch.equal(met(5, backdoor=BACKDOOR, record=apart).apart, wanted)
    assert not met(200, backdoor=0 * BACKDOOR, record=apart).apart.any()


def test_nobody_parts_where_nobody_lies() -> None:
    assert not met(60, backdoor=0 * BACKDOOR).apart.any()


@pytest.mark.parametrize("sparse", [False, True])
def test_messages_are_found_by_who_sent_them(sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    order = torch.tensor([3, 0, 7, 1, 6, 2, 5, 4])
    one = met(30, backdoor=BACKDOOR)
    monkeypatch.setattr(camps, "few", lambda edges: sparse)
    other = met(30, backdoor=BACKDOOR, senders=order)
    assert torch.equal(one.apart, other.apart)
    assert torch.allclose(one.leaning, other.leaning)


def test_a_verdict_goes_before_a_camp() -> None:
    record = pushes.begin(1, 3, 10)._replace(
        verdict=torch.tensor([[CLEARED, AGAINST, 0]], dtype=torch.uint8), apart=torch.ones(1, 3, dtype=torch.bool)
    )
    assert record.out.tolist() == [[APART, AGAINST, APART]]


def test_without_camps_nothing_is_kept() -> None:
    record = pushes.begin(3, 4, 1000, parts=False)
    assert record.leaning.numel() == record.signs.numel() == 0
    assert not record.out.any()


def test_seats_by_hand() -> None:
    """Seats of 3, nobody and 0; 3 is not heard now. 1, 2 and 4 lean anew: the empty seat, that of 3, and none."""
    hears = torch.tensor([[True, True, True, False, True]])
    seats = torch.tensor([[3, -1, 0]], dtype=torch.int32)
    felt = torch.tensor([[True, True, True, False, True]])
    assert camps.seated(seats, hears, felt).tolist() == [[2, 1, 0]]
    assert camps.seated(seats, hears, felt & False).tolist() == [[3, -1, 0]]


@given(seed=SEEDS)
def test_seats_are_those_of_a_plain_loop(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    seats = torch.stack([torch.randperm(9, generator=rng)[:4] for _ in range(5)]).int()
    seats[torch.rand(5, 4, generator=rng) < 0.3] = -1
    hears = torch.rand(5, 9, generator=rng) < 0.6
    felt = hears & (torch.rand(5, 9, generator=rng) < 0.6)
    wanted = seats.tolist()
    for row, mine in enumerate(wanted):
        waiting = [j for j in range(9) if felt[row, j] and j not in mine]
        unheard = [at for at, j in enumerate(mine) if j >= 0 and not hears[row, j]]
        for at, j in zip([at for at, j in enumerate(mine) if j < 0] + unheard, waiting, strict=False):
            mine[at] = j
    assert camps.seated(seats, hears, felt).tolist() == wanted


def parish(rounds: int) -> Record:
    """Two federations of eight, in each of which the last four push for a backdoor; nobody hears the other one."""
    rng, weights = torch.Generator().manual_seed(3), 400
    edges = torch.block_diag(torch.ones(8, 8), torch.ones(8, 8)).bool()
    record = pushes.begin(16, 16, weights)._replace(heard=edges, known=edges)
    still, own = torch.zeros(16, weights), 0.3 * torch.randn(16, weights, generator=rng)
    for _ in range(rounds):
        learned = own + torch.randn(16, weights, generator=rng)
        learned[4:8] += BACKDOOR
        learned[12:] += BACKDOOR
        record = pushes.weigh(record, still, learned, learned, edges, edges, against=0.0, ahead=0.0)
        record = pushes.part(record, still, learned, learned, edges, alike=0.75)
        record = pushes.move_on(record, still, still, edges & (record.out == 0))
    return record


def test_who_has_seats_for_all_that_it_hears_needs_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = parish(35)
    monkeypatch.setattr(camps, "ROOM", 0)
    monkeypatch.setattr(camps, "SEATS", 8)
    seated = parish(35)
    assert (whole.seats.shape, seated.seats.shape) == ((16, 0), (16, 8))
    assert seated.leaning.shape == (16, 9, SKETCH)
    assert torch.equal(seated.apart, whole.apart)
    assert seated.apart.sum() == 64
    for row in range(16):
        whose = [*seated.seats[row].tolist(), 16]
        assert torch.allclose(seated.leaning[row], whole.leaning[row, whose])
        assert torch.allclose(seated.felt[row], whole.felt[row, whose])


def test_a_new_sender_begins_with_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is not heard any more loses its seat to one that is, and what was known of it."""
    monkeypatch.setattr(camps, "ROOM", 0)
    monkeypatch.setattr(camps, "SEATS", 2)
    record = pushes.begin(1, 4, 10)._replace(heard=torch.ones(1, 4, dtype=torch.bool))
    still, told = torch.zeros(1, 10), torch.ones(4, 10)
    for heard in ([True, True, False, False], [True, False, False, True]):
        hears = torch.tensor([heard])
        record = pushes.weigh(record, still, told[:1], told, hears, hears, against=0.0, ahead=0.0)
        record = pushes.part(record, still, told[:1], told, hears, alike=0.75)
    assert record.seats.tolist() == [[0, 3]]
    assert record.felt[0].tolist() == pytest.approx([1 - 0.98**2, 0.02, 1 - 0.98**2])

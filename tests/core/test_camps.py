"""Camps: a case worked by hand, every step against plain loops, and what must not matter."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from surefed.core import camps, pushes
from surefed.core.camps import other_camp
from surefed.core.leanings import SKETCH, Leanings, begin, lean
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


def test_the_own_camp_is_the_one_whose_middle_is_nearer() -> None:
    """Nine of us and four liars that lean 2 together. Who leans 0.9 that way is one of us, who leans 1.1 is not.

    Seen from the middle of all, at 0.6 and 0.7, both lean as the liars do.
    """
    leanings = two_camps(9, 4, way=2.0)
    for way, wanted in ((0.9, [9, 10, 11, 12]), (1.1, list(range(1, 9)))):
        leanings[0, 0] = way
        assert judged(leanings, leanings[0], alike=0.6) == wanted


def test_how_far_one_is_that_was_apart_by_hand() -> None:
    """Three of us lean 1 each its own way, 3/2 in squares from the middle of the other two. Who leans 2 another way is
    4 + 1/3 in squares from our middle: as seen from there we are alike by 4.333 / (4.333 + 1.5) = 26/35.
    """
    leanings = axes({1: 1.0}, {2: 1.0}, {3: 1.0}, {4: 2.0})
    limit = 26 / 35 / camps.STAY
    assert judged(leanings, leanings[0], alike=limit - 1e-3, before=(3,)) == [3]
    assert judged(leanings, leanings[0], alike=limit + 1e-3, before=(3,)) == []
    assert judged(leanings, leanings[0], alike=limit - 1e-3) == []
    assert judged(leanings[1:], leanings[1], alike=limit - 1e-3, before=(2,)) == [], "two are too few to tell"


def test_a_camp_that_falls_out_among_itself_is_not_heard_for_it() -> None:
    """Four liars lean 3 each another way now; a fifth leans as little as we do, and is heard again."""
    leanings = axes(*({1 + at: 1.0} for at in range(5)), *({10 + at: 3.0} for at in range(4)), {20: 1.0})
    assert judged(leanings, leanings[0]) == []
    assert judged(leanings, leanings[0], before=(5, 6, 7, 8, 9)) == [5, 6, 7, 8]
    assert judged(leanings, leanings[0], before=(5, 6)) == [5, 6]


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
    """It counts as four times as long as what most reach, so it does not move the middle far."""
    leanings = torch.cat((two_camps(6, 6, way=4.0), axes({31: 50.0})))
    assert judged(leanings, leanings[0]) == [6, 7, 8, 9, 10, 11]


def test_who_hardly_leans_sees_camps_as_others_do() -> None:
    """Liars lean 4.1 and we 1. Were all of it cut to four times a twentieth, both camps would look half as alike."""
    leanings = two_camps(9, 6, way=4.0)
    assert judged(leanings, 0.05 * leanings[0]) == judged(leanings, leanings[0]) == list(range(9, 15))


@pytest.mark.parametrize(("quiet", "seen"), [(3, True), (9, False)])
def test_a_quarter_that_hardly_leans_makes_that_usual(quiet: int, seen: bool) -> None:
    """Nine that lean 1, six liars that lean 4.1; a receiver that hardly leans does not see them apart, others do."""
    leanings = torch.cat((two_camps(9, 6, way=4.0), 1e-3 * axes(*[{31: 1.0}] * quiet)))
    assert (judged(leanings, 0.05 * leanings[0]) == list(range(9, 15))) == seen
    assert judged(leanings, leanings[0]) == list(range(9, 15))


@pytest.mark.parametrize(("many", "wanted"), [(1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (20, 5)])
def test_what_most_reach_by_hand(many: int, wanted: int) -> None:
    """Of lengths 1, 2, 3, ..., and one that is not looked at."""
    lengths = torch.cat((torch.arange(1.0, many + 1).flip(0), torch.zeros(1)))[None]
    assert camps._most_reach(lengths, lengths > 0).item() == wanted


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


@given(seed=SEEDS, alike=st.sampled_from([0.5, 0.75]), before=st.sets(st.integers(0, 9)))
def test_it_is_what_plain_loops_find(seed: int, alike: float, before: set[int]) -> None:
    leanings, own = made(seed)
    wanted = plainly(leanings.tolist(), own.tolist(), alike, before)
    assert judged(leanings, own, alike=alike, before=tuple(before)) == wanted


def test_some_of_these_have_camps_and_some_have_none() -> None:
    found = [bool(judged(*made(seed))) for seed in range(40)]
    assert 5 < sum(found) < 35
    were = (0, 2, 4, 6)
    some = [judged(*made(seed), alike=0.95, before=were) for seed in range(40)]
    assert len({tuple(one) for one in some}) > 5, "some stay apart, others are heard again"


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_camps_part_in_a_captured_round_as_on_a_cpu() -> None:
    clients, weights, rng = 50, 9000, torch.Generator().manual_seed(0)
    leaning = torch.randn(clients, clients + 1, SKETCH, generator=rng)
    leaning[:, 30:50] += 3 * torch.randn(SKETCH, generator=rng)
    edges = torch.ones(clients, clients, dtype=torch.bool)
    told, longest = torch.ones(clients, clients + 1), torch.full((clients, 1), 30.0)
    record = pushes.begin(clients, clients, weights)
    record = record._replace(heard=edges, known=edges, leaning=leaning, felt=told, longest=longest)
    means = [torch.randn(clients, weights, generator=rng) for _ in range(3)]
    wanted = pushes.part(record, *means, edges, alike=0.75)
    assert wanted.apart.any()
    there, given = Record(*(value.cuda() for value in record)), [one.cuda() for one in (*means, edges)]
    played = pushes.part(there, *given, alike=0.75)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = pushes.part(there, *given, alike=0.75)
    graph.replay()
    torch.cuda.synchronize()
    for found in (played, captured):
        assert torch.equal(found.apart.cpu(), wanted.apart)
        torch.testing.assert_close(found.leaning.cpu(), wanted.leaning, rtol=1e-4, atol=1e-3)


def plainly(leanings: list[Vector], own: Vector, alike: float, before: set[int]) -> list[int]:
    """The same, number by number."""
    usual = sorted(math.sqrt(dot(one, one)) for one in leanings)[(len(leanings) - 1) // 4]
    most = camps.FAR * max(math.sqrt(dot(own, own)), usual)
    leanings = [[value * min(1.0, most / math.sqrt(dot(one, one))) for value in one] for one in leanings]
    middle = mean(leanings)
    unit = [unit_of(minus(one, middle)) for one in leanings]
    start, size = unit_of(minus(own, middle)), range(len(leanings))
    table = [[dot(one, other) for other in unit] for one in unit]
    weights = [dot(one, start) for one in unit]
    for _ in range(2**camps.SQUARINGS):
        weights = [dot(row, weights) for row in table]
        weights = unit_of(weights)
    score = [dot(row, weights) for row in table]
    order = sorted(size, key=lambda at: score[at])
    best, parts = 0.0, ([], [])
    for k in range(2, len(order) - 1):
        low, high = ([score[at] for at in part] for part in (order[:k], order[k:]))
        between = (sum(low) / len(low) - sum(high) / len(high)) ** 2 * len(low) * len(high)
        if between > best:
            best, parts = between, (order[:k], order[k:])
    itself = min(size, key=lambda at: square(minus(leanings[at], own)))
    away = [square(minus(own, mean([leanings[at] for at in part if at != itself]))) for part in parts]
    theirs = sorted(at for at in parts[int(away[0] < away[1])] if at != itself)
    ours = [at for at in size if at not in theirs]
    if min(len(ours), len(theirs)) >= camps.LEAST:
        together = min(cohesion(leanings, theirs, ours), cohesion(leanings, ours, theirs))
        if together >= (camps.STAY * alike if before else alike):
            return theirs
    ours = [at for at in size if at not in before]
    return [at for at in sorted(before) if stays(leanings, at, ours, sorted(before), camps.STAY * alike)]


def stays(leanings: list[Vector], one: int, ours: list[int], others: list[int], alike: float) -> bool:
    """Whether one that was in the other camp is so far from us, and nearer to them."""
    if len(ours) < camps.LEAST:
        return False

    def away(at: int, camp: list[int]) -> float:
        return square(minus(leanings[at], mean([leanings[other] for other in camp])))

    far, usual = away(one, ours), sum(away(at, [other for other in ours if other != at]) for at in ours) / len(ours)
    return away(one, others) < far and far / (far + usual) >= alike


def cohesion(leanings: list[Vector], camp: list[int], others: list[int]) -> float:
    """The mean cosine over the pairs of a camp, seen from the middle of the others."""
    middle = mean([leanings[at] for at in others])
    unit = {at: unit_of(minus(leanings[at], middle)) for at in camp}
    found = [dot(unit[one], unit[other]) for one in camp for other in camp if one < other]
    return sum(found) / len(found)


def dot(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def square(one: Vector) -> float:
    return dot(one, one)


def minus(one: Vector, other: Vector) -> Vector:
    return [a - b for a, b in zip(one, other, strict=True)]


def mean(rows: list[Vector]) -> Vector:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def unit_of(one: Vector) -> Vector:
    length = math.sqrt(dot(one, one))
    return [value / length for value in one]


def test_nothing_of_it_waits_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meta tensors have no values to look at; they are to be taken for a GPU's."""
    monkeypatch.setattr("surefed.core.leanings.few", lambda edges: False)
    monkeypatch.setattr("surefed.core.cuda._HERE", False)  # torch's path, which has to do without Triton
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    before = Leanings(*(value.to("meta") for value in begin(5, 5, 600)))
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
    monkeypatch.setattr("surefed.core.leanings.few", lambda edges: sparse)
    other = met(30, backdoor=BACKDOOR, senders=order)
    assert torch.equal(one.apart, other.apart)
    assert torch.allclose(one.leaning, other.leaning)


def test_a_verdict_goes_before_a_camp() -> None:
    record = pushes.begin(1, 3, 10)._replace(
        verdict=torch.tensor([[CLEARED, AGAINST, 0]], dtype=torch.uint8), apart=torch.ones(1, 3, dtype=torch.bool)
    )
    assert record.out.tolist() == [[APART, AGAINST, APART]]


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
    monkeypatch.setattr("surefed.core.leanings.ROOM", 0)
    monkeypatch.setattr("surefed.core.leanings.SEATS", 8)
    seated = parish(35)
    assert (whole.seats.shape, seated.seats.shape) == ((16, 0), (16, 8))
    assert seated.leaning.shape == (16, 9, SKETCH)
    assert torch.equal(seated.apart, whole.apart)
    assert seated.apart.sum() == 64
    for row in range(16):
        whose = [*seated.seats[row].tolist(), 16]
        assert torch.allclose(seated.leaning[row], whole.leaning[row, whose])
        assert torch.allclose(seated.felt[row], whole.felt[row, whose])

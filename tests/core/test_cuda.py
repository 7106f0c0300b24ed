"""The kernels for GPUs give what torch gives: on the GPU where there is one, else interpreted where Triton is."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch import Tensor

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed; it comes with torch's CUDA builds")

from surefed.core import (
    STD_MAX,
    STD_MIN,
    Belief,
    Stream,
    camps,
    headings,
    introspect,
    leanings,
    measure,
    pool,
    pool_within,
)
from surefed.core.cuda import camps as camps_there
from surefed.core.cuda import edges as along
from surefed.core.cuda import heading, noise, pooling, pushes
from surefed.core.cuda import leanings as leanings_there
from surefed.core.cuda.mixing import mix as mix_there
from surefed.core.cuda.repair import repair
from surefed.core.cuda.trimming import trimmed as trimmed_there
from surefed.core.pushes import AGAINST, AHEAD, CLEARED, Record, _weigh_there, begin, weigh
from surefed.core.robust import half, mix, trimmed

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RECEIVERS, SENDERS, WEIGHTS = 5, 11, 700


@pytest.fixture(autouse=True)
def _loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Triton 3.6's interpreter loop to a number that a kernel has read, which numpy 2.4 makes it refuse."""
    if DEVICE == "cuda":
        return
    from triton.runtime import interpreter

    before = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        before(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    monkeypatch.setattr(interpreter, "_patch_lang_tensor", patched)


@pytest.fixture(params=["all pairs", "along edges"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways through the pairs, whatever their number."""
    most = 1 << 14 if request.param == "all pairs" else 0
    monkeypatch.setattr(along, "DENSE", most)
    monkeypatch.setattr(pooling, "DENSE", most)
    monkeypatch.setattr(along, "STEPS", 2)


def scene() -> tuple[Belief, Belief, Tensor]:
    """Receivers, senders with stds from one end of the range to the other, and who hears whom: one hears nobody."""
    rng = torch.Generator().manual_seed(0)
    local = Belief(torch.randn(RECEIVERS, WEIGHTS, generator=rng), torch.randn(RECEIVERS, WEIGHTS, generator=rng))
    sent = Belief(torch.randn(SENDERS, WEIGHTS, generator=rng), 4 * torch.randn(SENDERS, WEIGHTS, generator=rng) - 3)
    sent.rho[:, :5] = torch.tensor([-40.0, -13.8, 0.0, 9.9, 300.0])
    edges = torch.rand(RECEIVERS, SENDERS, generator=rng) < 0.7
    edges[2] = False
    return local, sent, edges


@pytest.mark.usefixtures("form")
def test_who_is_inside_is_what_torch_finds() -> None:
    local, sent, edges = scene()
    width = torch.full_like(local.mean, 20.0)
    inside = measure(local, width, sent.mean).excess <= 0
    assert bool(inside.all())
    for sender, weight, value in ((0, 0, 30.0), (3, WEIGHTS - 1, -30.0), (7, 350, torch.nan), (10, 513, torch.inf)):
        sent.mean[sender, weight] = value
    width[1, 350] = torch.inf  # a NaN is outside of even that
    width[4, 0] = torch.inf
    expected = edges & (measure(local, width, sent.mean).excess <= 0)
    found = along.inspect(*(value.to(DEVICE) for value in (local.mean, width, sent.mean, edges)))
    assert torch.equal(found.cpu(), expected)
    assert bool(found[4, 0]) == bool(edges[4, 0])
    assert not found[:, [3, 7, 10]].any()


def test_what_leaves_the_band_is_put_back_as_torch_does() -> None:
    local, sent, _ = scene()
    social = Belief(sent.mean[:RECEIVERS], sent.rho[:RECEIVERS])
    social.mean[0, 3] = torch.nan  # not outside of anything, and left to the next round's inspection
    width, active = torch.full_like(local.mean, 0.7), torch.tensor([True, True, False, True, True])
    expected, count = introspect(social, local, width, active)
    given = (value.to(DEVICE) for value in (social.mean, local.mean, width, active))
    repaired, found = repair(*given)
    assert torch.equal(found.cpu(), count)
    assert count[2] == 0
    assert (count[active] > 0).all()
    torch.testing.assert_close(repaired.cpu(), expected.mean, equal_nan=True, rtol=0.0, atol=0.0)


def test_headings_are_those_of_torch() -> None:
    local, sent, edges = scene()
    start = 0.1 * local.mean[0]
    local.rho[:, 9] = torch.inf  # does not count
    sent.mean[3] = start  # has not moved
    expected = headings(local, start, sent.mean, edges)
    given = tuple(value.to(DEVICE) for value in (local.mean, local.rho, start, sent.mean))
    together, theirs, mine = (value.cpu() for value in heading.all_pairs(*given))
    cosine = torch.where(theirs > 0, together / (mine * theirs).sqrt(), 0.0)
    torch.testing.assert_close(cosine, expected, rtol=1e-4, atol=1e-5)
    receiver, sender = edges.nonzero().T
    together, theirs, mine = (
        value.cpu() for value in heading.each_pair(*given, receiver.to(DEVICE), sender.to(DEVICE))
    )
    cosine = torch.where(theirs > 0, together / (mine * theirs).sqrt(), 0.0)
    torch.testing.assert_close(cosine, expected[receiver, sender], rtol=1e-4, atol=1e-5)


def test_rows_with_a_number_that_is_none_are_found() -> None:
    _, sent, _ = scene()
    sent.mean[1, 0], sent.mean[4, WEIGHTS - 1], sent.rho[6, 350], sent.mean[8] = torch.nan, torch.inf, -torch.inf, 3e38
    expected = torch.ones(SENDERS, dtype=torch.bool)
    expected[[1, 4, 6]] = False
    assert torch.equal(along.finite(sent.mean.to(DEVICE), sent.rho.to(DEVICE)).cpu(), expected)


@pytest.mark.usefixtures("form")
def test_the_pool_is_that_of_torch() -> None:
    local, sent, trust = scene()
    sent.mean[:, 7] *= 1e30
    expected = pool(
        Belief(sent.mean.double(), sent.rho.double()), trust, Belief(local.mean.double(), local.rho.double())
    )
    sent.mean[4], trust[:, 4] = torch.nan, False  # nobody hears it, so it must not matter
    kept = pool(Belief(sent.mean.nan_to_num().double(), sent.rho.double()), trust, local)
    given = [value.to(DEVICE) for value in (sent.mean, sent.rho, trust, local.mean, local.rho)]
    mean, rho = pooling.pool(*given[:3], (given[3], given[4]), STD_MIN, STD_MAX)
    assert not torch.allclose(kept.mean.double(), expected.mean)
    scale = sent.mean.nan_to_num().abs().amax(0)
    assert ((mean.cpu() - kept.mean).abs() / scale).max() < 1e-5
    torch.testing.assert_close(rho.cpu(), kept.rho.float(), rtol=1e-5, atol=1e-5)
    assert torch.equal(mean[2].cpu(), local.mean[2])
    assert torch.equal(rho[2].cpu(), local.rho[2])


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("floor", "ceiling"), [(1.0, None), (0.0, 2.0), (0.5, 1.5)])
def test_the_pool_within_bounds_is_that_of_torch(floor: float, ceiling: float | None) -> None:
    local, sent, trust = scene()
    sent.mean[4], trust[:, 4] = torch.nan, False
    exact = [Belief(value.mean.double(), value.rho.double()) for value in (sent, local, local)]
    expected = pool_within(exact[0], trust, *exact[1:], floor=floor, ceiling=ceiling)
    given = [value.to(DEVICE) for value in (sent.mean, sent.rho, trust, local.mean, local.rho)]
    within = given[4], floor, torch.inf if ceiling is None else ceiling
    mean, rho = pooling.pool(*given[:3], (given[3], given[4]), STD_MIN, STD_MAX, within)
    torch.testing.assert_close(mean.cpu(), expected.mean.float(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(rho.cpu(), expected.rho.float(), rtol=1e-4, atol=1e-4)
    free, _ = pooling.pool(*given[:3], (given[3], given[4]), STD_MIN, STD_MAX)
    assert not torch.allclose(mean, free, atol=1e-3), "the bounds must have mattered"


def test_random_numbers_are_those_of_torch() -> None:
    stream = Stream(3, "noise", range(3))
    keys = tuple(key.to(DEVICE) for key in stream.keys)
    round = torch.tensor([9], device=DEVICE)  # as a captured round has it
    assert torch.equal(noise.bits(keys, 700, round, 70_000).cpu(), stream.bits(700, round=9, draw=70_000))
    torch.testing.assert_close(noise.normal(keys, 700, 9, 5).cpu(), stream.normal(700, round=9, draw=5))


@pytest.mark.parametrize("senders", [SENDERS, 20])
def test_a_trimmed_mean_is_what_torch_makes_of_the_sorted(senders: int) -> None:
    rng = torch.Generator().manual_seed(1)
    values = torch.randn(senders, 30, generator=rng)
    values[:4, :10] = 0.5  # of equals it does not matter who is dropped
    values[7], values[2, 11] = 1e6, -1e6
    edges = torch.rand(RECEIVERS, senders, generator=rng) < 0.7
    edges[2] = False
    own = torch.randn(RECEIVERS, 30, generator=rng)
    for drop in (torch.zeros(RECEIVERS, dtype=torch.int64), torch.tensor([1, 2, 0, 2, 1]), half(edges)):
        expected = trimmed(values, edges, drop, own)
        found = trimmed_there(*(value.to(DEVICE) for value in (values, edges, drop, own))).cpu()
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
    assert torch.equal(found[2], own[2])


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # of the interpreter, for the 1e20
@pytest.mark.parametrize("far", [0.0, 1e4])
@pytest.mark.parametrize("clients", [64, 4])
def test_products_of_pushes_are_those_of_plain_sums(clients: int, far: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if clients < 16 and DEVICE == "cuda":
        clients = 16  # the least that tensor cores take
    monkeypatch.setattr(pushes, "CLIENTS", clients)
    monkeypatch.setattr(pushes, "LENGTH", 256)
    monkeypatch.setattr(pushes, "LANES", 128)
    rng = torch.Generator().manual_seed(1)
    course, pull, before, after = (torch.randn(RECEIVERS, WEIGHTS, generator=rng) for _ in range(4))
    sent = torch.randn(SENDERS, WEIGHTS, generator=rng) + 30.0
    sent[3] = 1e20  # squares that no float32 holds are its own affair
    before, after = before + 30.0, after + 30.0
    before[0] += far  # and so is where one receiver is
    given = (value.to(DEVICE) for value in (course, pull, before, after, sent))
    fresh, pairs, alone = (value.cpu() for value in pushes.products(*given, 0.9))
    course, pull, before, after, sent = (value.double() for value in (course, pull, before, after, sent))
    own = after - before
    drawn = 0.9 * pull + 0.1 * own
    push = sent[None] - before[:, None]  # [receiver, sender, weight]
    torch.testing.assert_close(fresh[1:].double(), drawn[1:], rtol=1e-6, atol=1e-6)
    for found, way in zip(pairs, (course[:, None], drawn[:, None], push), strict=True):
        sound = torch.arange(SENDERS) != 3
        torch.testing.assert_close(found[1:, sound], (way * push).sum(2)[1:, sound], rtol=1e-4, atol=5e-3)
    wanted = [(one * other).sum(1) for one, other in ((course, own), (drawn, own), (own, own))]
    wanted += [(one * other).sum(1) for one, other in ((course, course), (drawn, drawn), (course, drawn))]
    torch.testing.assert_close(alone[:, 1:], torch.stack(wanted)[:, 1:], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("limits", [(0.5, 3.0, 0.03), (0.0, 3.0, 0.0), (0.5, 0.0, 0.0)])
def test_verdicts_are_those_of_torch(limits: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.core.cuda._HERE", False)  # else torch would not be asked on a GPU
    rng = torch.Generator().manual_seed(2)
    clients, weights = 40, 4096

    def table(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(clients, clients + 1, generator=rng)

    def some(share: float) -> Tensor:
        return torch.rand(clients, clients, generator=rng) < share

    course, pull, previous, own = (torch.randn(clients, weights, generator=rng) for _ in range(4))
    own += torch.where(torch.rand(clients, 1, generator=rng) < 0.5, course, pull)
    sent = previous.mean(0) + torch.randn(clients, weights, generator=rng) * 10 ** torch.rand(clients, 1, generator=rng)
    weight = table(0.5, 2.0)
    along, seen = weight * table(-0.4, 0.6), table(0.2, 1.0)
    seen[:, -1] = 1.0
    along[:, -1] = along[:, -1].abs()
    along[:10, -1] *= 0.02  # next to nothing of their own: nobody is judged
    verdict = torch.tensor([0, CLEARED, AGAINST, AHEAD], dtype=torch.uint8)[
        torch.multinomial(torch.tensor([0.4, 0.5, 0.08, 0.02]), clients**2, replacement=True, generator=rng)
    ].view(clients, clients)
    verdict[:20] = verdict[:20].masked_fill(verdict[:20] == AHEAD, 0)
    along[20:] *= 0.1  # else somebody is ahead everywhere
    along[20:, -1] += 0.3
    along[35:, -1], along[35:, 5], seen[35:, 5], verdict[35:, 5] = 0.2 * weight[35:, -1], weight[35:, 5], 1.0, 0
    heard = some(0.8)
    heard[3] = False
    record = begin(clients, clients, weights)._replace(
        course=course, pull=pull, longest=5 * torch.rand(clients, 1, generator=rng), along=along, pulled=table(-1, 1),
        weight=weight, seen=seen, heard=heard, known=heard | some(0.1), verdict=verdict,
    )  # fmt: skip
    record, previous, learned, sent, edges, fit = (
        Record(*(value.to(DEVICE) for value in one)) if isinstance(one, Record) else one.to(DEVICE)
        for one in (record, previous, previous + own, sent, some(0.9), some(0.9))
    )
    options = dict(zip(("against", "ahead", "adrift"), limits, strict=True))
    wanted = weigh(record, previous, learned, sent, edges, fit, **options)
    found = _weigh_there(record, previous, learned, sent, edges, fit, limits)
    assert torch.equal(found.verdict, wanted.verdict)
    for name, mine, theirs in zip(Record._fields, found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=2e-4, atol=2e-5, msg=lambda text, name=name: f"{name}: {text}")
    changed = wanted.verdict[wanted.verdict != record.verdict]
    asked = {CLEARED} | ({AGAINST} if limits[0] else set()) | ({AHEAD} if limits[1] else set())
    assert set(changed.tolist()) == asked


@pytest.mark.parametrize(("receivers", "senders"), [(1, 3), (17, 5), (16, 20)])
def test_a_mix_is_that_of_float64(receivers: int, senders: int) -> None:
    """One keep for all receivers, or one each; large numbers that cancel are summed as in float64."""
    rng = torch.Generator().manual_seed(0)
    own, sent = torch.randn(receivers, 131, generator=rng), torch.randn(senders, 131, generator=rng)
    sent[0], sent[1] = sent[0] + 1e7, sent[1] - 1e7
    weight = torch.rand(receivers, senders, generator=rng, dtype=torch.float64)
    weight[:, 1] = weight[:, 0]
    for keep in (1.0 - weight.sum(1, keepdim=True), torch.tensor([[0.25]], dtype=torch.float64)):
        expected = mix(own, sent, keep, weight)
        found = mix_there(*(value.to(DEVICE) for value in (own, sent, keep, weight))).cpu()
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("senders", [3, 10, 40])
def test_camps_are_those_that_torch_finds(senders: int) -> None:
    """Some receivers see two camps and some none; some were in two before; one looks at nobody, one leans hardly."""
    rng = torch.Generator().manual_seed(senders)
    receivers = 24
    leaning = torch.randn(receivers, senders + 1, 256, generator=rng)
    lean = torch.rand(receivers, senders + 1, 1, generator=rng) < 0.5
    way = 0.4 * torch.arange(receivers)[:, None, None] / receivers
    leaning += lean * way * 16 * torch.randn(receivers, 1, 256, generator=rng)
    leaning[7, -1] *= 0.01
    leaning[8, 1] *= 100.0
    leaning[9, :2] = leaning[9, 2]
    leaning[10:12] = 3e5 * torch.randn(2, 1, 256, generator=rng) + leaning[1:3]  # far from 0, and near to each other
    felt = 0.3 + 0.7 * torch.rand(receivers, senders + 1, generator=rng)
    felt[::2] = 1.0
    known = torch.rand(receivers, senders, generator=rng) < 0.9
    known[0], apart = False, torch.rand(receivers, senders, generator=rng) < 0.3
    apart[::3] = False
    felt[5], leaning[5] = 0.0, 0.0
    expected = camps.parted(leaning, felt, known, apart)
    given = (value.to(DEVICE) for value in (leaning, felt, known, apart))
    theirs, together, far = (value.cpu() for value in camps_there.parted(*given, camps.TERMS))
    assert torch.equal(theirs, expected[0])
    torch.testing.assert_close(together, expected[1], rtol=1e-3, atol=1e-6)
    torch.testing.assert_close(far, expected[2], rtol=1e-3, atol=1e-6)
    if senders > 3:
        assert 3 < int((together > 0.75).sum()) < receivers
        assert (far > 0.6).any()


@pytest.mark.parametrize("weights", [1, 255, 256, 700, 13000, 130000])
def test_sketches_are_those_of_torch(weights: int) -> None:
    rng = torch.Generator().manual_seed(0)
    means, signs = torch.randn(6, weights, generator=rng), leanings.signs(1, weights)[0]
    means[1, 0], means[2, weights - 1], means[3, 0], means[4, 0] = torch.nan, torch.inf, -3e38, 1e16
    found = leanings_there.sketch(means.to(DEVICE), signs.to(DEVICE), leanings.SKETCH, leanings.HUGE).cpu()
    torch.testing.assert_close(found, leanings.sketch(means, signs), rtol=1e-5, atol=1e-5)
    assert found[1, 0] == 0
    assert (found[3:5, 0].abs() == torch.tensor(leanings.HUGE)).all()


@pytest.mark.parametrize("ordered", [True, False])
def test_everybody_leans_as_in_torch(ordered: bool) -> None:
    rng = torch.Generator().manual_seed(0)
    before = leanings.begin(RECEIVERS, SENDERS, WEIGHTS)
    before = before._replace(
        leaning=torch.randn(before.leaning.shape, generator=rng), felt=torch.rand(5, 12, generator=rng)
    )
    previous, learned = torch.randn(2, RECEIVERS, WEIGHTS, generator=rng)
    sent = torch.randn(SENDERS, WEIGHTS, generator=rng)
    sent[4] = previous[1]  # no push at all
    longest = torch.tensor([[5.0], [0.1], [100.0], [0.0], [37.0]])
    felt, company = torch.rand(RECEIVERS, SENDERS, generator=rng) < 0.8, torch.tensor([[True]] * 4 + [[False]])
    places = None if ordered else torch.stack([torch.randperm(SENDERS, generator=rng) for _ in range(RECEIVERS)])
    given = (previous, learned, sent, longest, felt, company)
    leaning, told = leanings.lean(before, *given, places)
    sketches = tuple(leanings.sketch(means, before.signs[0]).to(DEVICE) for means in (previous, learned, sent))
    counts = torch.cat((felt & company, company), 1).to(DEVICE)
    there = None if places is None else places.to(DEVICE)
    old = before.leaning.to(DEVICE), before.felt.to(DEVICE)
    found = leanings_there.lean(*old, sketches, longest.to(DEVICE), counts, there, leanings.MEMORY)
    torch.testing.assert_close(found[0].cpu(), leaning, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found[1].cpu(), told)
    assert torch.equal(found[0][4].cpu(), before.leaning[4])

"""The kernels give what torch gives; where no compiler is found, these are skipped and torch does all the work."""

from __future__ import annotations

import ctypes
import stat
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefed.core import Belief, Stream, band, confidence_set, headings, inside, introspect, measure, native, pool
from surefed.core.felt import felt
from surefed.core.native import build

needs_compiler = pytest.mark.skipif(native.library() is None, reason="no C compiler on this machine")


@pytest.fixture
def torch_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefed.core.native.edges.library", lambda: None)


def beliefs(seed: int, rows: int, weights: int) -> Belief:
    rng = torch.Generator().manual_seed(seed)
    return Belief(torch.randn(rows, weights, generator=rng), 3 * torch.randn(rows, weights, generator=rng) - 3)


@needs_compiler
@pytest.mark.parametrize("count", [1, 255, 256, 257, 5000])
def test_noise_is_that_of_the_streams(count: int) -> None:
    library = native.library()
    assert library is not None
    library.normal.argtypes = [ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_uint32] * 4]
    stream = Stream(3, "noise", ["a", "b"])
    ours = torch.empty(2, count)
    for row in range(2):
        words = (int(key[row]) for key in stream.keys)
        library.normal(ours[row].data_ptr(), count, 5, 70_000, *words)
    assert torch.allclose(ours, stream.normal(count, round=70_000, draw=5), atol=2e-6)


@needs_compiler
@given(seed=st.integers(0, 2**20), weights=st.sampled_from([1, 7, 16, 1000, 5000]), kappa=st.floats(0, 30))
def test_inspection_is_exact(seed: int, weights: int, kappa: float) -> None:
    local, sent = beliefs(seed, 4, weights), beliefs(seed + 1, 6, weights)
    sent = Belief(local.mean[[0, 1, 2, 3, 0, 1]] + 0.3 * sent.mean, sent.rho)
    edges = torch.rand(4, 6, generator=torch.Generator().manual_seed(seed)) < 0.7
    width = band(local, kappa)
    gap = (local.mean[:, None] - sent.mean[None]).abs()
    assert torch.equal(inside(local, width, sent.mean, edges), edges & (gap <= width[:, None]).all(-1))


@needs_compiler
@pytest.mark.parametrize("at", [0, 1, 2047, 2048, 4999])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, 1e30])
def test_one_bad_weight_anywhere_is_seen(at: int, value: float) -> None:
    local = beliefs(0, 2, 5000)
    means = local.mean[[0, 0, 1]].clone()
    means[1, at] = value
    edges = torch.ones(2, 3, dtype=torch.bool)
    wide = torch.full_like(local.mean, 1e6)
    assert inside(local, wide, means, edges).tolist() == [[True, False, True]] * 2


@needs_compiler
@given(seed=st.integers(0, 2**20), weights=st.sampled_from([1, 7, 1024, 3000]))
def test_a_survey_is_that_of_torch(seed: int, weights: int) -> None:
    local, sent = beliefs(seed, 4, weights), beliefs(seed + 1, 5, weights)
    width = band(local, 4.0)
    ours = native.survey(local.mean, width, local.std, sent.mean)
    gap = (local.mean[:, None] - sent.mean[None]).abs()
    ratio = gap / local.std[:, None]
    assert torch.equal(ours[0], (gap - width[:, None]).amax(-1))
    assert torch.equal(ours[1], (gap > width[:, None]).sum(-1))
    assert torch.equal(ours[2], ratio.argmax(-1))
    assert torch.equal(ours[3], ratio.amax(-1))


@needs_compiler
def test_a_nan_is_surveyed_as_never_inside() -> None:
    local, means = beliefs(0, 2, 3000), beliefs(1, 3, 3000).mean
    means[1, 2000] = torch.nan
    distances = measure(local, band(local, 1e6), means, detail=True)
    assert distances.excess.isnan().tolist() == [[False, True, False]] * 2
    assert not confidence_set(distances, torch.ones(2, 3, dtype=torch.bool), 3000, 0.5)[:, 1].any()


def moved(seed: int, weights: int) -> tuple[torch.Tensor, ...]:
    """Course, pull and the mean before and after a round of 5 receivers, what 7 others sent, and who hears whom."""
    rng = torch.Generator().manual_seed(seed)
    course, pull, previous = (torch.randn(5, weights, generator=rng) for _ in range(3))
    learned = previous + 0.1 * torch.randn(5, weights, generator=rng)
    sent = previous[[0, 1, 2, 3, 4, 0, 1]] + 0.1 * torch.randn(7, weights, generator=rng)
    return course, pull, previous, learned, sent, torch.rand(5, 7, generator=rng) < 0.8


@needs_compiler
@given(seed=st.integers(0, 2**20), weights=st.sampled_from([1, 7, 8, 16, 1023, 1024, 1025, 3000]))
def test_headings_are_those_of_torch(seed: int, weights: int) -> None:
    local, sent = beliefs(seed, 4, weights), beliefs(seed + 1, 7, weights)
    start, edges = beliefs(seed + 2, 1, weights).mean[0], torch.ones(4, 7, dtype=torch.bool)
    found = headings(local, start, sent.mean, edges)
    way = (local.mean - start).double() / local.std.double()
    gone = (sent.mean - start).double()[None] / local.std.double()[:, None]
    wanted = torch.nn.functional.cosine_similarity(way[:, None], gone, dim=2, eps=0)
    assert torch.allclose(found, wanted, atol=1e-5)
    few = torch.zeros_like(edges)
    few[1, 5] = few[3, 2] = True
    assert torch.equal(headings(local, start, sent.mean, few)[few], found[few])  # whoever else is looked at


@needs_compiler
@given(seed=st.integers(0, 2**20), weights=st.sampled_from([1, 7, 8, 16, 1023, 1024, 1025, 3000]))
def test_pushes_are_those_of_torch(seed: int, weights: int) -> None:
    *given, edges = moved(seed, weights)
    ours = felt(*given, edges)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surefed.core.native.edges.library", lambda: None)
        theirs = felt(*given, edges)
    for one, other in zip(ours, theirs, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)
    alone = felt(*(value[2:3] for value in given[:4]), given[4], edges[2:3])
    for one, other in zip(ours, alone, strict=True):
        assert torch.equal(one[2:3], other)  # a receiver alone finds what it finds among others


@needs_compiler
@given(seed=st.integers(0, 2**20), weights=st.sampled_from([1, 7, 16, 1000]))
def test_introspection_puts_back_what_is_outside(seed: int, weights: int) -> None:
    social, local = beliefs(seed, 4, weights), beliefs(seed + 1, 4, weights)
    social.mean[0, 0] = torch.nan
    width, awake = band(local, 20.0), torch.tensor([True, True, False, True])
    repaired, count = introspect(social, local, width, awake)
    outside = ((local.mean - social.mean).abs() > width) & awake[:, None]
    assert torch.equal(repaired.mean.nan_to_num(7.0), torch.where(outside, local.mean, social.mean).nan_to_num(7.0))
    assert torch.equal(repaired.rho, social.rho)
    assert torch.equal(count, outside.sum(1))


@needs_compiler
@given(seed=st.integers(0, 2**20), weights=st.sampled_from([1, 127, 128, 129, 1000]))
def test_pooling_is_the_definition(seed: int, weights: int) -> None:
    sent, own = beliefs(seed, 6, weights), beliefs(seed + 1, 5, weights)
    trust = torch.rand(5, 6, generator=torch.Generator().manual_seed(seed)) < 0.5
    trust[2], trust[3] = False, trust[4]  # one that trusts nobody, two that trust the same
    found = pool(sent, trust, otherwise=own)
    for i in range(5):
        if not trust[i].any():
            assert torch.equal(found.mean[i], own.mean[i])
            assert torch.equal(found.rho[i], own.rho[i])
            continue
        precision = sent.std[trust[i]].double().clamp(1e-6, 10).square().reciprocal()
        mean = (precision * sent.mean[trust[i]].double()).sum(0) / precision.sum(0)
        assert torch.allclose(found.mean[i].double(), mean, atol=1e-6)
        assert torch.allclose(found.std[i].double(), precision.mean(0).rsqrt(), rtol=2e-6)


def test_without_kernels_torch_does_the_same(torch_only: None) -> None:
    assert not native.fits(torch.zeros(1))
    local, sent = beliefs(0, 4, 500), beliefs(1, 5, 500)
    edges = torch.ones(4, 5, dtype=torch.bool)
    width = band(local, 50.0)
    assert torch.equal(inside(local, width, sent.mean, edges), (measure(local, width, sent.mean).excess <= 0))
    assert pool(sent, edges, otherwise=local).finite().all()


def test_a_machine_without_a_compiler_has_no_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    build.library.cache_clear()
    try:
        assert build.library() is None
        monkeypatch.setenv("CC", "false")  # a compiler that fails
        build.library.cache_clear()
        assert build.library() is None
    finally:
        monkeypatch.undo()
        build.library.cache_clear()


@needs_compiler
def test_compiled_code_is_kept_where_only_its_owner_writes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    build.library.cache_clear()
    try:
        assert build.library() is not None
        (compiled,) = (tmp_path / "surefed" / "native").iterdir()
        assert compiled.suffix == ".so"
        assert not compiled.parent.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        before = compiled.stat().st_mtime_ns
        build.library.cache_clear()
        assert build.library() is not None
        assert compiled.stat().st_mtime_ns == before  # compiled once
        compiled.parent.chmod(0o777)
        build.library.cache_clear()
        assert build.library() is None
    finally:
        monkeypatch.undo()
        build.library.cache_clear()

"""Shared by all tests: one thread a process, so that tests run side by side without fighting for cores."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

from surefed import Belief

torch.set_num_threads(1)
settings.register_profile("surefed", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("surefed")


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def beliefs(rng: torch.Generator) -> Belief:
    """Six clients with thirteen weights."""
    return Belief(torch.randn(6, 13, generator=rng), torch.randn(6, 13, generator=rng) - 2)

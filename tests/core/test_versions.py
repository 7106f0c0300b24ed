"""With what a record was made."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest
import torch

import surefed
from surefed.core.versions import versions


def test_they_are_those_of_what_is_installed() -> None:
    found = versions()
    assert found["surefed"] == surefed.__version__ == importlib.metadata.version("surefed")
    assert (found["torch"], found["numpy"]) == (torch.__version__, np.__version__)


def test_a_checkout_need_not_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert versions()["surefed"] == surefed.__version__

"""With what a record was made; asked of the modules themselves, so that a checkout need not be installed."""

from __future__ import annotations

import platform

import numpy
import torch

__version__ = "0.1.0"


def versions() -> dict[str, str]:
    """The versions of SureFED and of what its results depend on."""
    return {
        "surefed": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": numpy.__version__,
    }

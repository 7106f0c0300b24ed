"""Beliefs, their algebra, trust, and named randomness; imports nothing else of SureFED."""

from surefed.core import pushes
from surefed.core.belief import RHO_MAX, RHO_MIN, STD_MAX, STD_MIN, Belief, rho_of, stack
from surefed.core.errors import (
    ConfigError,
    DataError,
    IdentityError,
    Interrupted,
    NetworkError,
    RecordError,
    StorageError,
    SureFEDError,
)
from surefed.core.gaussian import kl, pool, pool_within, sample
from surefed.core.heading import headings, own_heading
from surefed.core.pushes import Record
from surefed.core.streams import Round, Stream, generator
from surefed.core.trust import FAULTS, Distances, Scope, band, confidence_set, inside, introspect, measure

__all__ = [
    "FAULTS",
    "RHO_MAX",
    "RHO_MIN",
    "STD_MAX",
    "STD_MIN",
    "Belief",
    "ConfigError",
    "DataError",
    "Distances",
    "IdentityError",
    "Interrupted",
    "NetworkError",
    "Record",
    "RecordError",
    "Round",
    "Scope",
    "StorageError",
    "Stream",
    "SureFEDError",
    "band",
    "confidence_set",
    "generator",
    "headings",
    "inside",
    "introspect",
    "kl",
    "measure",
    "own_heading",
    "pool",
    "pool_within",
    "pushes",
    "rho_of",
    "sample",
    "stack",
]

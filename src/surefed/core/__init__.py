"""Beliefs, their algebra, trust, and named randomness; imports nothing else of SureFED."""

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
from surefed.core.heading import Ways, own_way, ways
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
    "RecordError",
    "Round",
    "Scope",
    "StorageError",
    "Stream",
    "SureFEDError",
    "Ways",
    "band",
    "confidence_set",
    "generator",
    "inside",
    "introspect",
    "kl",
    "measure",
    "own_way",
    "pool",
    "pool_within",
    "rho_of",
    "sample",
    "stack",
    "ways",
]

"""Beliefs, their algebra, trust, and named randomness; imports nothing else of SureFED."""

from surefed.core.belief import RHO_MAX, RHO_MIN, STD_MAX, STD_MIN, Belief, rho_of, stack
from surefed.core.errors import ConfigError, DataError, Interrupted, RecordError, StorageError, SureFEDError
from surefed.core.gaussian import kl, pool, pool_within, sample
from surefed.core.streams import Stream, generator
from surefed.core.trust import Distances, Scope, band, confidence_set, inside, introspect, measure

__all__ = [
    "RHO_MAX",
    "RHO_MIN",
    "STD_MAX",
    "STD_MIN",
    "Belief",
    "ConfigError",
    "DataError",
    "Distances",
    "Interrupted",
    "RecordError",
    "Scope",
    "StorageError",
    "Stream",
    "SureFEDError",
    "band",
    "confidence_set",
    "generator",
    "inside",
    "introspect",
    "kl",
    "measure",
    "pool",
    "pool_within",
    "rho_of",
    "sample",
    "stack",
]

"""SureFED: peer-to-peer federated learning that stays right when most of the network is hostile."""

from surefed.core import Belief, ConfigError, DataError, Interrupted, RecordError, StorageError, SureFEDError
from surefed.core.versions import __version__
from surefed.data import Dataset, Federation, cut, federation
from surefed.records import Record, read
from surefed.report import plot
from surefed.sim import Experiment, Run, run

__all__ = [
    "Belief",
    "ConfigError",
    "DataError",
    "Dataset",
    "Experiment",
    "Federation",
    "Interrupted",
    "Record",
    "RecordError",
    "Run",
    "StorageError",
    "SureFEDError",
    "__version__",
    "cut",
    "federation",
    "plot",
    "read",
    "run",
]

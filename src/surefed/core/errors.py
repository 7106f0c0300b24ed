"""What can go wrong, and the exit code a command ends with.

SureFEDError              1
├── ConfigError           2   the experiment is not well formed: a misspelt key, an unknown name, a value out of range
├── DataError             3   data, model or graph do not fit together
├── RecordError           4   a folder or checkpoint belongs to another experiment, or is damaged
├── StorageError          5   the disk is full or refuses to be written
├── IdentityError         6   a key, a certificate, a signature or the charter does not stand up to a check
├── CellsFailed           7   some cells of a sweep failed (surefed.sweep)
├── NetworkError          8   a port is taken, or a neighbour cannot be reached
└── Interrupted         130   stopped by Ctrl-C, SIGTERM (143) or a time limit (124) after saving a checkpoint
"""

from __future__ import annotations


class SureFEDError(Exception):
    """Anything that a person can put right; the message says how."""

    exit_code = 1


class ConfigError(SureFEDError):
    """The experiment is not well formed."""

    exit_code = 2


class DataError(SureFEDError):
    """Data, model or graph do not fit together."""

    exit_code = 3


class RecordError(SureFEDError):
    """A folder or checkpoint belongs to another experiment, or is damaged."""

    exit_code = 4


class StorageError(SureFEDError):
    """The disk is full or refuses to be written; what was saved before is intact."""

    exit_code = 5


class IdentityError(SureFEDError):
    """A key, a certificate, a signature or the charter does not stand up to a check."""

    exit_code = 6


class NetworkError(SureFEDError):
    """A port is taken, or a neighbour cannot be reached."""

    exit_code = 8


class Interrupted(SureFEDError):
    """The run was asked to stop and saved a checkpoint first."""

    def __init__(self, message: str, exit_code: int = 130) -> None:
        super().__init__(message)
        self.exit_code = exit_code

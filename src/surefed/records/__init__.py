"""What a run leaves behind, and reading it again."""

from surefed.records.atomic import alone, replace_file, storage, write_text
from surefed.records.folder import CHECKPOINT, Record, Recorder, read

__all__ = ["CHECKPOINT", "Record", "Recorder", "alone", "read", "replace_file", "storage", "write_text"]

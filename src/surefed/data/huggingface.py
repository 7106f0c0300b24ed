"""A Hugging Face dataset on disk."""

from __future__ import annotations

from surefed.data.base import Dataset
from surefed.data.formats import read_huggingface
from surefed.data.formats.base import place_of


def huggingface(
    *,
    path: str | None = None,
    inputs: str = "image",
    label: str = "label",
    client: str | None = None,
    numbers: bool = False,
) -> Dataset:
    """What a Hugging Face dataset's save_to_disk wrote: a column of pictures or numbers, labels, perhaps clients.

    numbers: labels are not classes but numbers to be predicted, one or several a sample.
    """
    return read_huggingface(place_of(path, "the folder that save_to_disk wrote"), inputs, label, client, numbers)

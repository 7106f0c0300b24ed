"""Ways to cut a dataset into clients: a function of that name per file, from labels to each client's indices."""

from surefed.core.registry import Factory, discover

PARTITIONS: dict[str, Factory] = discover(__name__, __path__)

__all__ = ["PARTITIONS"]

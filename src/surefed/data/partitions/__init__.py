"""Ways to cut a dataset into clients: a function of that name per file, from a pool to each client's indices."""

from surefed.core.registry import Factory, discover
from surefed.data.partitions.base import Parts, Pool

PARTITIONS: dict[str, Factory] = discover(__name__, __path__)

__all__ = ["PARTITIONS", "Parts", "Pool"]

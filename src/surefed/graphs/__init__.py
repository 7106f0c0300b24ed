"""Who hears whom: a function of that name per file, from the number of clients to a graph."""

from surefed.core.registry import Factory, discover
from surefed.graphs.base import Fixed, Graph, from_networkx

GRAPHS: dict[str, Factory] = discover(__name__, __path__)

__all__ = ["GRAPHS", "Fixed", "Graph", "from_networkx"]

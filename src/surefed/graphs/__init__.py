"""Who hears whom: a function of that name per file, from the number of clients to a graph."""

from surefed.core.registry import Factory, discover
from surefed.graphs.base import Fixed, Graph, Neighbours, fitting, from_networkx, named, neighbours

GRAPHS: dict[str, Factory] = {
    name: factory for name, factory in discover(__name__, __path__).items() if name != "connectivity"
}

__all__ = ["GRAPHS", "Fixed", "Graph", "Neighbours", "fitting", "from_networkx", "named", "neighbours"]

"""Whether what one honest client learns can reach every other, and within how many rounds.

The paper's relaxed connectivity constraint (Heydaribeni et al. 2023, definition "Relaxed Connectivity Constraint" and
the assumption of the same name): the rounds can be cut into stretches such that the product of the adjacency matrices
of each stretch is strongly connected, on the graph of the honest clients alone. It resembles the B-strong
connectivity of Nedic, Olshevsky and Uribe (2015), which asks the same of the union of B rounds.

The two agree here. Everybody hears itself, so the product of a stretch holds every edge of every round in it; and
each of its entries is a chain of such edges. Hence the product is strongly connected exactly when the union is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import networkx as nx
import numpy as np
from torch import Tensor

from surefed.graphs.base import Flags, Graph, Integers, Neighbours, neighbours, same


def connectivity(graph: Graph, honest: Tensor, rounds: int) -> int | None:
    """The least B such that the honest clients are strongly connected over any B rounds in a row, or None.

    Rounds 0 .. rounds-1 are looked at; None means that they are not strongly connected even over all of them, so
    that the paper's relaxed connectivity does not hold. honest: bool [client]
    """
    marked = _checked(graph, honest, rounds)
    count = int(marked.sum())
    begins: list[int] = []  # the first round of each stretch in which the graph stays the same
    window, first = 1, 0  # all windows that begin before stretch `first` fit into `window` rounds
    known, last = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)  # edges, and the stretch last seen in
    for at, (begin, present) in enumerate(_stretches(graph, rounds)):
        begins.append(begin)
        fresh = _among(present, marked)
        kept = (last >= first) & ~np.isin(known, fresh, assume_unique=True)
        known = np.concatenate([known[kept], fresh])
        last = np.concatenate([last[kept], np.full(len(fresh), at)])
        while first <= at and strongly_connected(count, known[last >= first]):
            # The first round of stretch `first` needs all rounds up to the first of this one.
            window = max(window, begin + 1 - begins[first])
            first += 1
    if first == 0:
        return None
    if first < len(begins):  # from its beginning on too few rounds are left: every window must begin before
        window = max(window, rounds - begins[first] + 1)
    return window


def warning(graph: Graph, honest: Tensor, rounds: int, ids: Sequence[str] | None = None) -> str | None:
    """What to tell a person when the honest clients are not connected over the run; None when they are."""
    marked = _checked(graph, honest, rounds)
    count, union = int(marked.sum()), np.empty(0, dtype=np.int64)
    for _, present in _stretches(graph, rounds):
        fresh = _among(present, marked)
        union = np.union1d(union, fresh) if len(union) else fresh
        if strongly_connected(count, union):
            return None
    whole = nx.DiGraph(zip((union % count).tolist(), (union // count).tolist(), strict=True))  # sender -> receiver
    parts = sorted(nx.strongly_connected_components(whole), key=lambda part: (-len(part), min(part)))
    where = np.flatnonzero(marked)
    deaf, lost = next(
        (where[a], where[b])
        for a, b in ((min(parts[0]), min(parts[1])), (min(parts[1]), min(parts[0])))
        if not nx.has_path(whole, b, a)
    )
    names = ids if ids is not None else [str(at) for at in range(graph.clients)]
    return (
        f"honest clients cannot all learn from each other: in {rounds} rounds, no chain of honest clients leads from "
        f"client {names[lost]} to client {names[deaf]} ({count} honest clients fall into {len(parts)} parts, the "
        f"largest of {len(parts[0])}). The paper's relaxed connectivity does not hold, and its guarantees with it; use "
        "a graph with more edges, or one that changes, or fewer malicious clients"
    )


def strongly_connected(clients: int, keys: Integers) -> bool:
    """Whether a chain of edges leads from each client to each other. keys: receiver * clients + sender, [edge]"""
    receivers, senders = np.divmod(keys, clients)
    others = receivers != senders
    receivers, senders = receivers[others], senders[others]
    for ends in (receivers, senders):  # most graphs that fall apart leave somebody quite alone
        if clients > 1 and not np.bincount(ends, minlength=clients).all():
            return False
    return _all_reached(clients, senders, receivers) and _all_reached(clients, receivers, senders)


def components(clients: int, one: Integers, other: Integers) -> Integers:
    """The lowest client of the part that each belongs to, edges taken both ways. int64 [client]

    Every part adopts the lowest name next to it, until none changes: at least half of the names go each time.
    """
    root = np.arange(clients)
    while True:
        hooked = root.copy()
        low = np.minimum(root[one], root[other])
        np.minimum.at(hooked, root[one], low)
        np.minimum.at(hooked, root[other], low)
        while not np.array_equal(hooked, hooked[hooked]):
            hooked = hooked[hooked]
        if np.array_equal(hooked, root):
            return root
        root = hooked


def _checked(graph: Graph, honest: Tensor, rounds: int) -> Flags:
    if rounds < 1:
        raise ValueError(f"connectivity is asked of at least 1 round, not {rounds}")
    marked: Flags = honest.cpu().numpy().astype(bool)
    if marked.shape != (graph.clients,) or not marked.any():
        raise ValueError(f"honest marks at least one of {graph.clients} clients, in a bool tensor of that length")
    return marked


def _stretches(graph: Graph, rounds: int) -> Iterator[tuple[int, Neighbours]]:
    """The rounds in which the graph changes, and what it changes to."""
    before: Neighbours | None = None
    for round in range(rounds):
        present = neighbours(graph, round)
        if before is None or not same(before, present):
            yield round, present
        before = present


def _among(present: Neighbours, marked: Flags) -> Integers:
    """The edges among marked clients, these numbered anew: receiver * marked + sender. int64 [edge]"""
    number = np.cumsum(marked) - 1
    receivers, senders = present.receivers.numpy(), present.senders.numpy()
    inside = marked[receivers] & marked[senders]
    keys: Integers = number[receivers[inside]] * int(marked.sum()) + number[senders[inside]]
    return keys


def _all_reached(clients: int, origins: Integers, ends: Integers) -> bool:
    """Whether edges lead from client 0 to everybody, found layer by layer."""
    order = np.argsort(origins, kind="stable")
    ends, starts = ends[order], np.searchsorted(origins[order], np.arange(clients + 1))
    seen = np.zeros(clients, dtype=bool)
    front = np.zeros(1, dtype=np.int64)
    while len(front):
        seen[front] = True
        lengths = starts[front + 1] - starts[front]
        begins = np.repeat(starts[front] - np.cumsum(lengths) + lengths, lengths)
        reached = ends[begins + np.arange(len(begins))]
        front = np.unique(reached[~seen[reached]])
    return bool(seen.all())

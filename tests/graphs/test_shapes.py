"""Graphs without chance."""

from __future__ import annotations

import pytest

from surefed.graphs.complete import complete
from surefed.graphs.grid import grid
from surefed.graphs.line import line
from surefed.graphs.ring import ring
from surefed.graphs.star import star


def test_complete_is_complete() -> None:
    assert complete(4).edges(9).all()
    assert len(complete(4).neighbours(0).senders) == 16


def test_ring() -> None:
    assert ring(4).edges(0).int().tolist() == [[1, 1, 0, 1], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]]
    assert ring(1).edges(0).tolist() == [[True]]
    assert ring(2).edges(0).all()
    assert ring(1000).neighbours(0).starts.diff().unique().tolist() == [3]


def test_line() -> None:
    assert line(3).edges(0).int().tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert line(1).edges(0).tolist() == [[True]]


def test_star() -> None:
    assert star(4).edges(0).int().tolist() == [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]
    assert star(3, centre=2).edges(0).int().tolist() == [[1, 0, 1], [0, 1, 1], [1, 1, 1]]
    with pytest.raises(ValueError, match="at least 2 clients, not 1"):
        star(1)
    with pytest.raises(ValueError, match="from 0 to 3, not 4"):
        star(4, centre=4)


def test_grid() -> None:
    # 0 1 2
    # 3 4 5
    edges = grid(6).edges(0)
    heard = [edges[at].nonzero().flatten().tolist() for at in range(6)]
    assert heard == [[0, 1, 3], [0, 1, 2, 4], [1, 2, 5], [0, 3, 4], [1, 3, 4, 5], [2, 4, 5]]
    turned = grid(6, rows=3).edges(0)  # 0 1 / 2 3 / 4 5
    assert turned[2].nonzero().flatten().tolist() == [0, 2, 3, 4]
    assert grid(36).edges(0).sum() == 36 + 2 * (2 * 6 * 5)  # six rows and six columns of five edges


def test_a_grid_that_wraps_has_no_border() -> None:
    edges = grid(20, wrap=True).edges(0)
    assert edges.sum(1).tolist() == [5] * 20
    assert edges[0].nonzero().flatten().tolist() == [0, 1, 4, 5, 15]  # 4 rows of 5: right, left, below, above
    assert grid(4, wrap=True).edges(0).sum(1).tolist() == [3] * 4  # left and right are the same client


def test_a_prime_number_of_clients_is_no_rectangle() -> None:
    with pytest.raises(ValueError, match=r"7 clients fill no rectangle but a line.*such as 12.*'line'"):
        grid(7)
    assert grid(7, rows=1).fingerprint() == line(7).fingerprint()
    with pytest.raises(ValueError, match="do not fill 5 rows; rows may be one of 1, 2, 3, 4, 6, 12"):
        grid(12, rows=5)
    with pytest.raises(ValueError, match="do not fill 0 rows"):
        grid(12, rows=0)

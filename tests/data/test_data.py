from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from surefed.core import ConfigError, DataError
from surefed.data import DATASETS, cut, federation


def test_the_embedded_digits() -> None:
    digits = DATASETS["digits"]()
    assert digits.inputs.shape == (1797, 1, 8, 8)
    assert digits.inputs.dtype == np.float32
    assert (digits.inputs.min(), digits.inputs.max()) == (0.0, 1.0)
    assert digits.inputs[:, 0, 0, 0].mean() < 0.01  # the corner is background, and background is 0
    assert np.bincount(digits.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_cut_keeps_test_and_training_apart() -> None:
    digits = DATASETS["digits"]()
    made = cut(digits, 20, test_share=0.2, seed=1)
    assert len(made.test_labels) == 359
    assert made.sizes.sum() == 1438
    train = {row.numpy().tobytes() for row in made.inputs}
    both = sum(row.numpy().tobytes() in train for row in made.test_inputs)
    assert both == 0  # the 1797 images are all different
    assert made.fingerprint() == cut(digits, 20, test_share=0.2, seed=1).fingerprint()
    assert made.fingerprint() != cut(digits, 20, test_share=0.2, seed=2).fingerprint()


def test_rows_and_starts_of_clients() -> None:
    made = federation([(np.zeros((2, 1)), [0, 1]), (np.ones((3, 1)), [0, 1, 1])], (np.zeros((1, 1)), [0]))
    assert made.starts.tolist() == [0, 2]
    assert made.rows_of(torch.tensor([False, True])).tolist() == [False] * 2 + [True] * 3
    assert made.classes == 2
    assert made.shape == (1,)


GOOD, TEST = (np.zeros((4, 3)), [0, 1, 0, 1]), (np.zeros((2, 3)), [0, 1])


@pytest.mark.parametrize(
    ("clients", "test", "options", "message"),
    [
        ([], TEST, {}, "at least one client"),
        ([GOOD, (np.zeros((0, 3)), [])], TEST, {}, "client 1 has no data"),
        ([GOOD], (np.zeros((0, 3)), []), {}, "test set is empty"),
        ([(np.zeros((4, 3)), [0, 1])], TEST, {}, "4 inputs need as many labels"),
        ([(np.full((4, 3), math.nan), [0, 1, 0, 1])], TEST, {}, "client 0: inputs hold NaN"),
        ([(np.zeros((4, 3)), [0, 0.5, 1, 1])], TEST, {}, "whole numbers"),
        ([GOOD, (np.zeros((4, 2)), [0, 1, 0, 1])], TEST, {}, "client 1 has inputs of shape"),
        ([(np.zeros((4, 3)), [0, 0, 2, 2])], TEST, {}, "no client has a sample of class 1"),
        ([(np.zeros((4, 3)), [0, 0, 0, 0])], TEST, {}, "no client has a sample of class 1"),
        ([GOOD], TEST, {"classes": 3}, "no client has a sample of class 2"),
        ([(np.zeros((4, 3)), [0, 1, 2, 3])], TEST, {"classes": 3}, "labels must lie in 0 .. 2"),
        ([(np.zeros((4, 3)), [0, -1, 1, 1])], TEST, {}, "labels must lie in"),
        ([(np.zeros(4), [0, 1, 0, 1])], TEST, {}, "shape"),
        ([([["a"], ["b"]], [0, 1])], TEST, {}, "not numbers"),
        ([GOOD, GOOD], TEST, {"ids": ["x", "x"]}, "different ids"),
        ([(np.zeros((2, 3)), ["cat", "dog"])], TEST, {}, "number the classes first"),
        ([(np.zeros((2, 3)), [None, 1])], TEST, {}, "number the classes first"),
        ([(np.zeros((2, 3)), [0, 1], 3)], TEST, {}, r"client 0: expected a pair \(inputs, labels\)"),
        ([GOOD], np.zeros((4, 3)), {}, "the test set: expected a pair"),
        ([(np.full((4, 3), 1e20), [0, 1, 0, 1])], TEST, {}, "scale them"),
        ([(torch.zeros(4, 3, requires_grad=True), [0, 1, 0, 1])], TEST, {}, "not numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(clients: list, test: tuple, options: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        federation(clients, test, **options)


def test_many_dimensions_and_any_memory_order_give_the_same_digest() -> None:
    inputs = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    columns = np.asfortranarray(inputs)
    one, other = (federation([(x, [0, 1])], (x, [0, 1])) for x in (inputs, columns))
    assert one.fingerprint() == other.fingerprint()
    assert other.inputs.is_contiguous()
    changed = inputs.copy()
    changed[1, 2, 3] += 1
    assert federation([(changed, [0, 1])], (inputs, [0, 1])).fingerprint() != one.fingerprint()


def test_too_many_clients() -> None:
    with pytest.raises(DataError, match="cannot be dealt out to 5000 clients"):
        cut(DATASETS["digits"](), 5000)
    with pytest.raises(ConfigError, match="no option 'alfa'"):
        cut(DATASETS["digits"](), 5, partition="dirichlet", options={"alfa": 1})


def test_what_a_user_changes_afterwards_changes_nothing() -> None:
    inputs = np.zeros((2, 3), dtype=np.float32)
    made = federation([(inputs, [0, 1])], (inputs, [0, 1]))
    inputs[:] = 7
    assert made.inputs.sum() == made.test_inputs.sum() == 0

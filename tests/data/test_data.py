from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from surefed.core import ConfigError, DataError, generator
from surefed.data import DATASETS, PARTITIONS, cut, federation

LABELS = np.repeat(np.arange(10), 60)


def test_the_embedded_digits() -> None:
    digits = DATASETS["digits"]()
    assert digits.inputs.shape == (1797, 1, 8, 8)
    assert digits.inputs.dtype == np.float32
    assert (digits.inputs.min(), digits.inputs.max()) == (0.0, 1.0)
    assert digits.inputs[:, 0, 0, 0].mean() < 0.01  # the corner is background, and background is 0
    assert np.bincount(digits.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


@pytest.mark.parametrize("name", PARTITIONS)
def test_a_partition_deals_every_sample_to_one_client_and_repeats(name: str) -> None:
    parts = PARTITIONS[name](LABELS, 12, generator(3, "split"))
    assert sorted(np.concatenate(parts).tolist()) == list(range(600))
    assert len(parts) == 12
    again = PARTITIONS[name](LABELS, 12, generator(3, "split"))
    assert all(np.array_equal(one, other) for one, other in zip(parts, again, strict=True))
    other = PARTITIONS[name](LABELS, 12, generator(4, "split"))
    assert not all(np.array_equal(one, two) for one, two in zip(parts, other, strict=True))


def test_iid_is_even_and_mixed() -> None:
    parts = PARTITIONS["iid"](LABELS, 7, generator(0, "split"))
    assert {len(part) for part in parts} == {85, 86}
    assert all(len(np.unique(LABELS[part])) == 10 for part in parts)


def test_small_alpha_skews_and_large_alpha_does_not() -> None:
    def skew(alpha: float) -> float:
        parts = PARTITIONS["dirichlet"](LABELS, 10, generator(0, "split"), alpha=alpha, min_samples=5)
        return float(np.mean([np.bincount(LABELS[part], minlength=10).max() / len(part) for part in parts]))

    assert skew(100.0) < 0.2 < 0.45 < skew(0.1)
    with pytest.raises(ValueError, match="raise alpha"):
        PARTITIONS["dirichlet"](LABELS, 50, generator(0, "split"), alpha=0.01, min_samples=10, tries=20)


def test_shards_hold_few_classes() -> None:
    parts = PARTITIONS["shards"](LABELS, 10, generator(0, "split"), per_client=2)
    assert max(len(np.unique(LABELS[part])) for part in parts) <= 4
    assert {len(part) for part in parts} == {60}
    with pytest.raises(ValueError, match="shards"):
        PARTITIONS["shards"](LABELS, 400, generator(0, "split"), per_client=2)


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

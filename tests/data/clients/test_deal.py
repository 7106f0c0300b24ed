from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surefed.core import ConfigError, DataError
from surefed.data import Dataset, Deal, deal


def people(*, test: bool = True) -> Dataset:
    """Four writers with 10, 20, 30 and 40 samples, every fifth published for testing; a fifth has test samples only."""
    owner = np.repeat(np.arange(5), (10, 20, 30, 40, 5))
    published = (np.arange(105) % 5 == 4) | (owner == 4)
    return Dataset(
        inputs=np.arange(105, dtype=np.uint8)[:, None],
        labels=np.arange(105) % 5,
        classes=5,
        owner=owner,
        owners=("ann", "bob", "cy", "dee", "tess"),
        test=published if test else None,
    )


def sizes(dealt: Deal) -> dict[str, tuple[int, int]]:
    assert dealt.own_test is not None
    return {name: (len(part), len(dealt.own_test[name])) for name, part in dealt.train.items()}


def check_own(dataset: Dataset, dealt: Deal) -> None:
    """Nobody trains on a test sample, and everybody's samples are their own."""
    assert dealt.own_test is not None
    assert dataset.owner is not None
    assert not np.intersect1d(np.concatenate(list(dealt.train.values())), dealt.test).size
    for parts in (dealt.train, dealt.own_test):
        for name, part in parts.items():
            assert set(dataset.owner[part]) == {dataset.owners.index(name)}
    assert np.array_equal(dealt.test, np.concatenate(list(dealt.own_test.values())))


def test_natural_clients_keep_the_published_cut_where_they_have_it() -> None:
    data = people()
    dealt = deal(data)
    assert (dealt.partition, dealt.cut) == ("natural", "published")
    assert sizes(dealt) == {"ann": (8, 2), "bob": (16, 4), "cy": (24, 6), "dee": (32, 8)}  # tess trains on nothing
    check_own(data, dealt)
    assert data.test is not None
    assert data.test[dealt.test].all()


def test_a_cut_of_their_own_takes_a_share_of_all_that_they_have() -> None:
    data = people()
    dealt = deal(data, test="cut", test_share=0.3)
    assert sizes(dealt) == {"ann": (7, 3), "bob": (14, 6), "cy": (21, 9), "dee": (28, 12)}
    check_own(data, dealt)
    assert not np.array_equal(deal(data, test="cut", seed=1).test, deal(data, test="cut").test)


def test_a_client_is_cut_the_same_whoever_else_takes_part() -> None:
    everybody = deal(people(test=False), test_share=0.3, seed=5)
    for clients in (1, 2, 3):
        some = deal(people(test=False), clients, test_share=0.3, seed=5)
        for name in some.train:
            assert np.array_equal(some.train[name], everybody.train[name])


def test_clients_of_one_size_are_not_cut_at_the_same_places() -> None:
    data = Dataset(np.zeros((80, 1)), np.arange(80) % 2, 2, np.arange(80) // 40, ("ann", "bob"))
    own = deal(data, test_share=0.5).own_test
    assert own is not None
    assert sorted(own["ann"]) != sorted(own["bob"] - 40)


def test_where_no_writer_is_in_both_parts_each_is_cut_and_test_writers_stay_out() -> None:
    data = people()  # as in MNIST: tess is the only one in the test part
    assert data.owner is not None
    dealt = deal(replace(data, test=data.owner == 4), test_share=0.1)
    assert dealt.cut == "cut"
    assert sizes(dealt) == {"ann": (9, 1), "bob": (18, 2), "cy": (27, 3), "dee": (36, 4)}


def test_auto_is_published_if_enough_clients_have_both_parts() -> None:
    data = people()
    assert data.test is not None
    assert data.owner is not None
    without_dee = replace(data, test=data.test & (data.owner != 3))
    assert deal(without_dee, 3).cut == "published"
    assert "dee" not in deal(without_dee, 3).train
    assert deal(without_dee).cut == deal(without_dee, 4).cut == "cut"
    assert set(deal(without_dee, test="published").train) == {"ann", "bob", "cy"}


def test_a_small_share_is_one_sample_and_nobody_loses_their_last() -> None:
    owner = np.array([0, 1, 1, 2, 2, 2])
    data = Dataset(np.zeros((6, 1), np.float32), np.array([0, 1, 0, 1, 0, 1]), 2, owner, ("one", "two", "three"))
    assert sizes(deal(data, test_share=0.01)) == {"one": (1, 0), "two": (1, 1), "three": (2, 1)}
    assert sizes(deal(data, test_share=0.99)) == {"one": (1, 0), "two": (1, 1), "three": (1, 2)}


def test_minimum_counts_training_samples() -> None:
    assert set(deal(people(), options={"min_samples": 17}).train) == {"cy", "dee"}
    assert set(deal(people(), options={"min_samples": 16}).train) == {"bob", "cy", "dee"}
    assert set(deal(people(), 1, options={"largest": True}).train) == {"dee"}


@pytest.mark.parametrize("partition", ["iid", "dirichlet", "shards", "pathological", "by_size"])
def test_dealt_samples_keep_the_published_test_part(partition: str) -> None:
    data = people()
    assert data.test is not None
    dealt = deal(data, 4, partition=partition, options={"min_samples": 1})
    assert np.array_equal(dealt.test, np.flatnonzero(data.test))
    assert sorted(np.concatenate(list(dealt.train.values())).tolist()) == np.flatnonzero(~data.test).tolist()
    assert (dealt.cut, dealt.own_test) == ("published", None)
    again = deal(data, 4, partition=partition, options={"min_samples": 1}, test="cut", test_share=0.4)
    assert len(again.test) == 42
    assert sum(map(len, again.train.values())) == 63


def test_without_owners_it_is_iid_for_twenty() -> None:
    anybody = replace(people(), owner=None, owners=())
    assert deal(anybody).partition == "iid"
    assert len(deal(anybody).train) == 20


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"test": None}, {"test": "published"}, 'published without a test part; set data.test to "cut"'),
        ({"owner": None, "owners": ()}, {"partition": "natural"}, "does not say whose each sample is"),
        ({}, {"clients": 5}, "natural clients"),
        ({"test": np.zeros(105, bool)}, {"test": "published"}, "nobody has samples in both parts"),
        ({"owner": None}, {"test_share": 0.001, "test": "cut", "clients": 4}, "raise test_share"),
        ({"labels": np.arange(105) % 4}, {}, "no sample of class 4"),
        ({"labels": np.arange(105) % 6}, {}, "labels must lie in 0 .. 4"),
        ({"labels": np.arange(105) % 5 - 1}, {}, "labels must lie in"),
        ({"inputs": np.zeros((104, 1))}, {}, "with 105 samples, not"),
        ({"inputs": np.zeros(105)}, {}, "need shape"),
        ({"inputs": np.full((105, 1), np.nan)}, {}, "NaN"),
        ({"inputs": np.full((105, 1), "a")}, {}, "must be numbers"),
        ({"owner": np.arange(105)}, {}, "one of the 5 owners"),
        ({"owners": ("a", "b", "c", "a", "d")}, {}, "two owners are called 'a'"),
        ({"test": np.zeros(105)}, {}, "True or False"),
        ({"mean": (0.1, 0.2)}, {}, "one for each of 1 channels, not 2"),
        ({"mean": (0.1,)}, {}, "come together"),
        ({"mean": (0.1,), "std": (0.0,)}, {}, "every std is positive"),
    ],
)
def test_what_cannot_be_dealt(changes: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, ConfigError), match=message):
        deal(replace(people(), **changes), **options)

"""Nobody is left out without a word: the layer, how many weights, how far the worst."""

from __future__ import annotations

import json
from dataclasses import replace

import torch
from torch import nn

from surefed.learn import Network
from surefed.peer.verdict import verdicts
from surefed.rules import Inspection

SITES = ("anna", "bert", "cleo", "dora", "egon", "fred")
NETWORK = Network(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)))  # 4 + 2 + 2 + 1 weights


def found(inspection: Inspection) -> dict[str, object]:
    whole = verdicts(
        SITES,
        own="anna",
        expected=["bert", "cleo", "dora", "egon"],
        used={"bert": 7, "cleo": 6},
        missing={"dora": "no answer by the deadline"},
        malformed={"egon": "not finite"},
        equivocated=["egon"],
        inspection=inspection,
        network=NETWORK,
    )
    return {site: (one.verdict, one.round, one.why) for site, one in whole.items()}


def test_the_worst_weight_is_named_by_its_layer() -> None:
    inspection = Inspection(
        trusted=torch.tensor([[True, False, True, False, False, False]]),
        outside=torch.tensor([[0, 3, 0, 0, 0, 0]]),
        worst=torch.tensor([[0, 7, 0, 0, 0, 0]]),  # weights 6 and 7 are the second layer's matrix
        sigmas=torch.tensor([[0.0, 23.4567, 1.0, 0.0, 0.0, 0.0]]),
    )
    assert found(inspection) == {
        "bert": ("distrusted", 7, "3 weights lie outside the band; the worst is in 1.weight, 23.46 stds away"),
        "cleo": ("trusted", 6, ""),
        "dora": ("missing", None, "no answer by the deadline"),
        "egon": ("equivocated", None, "it signed two different beliefs for one round; both are kept"),
        "fred": ("not expected", None, "it is not a neighbour in this round"),
    }


def test_where_a_sender_is_heading_is_told() -> None:
    one = torch.ones(1, 6)
    seen = Inspection(one == 0, (one - 1).long(), (one - 1).long(), one * 2.5, one * -0.25)
    band, way = (
        "no weight lies outside the band, the farthest, in 0.weight, is 2.5 stds away",
        "agrees with ours by -0.25",
    )
    for fault, why in (
        (1, f"it goes another way than our data: its heading {way}; {band}"),
        (2, f"it has pushed against what we learn, and is not heard again; its heading {way}; {band}"),
        (3, f"{band}; its heading {way}"),
        (4, f"it has pushed harder than data would, and is not heard again; its heading {way}; {band}"),
        (
            5,
            "it pushes, with others, for something that our own side does not, and is not heard as long as it does; "
            f"its heading {way}; {band}",
        ),
    ):
        assert found(replace(seen, fault=(one * fault).to(torch.uint8)))["bert"] == ("distrusted", 7, why)


def test_a_rule_without_a_band_only_says_that_it_left_somebody_out() -> None:
    inspection = Inspection(torch.tensor([[True, False, True, False, False, False]]))
    assert found(inspection)["bert"] == ("distrusted", 7, "the rule left it out")


def test_an_infinite_distance_can_be_written_down() -> None:
    one = torch.ones(1, 6)
    inspection = Inspection(one == 0, one.long(), (one - 1).long(), one * torch.inf)
    whole = verdicts(
        SITES,
        own="anna",
        expected=["bert"],
        used={"bert": 1},
        missing={},
        malformed={},
        equivocated=[],
        inspection=inspection,
        network=NETWORK,
    )
    assert json.dumps(whole["bert"].plain(), allow_nan=False)

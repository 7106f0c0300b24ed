from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from surefed.attacks import ATTACKS, Attack, Scene
from surefed.attacks.alie import spread, z_max
from surefed.attacks.opt_alie import climb, copies, to_krum, to_mean
from surefed.core import Belief, ConfigError, band, measure, rho_of
from surefed.core.registry import build

from .test_alie import lie
from .test_contract import KNOWLEDGE, liars, scene

SEARCHED = ["mean", "trimmed_mean", "median", "krum"]
EVERY_RULE = pytest.mark.parametrize("against", ["band", *SEARCHED])


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)[:, None]


def told(seen: Tensor, malicious: int, local: Tensor | None = None, std: Tensor | float = 1.0) -> Scene:
    """Omniscient liars, the first in a complete graph, and honest clients with these means and local beliefs."""
    own, honest = (Belief(part, torch.zeros_like(part)) for part in (torch.full((malicious, seen.shape[1]), 7.0), seen))
    trusting = seen if local is None else local
    belief = Belief(trusting, rho_of(torch.as_tensor(std).expand_as(trusting)))
    clients = malicious + len(seen)
    edges = torch.ones(clients, clients, dtype=torch.bool)
    bad = torch.arange(clients) < malicious
    return Scene(own, own, honest, honest, bad, edges, 0, own_local=own, honest_local=belief)


def random_scene(seed: int, honest: int = 9, malicious: int = 5, weights: int = 30) -> Scene:
    """Honest clients that differ by as much as their local beliefs do from what they send."""
    rng = torch.Generator().manual_seed(seed)
    seen = 3 + torch.randn(honest, weights, generator=rng)
    local = seen + torch.randn(honest, weights, generator=rng)
    return told(seen, malicious, local, 0.2 + torch.rand(honest, weights, generator=rng))


def factor(scene: Scene, sent: Tensor) -> float:
    """The z of a lie."""
    std = spread(scene.seen.mean)
    return float((scene.seen.mean.mean(0) - sent) @ std / (std @ std))


def trimmed_damage(seen: Tensor, sent: Tensor, lies: int, drop: int) -> float:
    """The slow plain distance between a trimmed mean and the mean of the honest."""
    columns = zip(*seen.double().tolist(), strict=True)
    total = 0.0
    for honest, bad in zip(columns, sent.tolist(), strict=True):
        ordered = sorted([*honest, *[bad] * lies])
        total += (statistics.mean(ordered[drop : len(ordered) - drop]) - statistics.mean(honest)) ** 2
    return math.sqrt(total)


def krum_damage(seen: Tensor, sent: Tensor, lies: int) -> float:
    """The slow plain distance of a lie from the mean of the honest, if Krum chooses it; of equals, the nearer."""
    middle, rows = seen.double().mean(0), [*seen.double(), *[sent.double()] * lies]
    scores = []
    for at, row in enumerate(rows):
        apart = sorted(float((row - other).square().sum()) for place, other in enumerate(rows) if place != at)
        scores.append((sum(apart[: max(len(rows) - lies - 2, 1)]), float((row - middle).norm())))
    return scores[-1][1] if scores[-1] == min(scores) else 0.0


def accepting(scene: Scene, sent: Tensor, kappa: float) -> int:
    """How many honest receivers find the lie inside their band, as SureFED's rule measures it."""
    assert scene.honest_local is not None
    width = band(scene.honest_local, kappa)
    return int((measure(scene.honest_local, width, sent[None]).excess <= 0).sum())


def damage(against: str, scene: Scene, sent: Tensor, kappa: float) -> float:
    """What a lie does, by the slow plain references."""
    seen, lies = scene.seen.mean, scene.liars
    if against == "band":
        return accepting(scene, sent, kappa) * float((sent - seen.mean(0)).norm())
    if against == "krum":
        return krum_damage(seen, sent, lies)
    middling = (scene.clients - 1) // 2
    return trimmed_damage(
        seen, sent, lies, {"mean": 0, "trimmed_mean": min(lies, middling), "median": middling}[against]
    )


def test_the_mean_follows_any_lie_by_hand() -> None:
    """Of 1 and 3 the mean is 2 and the std sqrt(2). The damage always grows, so z is 0, 10, 30, then 70."""
    for evaluations, z in ((1, 0), (2, 10), (3, 30), (4, 70)):
        sent = lie("opt_alie", told(column(1, 3), 1), against="mean", evaluations=evaluations)
        assert sent.item() == pytest.approx(2 - z * 2**0.5, rel=1e-6)


def test_the_trimmed_mean_by_hand() -> None:
    """0, 2, 4: mean 2, std 2. One lie at 2 (z = 0) leaves 2, at -18 (z = 10) it leaves 1, and no z does more."""
    assert lie("opt_alie", told(column(0, 2, 4), 1), against="trimmed_mean").item() == pytest.approx(-18.0)


def test_the_median_by_hand() -> None:
    """-1, 0, 1, with two lies at 0 the middle is 0; any two below -1 make it -1, and no z does more. The std is 1."""
    assert lie("opt_alie", told(column(-1, 0, 1), 2), against="median").flatten().tolist() == [-10.0, -10.0]


def test_krum_by_hand() -> None:
    """-3, -1, 1, 3 and two lies: each is scored by its 2 closest others, a lie below -3 at v by 0 + (v + 3)^2.

    The best honest score is that of -1, 4 + 4, so Krum takes a lie down to v = -3 - sqrt(8): with the std sqrt(20 / 3),
    z up to 2.257. The search falls from 10 by 0.8 until 10 * 0.8^7 = 2.097, its 9th try, is taken. All that it tries
    above are too much (the 20th is 2.277), until the 21st adds 10 * 0.8^19.
    """
    known = told(column(-3, -1, 1, 3), 2)
    for evaluations, z in ((8, 0.0), (9, 10 * 0.8**7), (20, 10 * 0.8**7), (21, 10 * 0.8**7 + 10 * 0.8**19)):
        sent = lie("opt_alie", known, against="krum", evaluations=evaluations)[0]
        assert sent.item() == pytest.approx(-z * (20 / 3) ** 0.5, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("middles", "widths", "wanted"),
    [
        ((2, 2), (1, 3), -1.0),  # one receiver moved by 3 beats two moved by 1
        ((2, 2), (1, 1.5), 1.0),  # two moved by 1 beat one moved by 1.5
        ((2.5, 2.5), (1, 1), 3.5),  # both take 1.5 to 3.5, and 3.5 is farther from 2
        ((4, 9), (1, 1), 5.0),  # nobody takes 2 itself, the first takes 3 to 5, the second 8 to 10: but that one is out
    ],
)
def test_the_band_by_hand(middles: tuple[float, float], widths: tuple[float, float], wanted: float) -> None:
    """Messages 1 and 3: the line is any number, from the mean 2. Bands of these widths, kappa being 4."""
    known = told(column(1, 3), 1, column(*middles), column(*widths) / 4)
    if middles == (4, 9):
        known.edges[2, 0] = False  # the second honest client does not hear the liar
    assert lie("opt_alie", known, kappa=4.0).item() == pytest.approx(wanted, rel=1e-5)


def test_the_band_weighs_receivers_by_their_share_of_lies() -> None:
    """Bands of 1 and 1.8. Where both hear both liars, moving both by 1 beats moving one by 1.8.

    The first then hears 1 liar in 3 messages, the second 2 in 4: 1.8 / 2 is more than 1 / 3 + 1 / 2.
    """
    known = told(column(1, 3), 2, column(2, 2), column(1, 1.8) / 4)
    assert lie("opt_alie", known, kappa=4.0)[0].item() == pytest.approx(1.0, rel=1e-5)
    known.edges[2, 0] = False
    assert lie("opt_alie", known, kappa=4.0)[0].item() == pytest.approx(0.2, rel=1e-5)


@EVERY_RULE
@pytest.mark.parametrize("seed", range(4))
def test_the_lie_is_on_the_line_and_does_as_much_as_alie_and_as_the_mean(against: str, seed: int) -> None:
    known, kappa = random_scene(seed), 16.0
    one, *others = lie("opt_alie", known, against=against, kappa=kappa)
    assert all(torch.equal(one, other) for other in others)
    middle, std = known.seen.mean.mean(0), spread(known.seen.mean)
    assert torch.allclose(one, middle - factor(known, one) * std, rtol=1e-4, atol=1e-4)
    done = damage(against, known, one, kappa)
    assert done > 0
    for z in (0.0, z_max(known.clients, known.liars)):
        assert done >= damage(against, known, middle - z * std, kappa)


@pytest.mark.parametrize("seed", range(4))
def test_against_the_band_no_other_factor_does_more(seed: int) -> None:
    known, kappa = random_scene(seed), 12.0
    sent = lie("opt_alie", known, kappa=kappa)[0]
    middle, std = known.seen.mean.mean(0), spread(known.seen.mean)
    others = [damage("band", known, middle - z / 20 * std, kappa) for z in range(-300, 300)]
    assert max(others) > 0
    assert damage("band", known, sent, kappa) >= max(others) * (1 - 1e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_the_band_lie_is_accepted_and_a_larger_one_by_fewer(seed: int, far: float) -> None:
    """Also where a weight is so far from 0 that rounding it is felt."""
    known, kappa = random_scene(seed), 12.0
    assert known.honest_local is not None
    known = replace(
        known,
        seen=Belief(known.seen.mean + far, known.seen.rho),
        honest_local=Belief(known.honest_local.mean + far, known.honest_local.rho),
    )
    sent = lie("opt_alie", known, kappa=kappa)[0]
    accepted = accepting(known, sent, kappa)
    assert accepted >= 1
    middle = known.seen.mean.mean(0)
    assert accepting(known, middle + 1.01 * (sent - middle), kappa) < accepted


def test_damages_are_those_of_the_plain_rules(rng: torch.Generator) -> None:
    for honest, lies in ((1, 1), (2, 1), (4, 1), (7, 3), (6, 6), (2, 5)):
        offset = torch.randn(honest, 8, generator=rng)
        offset, std = offset - offset.mean(0), 0.1 + torch.rand(8, generator=rng)
        for z in (0.0, 0.3, 1.0, 2.5, 40.0):
            for drop in range((honest + lies - 1) // 2 + 1):
                wanted = trimmed_damage(offset, -z * std, lies, drop)
                assert to_mean(offset, std, lies, drop)(z) == pytest.approx(wanted, rel=1e-5, abs=1e-6)
            wanted = krum_damage(offset, -z * std, lies)
            assert to_krum(offset, std, lies)(z) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_the_search_doubles_then_shrinks_and_counts_its_tries() -> None:
    """Up to 30 the damage grows; 70 is no better, so the steps are 32, 25.6, ... and 62 is no better, 55.6 is."""
    tried: list[float] = []

    def best_near_55(z: float) -> float:
        tried.append(z)
        return min(z, 30.0) if z < 50 or z > 60 else 100.0

    assert climb(best_near_55, 6) == pytest.approx(55.6)
    assert tried == pytest.approx([0.0, 10.0, 30.0, 70.0, 62.0, 55.6])
    assert climb(lambda z: 0.0, 20) == 0.0


def test_lies_keep_their_share_among_stand_ins() -> None:
    """8 of 20 lie. Who sees the 12 honest reckons with 8 lies; who takes the 8 for the crowd, with 8 * 8 / 12 = 5.3."""
    known = told(torch.zeros(12, 1), 8)
    assert [copies(known, seen) for seen in (12, 8, 1)] == [8, 5, 1]
    assert copies(told(torch.zeros(0, 1), 8), 8) == 8


@KNOWLEDGE
@EVERY_RULE
def test_who_knows_less_still_lies_on_the_line_of_its_crowd(against: str, knowledge: str, beliefs: Belief) -> None:
    known = scene(beliefs, knowledge)
    sent = lie("opt_alie", known, against=against)[0]
    assert torch.allclose(
        sent, known.seen.mean.mean(0) - factor(known, sent) * spread(known.seen.mean), rtol=1e-4, atol=1e-4
    )


def test_who_knows_no_honest_local_belief_takes_its_own() -> None:
    """The liars at 1 and 3 stand for the crowd, their local beliefs, with bands of 2 around 2, for the victims'."""
    own = Belief(column(1, 3), torch.zeros(2, 1))
    local = Belief(column(2, 2), rho_of(column(0.5, 0.5)))
    known = replace(told(column(50, 60), 2), own=own, seen=own, omniscient=False, own_local=local, honest_local=None)
    assert lie("opt_alie", known, kappa=4.0).flatten().tolist() == pytest.approx([0.0, 0.0], abs=1e-5)


@EVERY_RULE
def test_where_all_agree_or_nobody_is_seen_so_do_the_liars(against: str) -> None:
    one = torch.tensor([[1.0, 2.0]])
    for seen in (one, one.expand(3, 2)):
        assert torch.equal(lie("opt_alie", told(seen, 2), against=against), one.expand(2, 2))
    assert torch.equal(lie("opt_alie", told(one[:0], 2), against=against), torch.full((2, 2), 7.0))


@EVERY_RULE
def test_with_nobody_honest_left_the_lie_is_still_a_number(against: str, beliefs: Belief) -> None:
    everybody = scene(beliefs, malicious=torch.ones(6, dtype=torch.bool))
    assert ATTACKS["opt_alie"](against=against).tamper(everybody, liars()).finite().all()


def test_where_nobody_would_accept_any_lie_the_mean_is_sent() -> None:
    known = told(torch.tensor([[1.0, 5.0], [3.0, 5.0]]), 1, torch.tensor([[2.0, 8.0], [2.0, 8.0]]), 0.1)
    assert lie("opt_alie", known, kappa=4.0)[0].tolist() == [2.0, 5.0]


@EVERY_RULE
def test_local_beliefs_are_trained_only_for_the_band(against: str) -> None:
    assert ATTACKS["opt_alie"](against=against).local is (against == "band")


@pytest.mark.parametrize(
    "options", [{"kappa": -1.0}, {"kappa": math.inf}, {"kappa": math.nan}, {"evaluations": 0}, {"evaluations": 101}]
)
def test_values_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        ATTACKS["opt_alie"](**options)


def test_a_rule_it_does_not_know_is_refused() -> None:
    with pytest.raises(ConfigError, match="against"):
        build(ATTACKS["opt_alie"], "attack", "opt_alie", {"against": "zeno"}, gives=Attack)

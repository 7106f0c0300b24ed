"""Our rules and attacks give what those of ByzFL 0.0.11 give (González et al. 2025), where both mean the same.

ByzFL works on the updates that a server hears, ours on the models that a peer hears; where that or another convention
differs, the comment in the test says how the two are made comparable. ByzFL computes in float64 if it is given numpy
arrays, so both do here, and agree to nine digits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module, metadata
from importlib.util import find_spec
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from surefed.attacks import ATTACKS, Scene
from surefed.core import Belief, Stream
from surefed.rules import RULES, Receivers
from surefed.rules.before import BEFORE, Before, preceded

VERSION = "0.0.11"


def installed() -> str | None:
    try:
        return metadata.version("byzfl")
    except metadata.PackageNotFoundError:
        return None


if installed() != VERSION:
    reason = f"compares with byzfl {VERSION}, not {installed()}: pip install --no-deps byzfl=={VERSION}"
    pytest.skip(reason, allow_module_level=True)


def borrow(*parts: str) -> list[ModuleType]:
    """Some parts of byzfl, without its top level, which would import torchvision; sys.modules stays as it was."""

    def known() -> dict[str, ModuleType]:
        return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "byzfl"}

    def forget() -> None:
        for name in known():
            del sys.modules[name]

    before = known()
    forget()
    spec, bare = find_spec("byzfl"), ModuleType("byzfl")
    assert spec is not None
    bare.__path__ = list(spec.submodule_search_locations or [])
    sys.modules["byzfl"] = bare
    try:
        return [import_module(f"byzfl.{part}") for part in parts]
    finally:
        forget()
        sys.modules.update(before)


their_rules, their_attacks = borrow("aggregators", "attacks")

SIZES = (1, 1, 17, 17, 300, 300)
"""How many weights the vectors have, seed by seed."""


class Crowd(NamedTuple):
    """Three receivers that each hear all senders but another one.

    sent: [sender, weight]. own, start: [receiver, weight]. edges: bool [receiver, sender].
    heard: how many senders each receiver hears.
    """

    sent: Tensor
    own: Tensor
    start: Tensor
    edges: Tensor
    heard: int


class Ear(NamedTuple):
    """What one receiver hears [heard, weight], what it learned [weight] and where it started [weight]."""

    heard: np.ndarray
    own: np.ndarray
    start: np.ndarray


CROWDS = [
    (seed, heard, far, weights)
    for seed, weights in enumerate(SIZES)
    for heard, far in ((5, 1), (6, 2), (11, 3), (20, 9))
]


@pytest.fixture(params=CROWDS, ids=str)
def crowd(request: pytest.FixtureRequest) -> Crowd:
    """Senders in any order, some of them far off; (seed, heard, far, weights) is the test's name."""
    seed, heard, far, weights = request.param
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, weights, generator=rng, dtype=torch.float64)

    centre = 3 * normal()
    sent = centre + normal(heard + 1)
    sent[:far] += 10 * normal(far)
    sent = sent[torch.randperm(heard + 1, generator=rng)]
    edges = torch.ones(3, heard + 1, dtype=torch.bool)
    edges[range(3), torch.randperm(heard + 1, generator=rng)[:3]] = False
    return Crowd(sent, centre + normal(3), centre + normal(3), edges, heard)


def point(mean: Tensor) -> Belief:
    return Belief(mean, torch.zeros_like(mean))


def pooled(crowd: Crowd, name: str, before: Before | None = None, **options: object) -> Tensor:
    """What our rule makes of it, after a step before. [receiver, weight]"""
    at = Receivers(point(crowd.own), 0, 1, previous=point(crowd.start))
    rule = RULES[name](**options) if before is None else preceded(RULES[name](**options), before)
    return rule.step(at, point(crowd.sent), crowd.edges, rule.init(*crowd.edges.shape, crowd.sent.shape[1])).social.mean


def close(ours: Tensor, theirs: np.ndarray | Tensor) -> None:
    torch.testing.assert_close(ours, torch.as_tensor(theirs).expand_as(ours), rtol=1e-9, atol=1e-9)


def agree(
    crowd: Crowd, name: str, theirs: Callable[[Ear], np.ndarray], before: Before | None = None, **options: object
) -> None:
    """Our rule gives every receiver what theirs gives of what that receiver hears."""
    receivers = zip(crowd.edges, crowd.own.numpy(), crowd.start.numpy(), strict=True)
    wanted = [theirs(Ear(crowd.sent[edges].numpy(), own, start)) for edges, own, start in receivers]
    close(pooled(crowd, name, before, **options), np.stack(wanted))


# Rules


def test_fedavg(crowd: Crowd) -> None:
    agree(crowd, "fedavg", lambda ear: their_rules.Average()(ear.heard))


def test_trimmed_mean(crowd: Crowd) -> None:
    # Where 2f >= n, theirs refuses and ours becomes the median.
    for f in range((crowd.heard + 1) // 2):
        agree(crowd, "trimmed_mean", lambda ear, f=f: their_rules.TrMean(f)(ear.heard), trim=f)
    with pytest.raises(ValueError, match="2f"):
        their_rules.TrMean(crowd.heard)(crowd.sent[crowd.edges[0]].numpy())
    agree(crowd, "trimmed_mean", lambda ear: their_rules.Median()(ear.heard), trim=crowd.heard)


def test_median(crowd: Crowd) -> None:
    # Of an even number both take the mean of the two middle values.
    agree(crowd, "median", lambda ear: their_rules.Median()(ear.heard))


def around_the_mean(rule: Callable[[np.ndarray], np.ndarray], heard: np.ndarray) -> np.ndarray:
    """Their geometric median starts from 0, ours from the mean of what is heard: around that mean both are alike."""
    centre = heard[np.isfinite(heard).all(1)].mean(0)
    return centre + rule(heard - centre)


@pytest.mark.parametrize(("nu", "steps"), [(0.1, 1), (0.1, 8), (5.0, 3)])
def test_geometric_median(crowd: Crowd, nu: float, steps: int) -> None:
    rule = their_rules.GeometricMedian(nu=nu, T=steps)
    agree(crowd, "geometric_median", lambda ear: around_the_mean(rule, ear.heard), nu=nu, steps=steps)


def test_the_geometric_median_leaves_infinities_out(crowd: Crowd) -> None:
    # Of theirs only this rule leaves a sender of infinities out; of ours every rule does.
    rule = their_rules.GeometricMedian(nu=0.1, T=3)
    lie = torch.as_tensor(their_attacks.Inf()(crowd.sent.numpy()))
    edges = torch.cat((torch.ones(3, 1, dtype=torch.bool), crowd.edges), dim=1)
    told = crowd._replace(sent=torch.cat((lie[None], crowd.sent)), edges=edges)
    agree(told, "geometric_median", lambda ear: around_the_mean(rule, ear.heard), nu=0.1, steps=3)


@pytest.mark.parametrize("crowd", [known for known in CROWDS if known[3] > 1], indirect=True, ids=str)
def test_where_the_geometric_median_starts_from_does_not_matter_in_the_end(crowd: Crowd) -> None:
    # Not so on a line: of an even number, any point between the two in the middle is nearest to all.
    rule = their_rules.GeometricMedian(nu=0.1, T=300)
    agree(crowd, "geometric_median", lambda ear: rule(ear.heard), nu=0.1, steps=300)


def test_krum(crowd: Crowd) -> None:
    # Theirs sums over the n - f closest, the sender itself among them: n - f - 1 others. Ours and Blanchard et al.
    # sum over n - f - 2 others. So theirs with f is ours with f - 1, and theirs with 0 is none of ours.
    for f in range(1, (crowd.heard + 1) // 2):
        agree(crowd, "krum", lambda ear, f=f: their_rules.Krum(f)(ear.heard), malicious=f - 1)


def test_at_the_same_f_krum_counts_one_closest_fewer() -> None:
    """0, 1, 1.5, 3 and 100, f = 1. Two others: 1 has 0.25 + 1, 1.5 has 0.25 + 2.25. Three: 5.25 and 4.75."""
    sent = torch.tensor([[0.0], [1.0], [1.5], [3.0], [100.0]], dtype=torch.float64)
    crowd = Crowd(sent, sent[:1], sent[:1], torch.ones(1, 5, dtype=torch.bool), 5)
    assert pooled(crowd, "krum", malicious=1).item() == 1.0
    assert pooled(crowd, "krum", malicious=0).item() == their_rules.Krum(1)(sent.numpy()).item() == 1.5


def test_krum_of_equal_scores(crowd: Crowd) -> None:
    # With one other that counts, the two closest senders tie. Theirs takes the first, ours the nearer to the receiver.
    sent = crowd.sent[:3]
    first = torch.as_tensor(their_rules.Krum(1)(sent.numpy()))[None]
    tie = Crowd(sent, first, first, torch.ones(1, 3, dtype=torch.bool), 3)
    agree(tie, "krum", lambda ear: their_rules.Krum(1)(ear.heard), malicious=0)


def test_multi_krum(crowd: Crowd) -> None:
    # Scores as in Krum, so ours has f - 1; both average n - f senders, so ours is told how many.
    for f in range(1, (crowd.heard + 1) // 2):
        theirs, chosen = their_rules.MultiKrum(f), crowd.heard - f
        agree(crowd, "multi_krum", lambda ear, theirs=theirs: theirs(ear.heard), malicious=f - 1, chosen=chosen)


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("radius", [0.1, 1.5, 100.0])
def test_centered_clipping(crowd: Crowd, radius: float, steps: int) -> None:
    # Theirs starts from m, 0 unless told (its constructor refuses any m, so m is set later); ours from own weights.
    tau = radius * crowd.sent.shape[1] ** 0.5

    def theirs(ear: Ear) -> np.ndarray:
        rule = their_rules.CenteredClipping(L=steps, tau=tau)
        rule.m = ear.own
        return rule(ear.heard)

    agree(crowd, "centered_clipping", theirs, tau=tau, steps=steps)


def test_centered_clipping_round_after_round(crowd: Crowd) -> None:
    # Theirs remembers its last result and goes on from there, as does a receiver of ours that learns nothing.
    for edges in crowd.edges:
        theirs, own = their_rules.CenteredClipping(tau=2.0), torch.zeros_like(crowd.own[:1])
        for _ in range(3):
            own = pooled(crowd._replace(own=own, start=own, edges=edges[None]), "centered_clipping", tau=2.0)
            close(own, theirs(crowd.sent[edges].numpy()))


@pytest.mark.parametrize("radius", [0.1, 1.5, 100.0])
def test_clipping(crowd: Crowd, radius: float) -> None:
    # Theirs clips vectors, which are updates, for another rule to aggregate; ours clips sent - start, and averages.
    bound = radius * crowd.sent.shape[1] ** 0.5

    def theirs(ear: Ear) -> np.ndarray:
        return ear.start + their_rules.Average()(their_rules.Clipping(bound)(ear.heard - ear.start))

    agree(crowd, "clipping", theirs, bound=bound)


# Steps before a rule


@pytest.mark.parametrize("liars", [1, 2, 4])
def test_nearest_neighbour_mixing(crowd: Crowd, liars: int) -> None:
    def theirs(ear: Ear) -> np.ndarray:
        return their_rules.Median()(their_rules.NNM(liars)(ear.heard))

    agree(crowd, "median", theirs, before=BEFORE["nnm"](malicious=liars))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_bucketing(crowd: Crowd, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Both cut a shuffled list into buckets of `size`, the last one smaller; theirs is given our shuffle.
    order = Stream(0, "bucketing", ["shuffle"]).order(torch.tensor([crowd.heard]))[0].numpy()

    monkeypatch.setattr(np.random, "permutation", lambda vectors: vectors[order])

    def theirs(ear: Ear) -> np.ndarray:
        return their_rules.Median()(their_rules.Bucketing(size)(ear.heard))

    agree(crowd, "median", theirs, before=BEFORE["bucketing"](size=size))


# Attacks


SCENES = [
    (seed, honest, liars, weights) for seed, weights in enumerate(SIZES) for honest, liars in ((2, 1), (5, 3), (12, 4))
]


@pytest.fixture(params=SCENES, ids=str)
def scene(request: pytest.FixtureRequest) -> Scene:
    """Honest clients that vary most along one direction, and liars that know them all."""
    seed, honest, liars, weights = request.param
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng, dtype=torch.float64)

    start = point(normal(weights) + 0.1 * normal(honest + liars, weights))
    mean = start.mean + normal(honest + liars, weights) + 3 * normal(honest + liars, 1) * normal(weights)
    learned, malicious = point(mean), torch.arange(honest + liars) < liars
    return Scene(
        own=learned[malicious],
        start=start[malicious],
        seen=learned[~malicious],
        seen_start=start[~malicious],
        malicious=malicious,
        edges=torch.ones(honest + liars, honest + liars, dtype=torch.bool),
        round=3,
    )


def lies(scene: Scene, name: str, **options: object) -> Tensor:
    """What our liars send. [malicious, weight]"""
    return ATTACKS[name](**options).tamper(scene, Stream(0, "lies", range(scene.liars))).mean


def models(scene: Scene) -> np.ndarray:
    """What the honest send. [honest, weight]"""
    return scene.seen.mean.numpy()


def updates(scene: Scene) -> np.ndarray:
    """What the honest learned this round. [honest, weight]"""
    return (scene.seen.mean - scene.seen_start.mean).numpy()


@pytest.mark.parametrize("z", [-1.5, 0.0, 0.3, 2.0])
def test_alie(scene: Scene, z: float) -> None:
    # Theirs adds tau stds to the mean, ours takes z off: tau = -z. Both stds are the unbiased ones.
    close(lies(scene, "alie", z=z), their_attacks.ALittleIsEnough(tau=-z)(models(scene)))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 2.0])
def test_ipm(scene: Scene, epsilon: float) -> None:
    # Theirs sends -tau times the mean of what it is given: of updates, which ours adds to the start, or of models.
    theirs = their_attacks.InnerProductManipulation(tau=epsilon)
    close(lies(scene, "ipm", epsilon=epsilon), scene.start.mean + torch.as_tensor(theirs(updates(scene))))
    close(lies(scene, "ipm", epsilon=epsilon, on="model"), theirs(models(scene)))


def test_sign_flip(scene: Scene) -> None:
    # Theirs turns the mean of the honest, which of ours is ipm with epsilon 1. Our sign_flip and negate_model turn
    # what each liar learned itself, as theirs does when given that alone.
    theirs = their_attacks.SignFlipping()
    close(lies(scene, "ipm", epsilon=1.0), scene.start.mean + torch.as_tensor(theirs(updates(scene))))
    close(lies(scene, "ipm", epsilon=1.0, on="model"), theirs(models(scene)))
    learned = (scene.own.mean - scene.start.mean).numpy()
    turned = np.stack([theirs(update[None]) for update in learned])
    close(lies(scene, "sign_flip"), scene.start.mean + torch.as_tensor(turned))
    close(lies(scene, "negate_model"), np.stack([theirs(model[None]) for model in scene.own.mean.numpy()]))


def test_mimic(scene: Scene) -> None:
    # Theirs is told whom to copy. Ours finds the client that deviates most along the top singular vector. Of two
    # clients both deviate alike, so a third is added.
    told = replace(scene, seen=point(torch.cat((scene.seen.mean, 2 * scene.seen.mean[:1]))))
    centred = models(told) - models(told).mean(0)
    index = int(np.abs(centred @ np.linalg.svd(centred).Vh[0]).argmax())
    close(lies(told, "mimic"), their_attacks.Mimic(epsilon=index)(models(told)))


@pytest.mark.parametrize(("mu", "sigma"), [(0.0, 1.0), (-2.0, 0.3), (5.0, 0.0)])
def test_gaussian(mu: float, sigma: float) -> None:
    # Theirs draws one vector around mu, ours in `absolute` mode one per liar around its start. The numbers differ, the
    # distribution does not: of 20000 each, the two shares below any value differ by more than 0.0195 once in a
    # thousand times (Kolmogorov and Smirnov). Were one sigma 1.1 times the other, they would differ by 0.023.
    start = point(torch.full((2, 10_000), mu))
    edges = torch.ones(2, 2, dtype=torch.bool)
    scene = Scene(start, start, start, start, malicious=edges[0], edges=edges, round=3)
    ours = lies(scene, "gaussian", mode="absolute", scale=sigma).flatten().sort().values
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        theirs = their_attacks.Gaussian(mu=mu, sigma=sigma)(torch.zeros(1, 20_000)).sort().values
    values = torch.cat((ours, theirs))
    below = [torch.searchsorted(draws, values, right=True) / len(draws) for draws in (ours, theirs)]
    assert (below[0] - below[1]).abs().max().item() < 0.0195

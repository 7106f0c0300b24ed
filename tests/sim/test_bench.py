from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from surefed.core import Belief, ConfigError
from surefed.data import federation
from surefed.rules import RULES, Receivers
from surefed.sim.assemble import assemble
from surefed.sim.bench import (
    Clock,
    Engine,
    Straight,
    Workload,
    copy_bandwidth,
    interleaved,
    middle,
    one_pass,
    peak_mib,
)
from surefed.sim.engine import begin, learn, play_round
from surefed.sim.experiment import Learn
from surefed.sim.loop import Loop

TINY = Workload(clients=4, model="linear", samples=10, tests=20)
CPU = torch.device("cpu")


def stacked(loop: Loop) -> tuple[Belief, Belief]:
    """The loop's social and local beliefs as the engine has them."""

    def stack(name: str) -> Belief:
        beliefs = getattr(loop, name)
        return Belief(*(torch.stack([getattr(one, part).detach() for one in beliefs]) for part in ("mean", "rho")))

    return stack("social"), stack("local")


def scattered(rng: torch.Generator, kappa: float) -> Loop:
    """A loop of five clients whose beliefs lie apart."""
    data = federation([(torch.rand(10, 3), torch.arange(10) % 2) for _ in range(5)], (torch.rand(4, 3), [0, 1, 0, 1]))
    loop = Loop(nn.Linear(3, 2), data, Learn(learning_rate=1e-3), kappa)
    with torch.no_grad():
        for one in (*loop.social, *loop.local):
            one.mean.copy_(torch.randn(8, generator=rng))
            one.rho.copy_(torch.randn(8, generator=rng))
    return loop


@pytest.mark.parametrize("kappa", [0.1, 2.5, 1e6])
def test_the_loop_judges_as_the_rule_does(rng: torch.Generator, kappa: float) -> None:
    loop = scattered(rng, kappa)
    social, local = stacked(loop)
    rule = RULES["surefed"](kappa=kappa, heading="off", std_floor=0.0, std_ceiling=0.0)
    everybody = torch.ones(5, 5, dtype=torch.bool)
    at = Receivers(social, 0, 1, local=local, local_learns=torch.ones(5, dtype=torch.bool))
    outcome = rule.step(at, social, everybody, rule.init(5, 5, social.weights))
    trusted = loop.judge()
    assert trusted == [row.nonzero().flatten().tolist() for row in outcome.inspection.trusted]
    torch.testing.assert_close(stacked(loop)[0].mean, outcome.social.mean)
    torch.testing.assert_close(stacked(loop)[0].rho, outcome.social.rho, rtol=1e-4, atol=1e-5)


def test_the_loop_learns_as_the_engine_does() -> None:
    # Clients with one image each, and a std of 1e-5: neither batches nor noise make a difference, and in the first
    # batch of a round the KL has no slope. Two rounds of one batch are then two steps of Adam on the same loss.
    image, label = torch.rand(1, 1, 8, 8), [1]
    data = federation([(image, label), (image, [0])], (image, label))
    changes = ("learn.rho=-11.5", "learn.batches=1", "learn.batch_size=1")
    setup = assemble(replace(TINY, settings=changes).experiment(), data=data)
    world = begin(setup)
    loop = Loop(setup.network.module, data, setup.experiment.learn, 1e6)
    for _ in range(2):
        learn(setup, world)
        world.round += 1
        loop.learn()
    start = setup.network.initial()
    steps = world.rows.mean[:2] - start
    assert steps.abs().amax() == pytest.approx(2e-3, rel=0.01)  # Adam steps by its rate
    close = (stacked(loop)[0].mean - start - steps).abs() < 2e-5
    assert close.float().mean() > 0.99  # where the slope is next to nothing, its sign is the noise's


def test_dividing_a_round_changes_nothing() -> None:
    whole, divided = Engine(TINY), Engine(TINY)
    clock = Clock(CPU)
    for _ in range(3):
        whole.play()
        divided.divide(clock)
    assert torch.equal(whole.world.rows.mean, divided.world.rows.mean)
    assert set(clock.spent) == {"learn", "rule"}


def test_everybody_passes_so_that_the_inspection_is_at_its_worst() -> None:
    engine = Engine(TINY)
    for _ in range(3):
        assert bool(play_round(engine.setup, engine.world).trusted.all())


def test_the_parts_of_a_round_are_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # A clock that ticks once whenever it is looked at. A divided round looks at it twice for each of two parts, which
    # take 1 tick each, and twice around the whole: 5 ticks, so 3 are spent between the parts. A whole round takes 1.
    ticks = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    spent = one_pass(Engine(TINY), 1, CPU)
    assert spent == {"learn": 1, "rule": 1, "other": 3, "round": 1, "evaluate": 1}


def test_passes_are_interleaved_after_a_warm_up() -> None:
    seen: list[str] = []

    class Fake:
        def __init__(self, name: str) -> None:
            self.name = name

        def play(self) -> None:
            seen.append(self.name)

        def divide(self, clock: Clock) -> None:
            for part in ("learn", "rule"):
                with clock.part(part):
                    pass

        def evaluate(self) -> None:
            pass

    passes = interleaved({"engine": Fake("a"), "loop": Fake("b")}, 2, 2, CPU)
    assert "".join(seen) == "ab" + "aabb" * 2
    assert [len(value) for value in passes.values()] == [2, 2]


def test_the_median_pass_is_taken_part_by_part() -> None:
    assert middle([{"a": 1.0, "b": 5.0}, {"a": 9.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]) == {"a": 3.0, "b": 4.0}


def test_the_state_is_counted_in_bytes() -> None:
    # 650 weights (64 x 10 and 10), 4 clients with 2 beliefs: mean, rho and Adam's four moments of 4 bytes each.
    assert Engine(TINY).state_bytes == 650 * 4 * 2 * 6 * 4
    # Plain networks: mean, rho and one buffer of SGD.
    assert Engine(replace(TINY, rule="trimmed_mean")).state_bytes == 650 * 4 * 1 * 3 * 4


def test_a_rule_that_trims_trims_two_fifths() -> None:
    assert replace(TINY, clients=50, rule="trimmed_mean").experiment().rule.options == {"trim": 20}


def test_a_copy_counts_what_it_reads_and_what_it_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 8.0, 10.0, 14.0])  # copies of 8 and 4 seconds: the faster one counts, 2 x 4000 bytes in 4 s
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    assert copy_bandwidth(CPU, 4000, repeats=2) == 2000


def test_the_loop_refuses_what_it_does_not_play() -> None:
    with pytest.raises(ConfigError, match="--compare"):
        Straight(replace(TINY, rule="krum"))
    with pytest.raises(ConfigError, match="--set"):
        Straight(replace(TINY, settings=("graph.name=ring",)))


@pytest.mark.slow
def test_a_larger_federation_holds_more_memory() -> None:
    few, many = (peak_mib("engine", replace(TINY, clients=count, samples=100)) for count in (4, 2000))
    assert few is not None
    assert many is not None
    # Images 2000 x 100 x 64 x 4 bytes are 49 MiB, the state 2 x 2000 x 650 x 6 x 4 bytes is 60.
    assert many > few + 100

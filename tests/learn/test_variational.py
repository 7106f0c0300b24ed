from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

from surefed.core import Stream
from surefed.learn import Lesson, Network, Rows, Variational, draw_batches, kl_shares

MODULE = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def lesson(rows: int = 3, batches: int = 4, size: int = 5) -> Lesson:
    rng = torch.Generator().manual_seed(1)
    inputs, labels = torch.randn(30, 3, generator=rng), torch.randint(0, 2, (30,), generator=rng)
    seen = torch.randint(0, 30, (rows, batches, size), generator=rng)
    return Lesson(inputs, labels, seen, torch.tensor([10, 20, 30])[:rows], Stream(0, "noise", range(rows)), round=6)


def by_autograd(learner: Variational, start: Rows, taught: Lesson) -> tuple[Tensor, Tensor]:
    """One row at a time: the free energy as the paper writes it, torch's autograd, torch's Adam."""
    means, rhos = [], []
    for row in range(len(start.steps)):
        mean, rho = start.mean[row].clone().requires_grad_(), start.rho[row].clone().requires_grad_()
        optimiser = torch.optim.Adam([mean, rho], lr=learner.learning_rate)
        prior = Normal(mean.detach().clone(), F.softplus(rho.detach().clone()))
        if learner.prior == "fixed":
            prior = Normal(torch.zeros_like(mean), torch.tensor(learner.prior_std))
        count, size = taught.batches.shape[1:]
        for turn in range(count):
            seen = taught.batches[row, turn]
            std = F.softplus(rho)
            fit = torch.zeros(())
            for draw in range(learner.samples):
                eps = taught.noise.normal(mean.numel(), round=taught.round, draw=turn * learner.samples + draw)[row]
                weights = learner.network.split((mean + std * eps)[None])
                scores = torch.func.functional_call(
                    MODULE,
                    dict(zip(learner.network.names, (part[0] for part in weights), strict=True)),
                    taught.inputs[seen],
                )
                fit = fit + F.cross_entropy(scores, taught.labels[seen]) / learner.samples
            divergence = kl_divergence(Normal(mean, std), prior).sum()
            if learner.prior == "streaming":
                share = kl_shares(count, learner.kl_weights)[turn] / size
            else:
                share = kl_shares(count, learner.kl_weights)[turn] * count / int(taught.sizes[row])
            optimiser.zero_grad()
            (fit + learner.kl_scale * share * divergence).backward()
            optimiser.step()
        means.append(mean.detach())
        rhos.append(rho.detach())
    return torch.stack(means), torch.stack(rhos)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"samples": 3},
        {"kl_weights": "blundell", "learning_rate": 0.01},
        {"kl_scale": 0.1, "rho": -1.0},
        {"prior": "fixed", "prior_std": 0.7},
        {"prior": "fixed", "prior_std": 0.7, "kl_weights": "blundell"},
    ],
)
def test_closed_form_gradients_and_adam_equal_autograd(options: dict[str, object]) -> None:
    learner = Variational(Network(MODULE), **options)  # type: ignore[arg-type]
    rows = learner.init(learner.network.initial(), 3)
    taught = lesson()
    mean, rho = by_autograd(learner, rows, taught)
    learner.learn(rows, taught)
    assert torch.allclose(rows.mean, mean, atol=2e-6)
    assert torch.allclose(rows.rho, rho, atol=2e-6)
    assert rows.steps.tolist() == [4, 4, 4]


def test_moments_survive_rounds_unless_told_otherwise() -> None:
    for keep, steps in ((True, 8), (False, 4)):
        learner = Variational(Network(MODULE), keep_moments=keep)
        rows = learner.init(learner.network.initial(), 3)
        learner.learn(rows, lesson())
        learner.learn(rows, lesson())
        assert rows.steps.tolist() == [steps] * 3


def test_rows_learn_the_same_alone_stacked_or_in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Variational(Network(MODULE))
    taught = lesson()
    together = learner.init(learner.network.initial(), 3)
    learner.learn(together, taught)
    monkeypatch.setattr("surefed.learn.base.BLOCK", 1)
    one_by_one = learner.init(learner.network.initial(), 3)
    learner.learn(one_by_one, taught)
    assert torch.allclose(together.mean, one_by_one.mean, atol=1e-7)


def test_inactive_rows_do_not_move() -> None:
    learner = Variational(Network(MODULE))
    everybody, some = (learner.init(learner.network.initial(), 3) for _ in range(2))
    before = some.mean.clone()
    learner.learn(everybody, lesson())
    learner.learn(some, lesson(), active=torch.tensor([True, False, True]))
    assert torch.equal(some.mean[1], before[1])
    assert torch.allclose(some.mean[[0, 2]], everybody.mean[[0, 2]], atol=1e-7)
    assert some.steps.tolist() == [4, 0, 4]
    assert all(moment[1].abs().sum() == 0 for moment in some.moments)


@pytest.mark.parametrize("rho", [-13.8, 10.0])
def test_extreme_beliefs_learn_without_nan(rho: float) -> None:
    learner = Variational(Network(MODULE), rho=rho)
    rows = learner.init(learner.network.initial() * 1e3, 3)
    for _ in range(5):
        learner.learn(rows, lesson())
    assert rows.mean.isfinite().all()
    assert rows.rho.isfinite().all()


def test_a_gradient_that_is_not_a_number_counts_as_zero() -> None:
    learner = Variational(Network(MODULE), kl_scale=0.0)
    rows = learner.init(learner.network.initial(), 3)
    rows.mean[1] = 1e38
    ruined = rows.mean[1].clone()
    learner.learn(rows, lesson())
    assert torch.equal(rows.mean[1], ruined)
    assert rows.mean.isfinite().all()


@pytest.mark.parametrize("weights", ["uniform", "blundell"])
@pytest.mark.parametrize("batches", [1, 2, 5, 60])
def test_the_batches_pay_the_kl_once(weights: str, batches: int) -> None:
    assert sum(kl_shares(batches, weights)) == pytest.approx(1.0)  # type: ignore[arg-type]


def test_blundell_shares_worked_by_hand() -> None:
    assert kl_shares(3, "blundell") == pytest.approx([4 / 7, 2 / 7, 1 / 7])


def test_minibatches_go_through_the_samples_before_repeating() -> None:
    sizes = torch.tensor([20, 7, 5])
    drawn = draw_batches(Stream(0, "order", range(3)), sizes, round=2, batches=4, batch_size=5)
    assert drawn.shape == (3, 4, 5)
    assert sorted(drawn[0].flatten().tolist()) == list(range(20))
    assert sorted(drawn[1].flatten()[:7].tolist()) == list(range(7))
    assert all(sorted(batch.tolist()) == list(range(5)) for batch in drawn[2])
    other = draw_batches(Stream(0, "order", range(3)), sizes, round=3, batches=4, batch_size=5)
    assert not torch.equal(drawn, other)

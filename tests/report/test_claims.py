from __future__ import annotations

from collections.abc import Mapping

import pytest

from surefed.report.claims import Decided, decide, table
from surefed.report.judging import Verdict
from surefed.report.names import BASELINES, NON_STEALTHY
from surefed.report.results import Cell, Sweep

from .made import cell, sweep


def grid(ours: Mapping[str, float], *, others: float = 0.3, clean: float = 0.96) -> list[Cell]:
    """SureFED as given, else as good as clean; baselines all alike."""
    cells = [cell("surefed", attack, ours.get(attack, clean)) for attack in NON_STEALTHY]
    cells += [cell(method, attack, others) for method in BASELINES for attack in NON_STEALTHY]
    return [*cells, cell("surefed", "none", clean)]


def found(words: str, *sweeps: Sweep) -> Decided:
    (one,) = [one for one in decide(sweeps) if words in one.claim.text]
    return one


LOUD = "MNIST by writer: SureFED matches benign training under label flip"


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ({}, Verdict.HOLDS),
        ({"label_flip": 0.95}, Verdict.HOLDS),  # a point is still the same
        ({"label_flip": 0.949}, Verdict.PART),
        ({"alie": 0.1}, Verdict.HOLDS),  # another claim's
        (dict.fromkeys(NON_STEALTHY, 0.5), Verdict.NOT),
    ],
)
def test_matching_benign_training(ours: dict[str, float], verdict: Verdict) -> None:
    assert found(LOUD, sweep(grid(ours))).verdict is verdict


def test_the_sentence_has_the_figures() -> None:
    said = found(LOUD, sweep(grid({"gaussian": 0.5}))).sentence
    assert said.startswith("Clean 96.0 %; Label flip 96.0, Bit flip 96.0, General random 96.0, Gaussian 50.0")
    assert "8000 rounds, 50 clients" in said
    assert "Told who lies" not in said
    bound = [cell("oracle", attack, 0.95) for attack in NON_STEALTHY]
    assert "Told who lies, without their data: 95.0." in found(LOUD, sweep([*grid({}), *bound])).sentence


def test_only_seeds_that_all_have_are_compared() -> None:
    """A second seed of one attack, with other and harder clients, says nothing beside the first seed of clean."""
    more = [cell("surefed", "label_flip", 0.6, seed=1)]
    one = found(LOUD, sweep([*grid({}), *more]))
    assert one.verdict is Verdict.HOLDS
    assert "Label flip 96.0" in one.sentence
    assert "1 seed)" in one.sentence
    more += [cell("surefed", attack, 0.7, seed=1) for attack in (*NON_STEALTHY[1:], "none")]
    both = found(LOUD, sweep([*grid({}), *more]))
    assert both.verdict is Verdict.PART
    assert "Clean 83.0 %; Label flip 78.0" in both.sentence
    assert "2 seeds)" in both.sentence
    behind = found("MNIST by writer: SureFED surpasses", sweep([*grid({}, others=0.9), *more]))
    assert behind.verdict is Verdict.HOLDS  # on the seed that the baselines have


def test_what_the_digits_show_stands_beside_an_ablation_that_was_not_run() -> None:
    def shares(data: str, last: float) -> list[Cell]:
        labels = {"study": "share"}
        scores = {share / 10: 0.96 for share in range(9)} | {0.9: last}
        return [
            cell("surefed", "label_flip", score, labels=labels, data=data, attack__malicious=share)
            for share, score in scores.items()
        ]

    def of(*cells: Cell) -> Decided:
        return found("every share", sweep(cells, keys=("rule.name", "attack.malicious")))

    small = of(*shares("digits", 0.5))
    assert small.verdict is Verdict.UNKNOWN
    assert "On the embedded digits, which are far smaller: holds in part. 96.0 % with none malicious" in small.sentence
    both = of(*shares("digits", 0.5), *shares("mnist", 0.95))
    assert both.verdict is Verdict.HOLDS
    assert "digits" not in both.sentence


def test_another_form_is_told_of_where_surefed_was_not_run_as_it_is() -> None:
    def of(method: str, **scores: float) -> list[Cell]:
        return [
            cell(method, one.attack, scores.get(one.attack, one.score)) for one in grid({}) if one.method == "surefed"
        ]

    baselines = [one for one in grid({}) if one.method != "surefed"]
    before = of("surefed_without_camps", alie=0.5)
    alone = {one.claim.text: one for one in decide([sweep([*baselines, *before])])}
    for text, told in (
        ("MNIST by writer: benign training reaches 96 %", "holds. 96.0 % here"),
        ("MNIST by writer: SureFED matches benign training under ALIE", "does not hold here. Clean 96.0 %; ALIE 50.0"),
        ("MNIST by writer: SureFED surpasses each baseline under each attack", "holds. In 25 of 25 pairs"),
    ):
        assert alone[text].verdict is Verdict.UNKNOWN
        assert f"SureFED, no camps: {told}" in alone[text].sentence
    assert "no camps" not in alone["CIFAR-10: benign training reaches 71 %"].sentence
    both = sweep([*baselines, *before, *of("surefed", alie=0.96)])
    told_of = [(one.verdict, one.sentence) for one in decide([both])]
    assert told_of == [(one.verdict, one.sentence) for one in decide([sweep([*baselines, *of("surefed", alie=0.96)])])]


def test_a_missing_cell_is_not_measured_and_named() -> None:
    cells = [one for one in grid({}) if (one.method, one.attack) != ("surefed", "gaussian")]
    one = found(LOUD, sweep(cells))
    said = "Clean 96.0 %; Label flip 96.0, Bit flip 96.0, General random 96.0 (8000 rounds, 50 clients, 1 seed)."
    assert (one.verdict, one.sentence) == (Verdict.UNKNOWN, f"Missing: Gaussian. As far as measured: holds. {said}")
    assert found("MNIST by writer: SureFED matches benign training under ALIE", sweep(cells)).verdict is Verdict.HOLDS


def test_what_those_show_that_were_measured_is_told() -> None:
    """Zeno is missing: whether all baselines, or all but it, are behind is open, and that one is not is not."""
    without = [one for one in grid({}) if one.method != "zeno"]
    names = (
        (
            "MNIST by writer: SureFED's worst case",
            "Missing: Zeno. As far as measured: holds. Worst cases: SureFED 96.0",
        ),
        ("MNIST by writer: each baseline fails", "Missing: Zeno. As far as measured: holds. Clean 96.0 %; worst cases"),
        ("MNIST by writer: SureFED surpasses", "and 1 more. As far as measured: holds. In 20 of 20 pairs; narrowest"),
    )
    for claim, said in names:
        one = found(claim, sweep(without))
        assert one.verdict is Verdict.UNKNOWN
        assert said in one.sentence
        assert "inf" not in one.sentence
    ahead = [cell(one.method, one.attack, 0.99) if one.method == "clipping" else one for one in without]
    worst = found("MNIST by writer: SureFED's worst case", sweep(ahead))
    assert worst.verdict is Verdict.PART
    assert worst.sentence.endswith("Missing: Zeno. The verdict stands without.")


def test_what_is_missing_may_not_be_needed() -> None:
    """The backdoor is in, and no lower than under others: whatever Zeno did."""
    cells = [one for one in trojan(1.0, 1.0).cells if one.method != "zeno"]
    for claim in ("MNIST by writer: the backdoor reaches", "MNIST by writer: SureFED alone keeps the backdoor low"):
        one = found(claim, sweep(cells))
        assert one.verdict is Verdict.NOT
        assert one.sentence.endswith("Missing: Zeno. The verdict stands without.")
    ours = [one for one in cells if one.method == "surefed"]
    assert found("MNIST by writer: the backdoor reaches", sweep(ours)).verdict is Verdict.UNKNOWN


def test_nothing_is_measured_without_cells_or_by_a_rehearsal() -> None:
    assert {one.verdict for one in decide([])} == {Verdict.UNKNOWN}
    assert {one.verdict for one in decide([sweep(grid({}), quick=True)])} == {Verdict.UNKNOWN}


def test_fewer_malicious_clients_than_in_the_paper_decide_nothing() -> None:
    few = [cell("surefed", attack, 0.96, attack__malicious=0.1) for attack in NON_STEALTHY]
    assert found(LOUD, sweep([*few, cell("surefed", "none", 0.96)])).verdict is Verdict.UNKNOWN


def test_the_longest_runs_decide() -> None:
    short = sweep([cell("surefed", attack, 0.2, rounds=100) for attack in NON_STEALTHY], name="short")
    assert found(LOUD, short, sweep(grid({}))).verdict is Verdict.HOLDS


@pytest.mark.parametrize(("clean", "verdict"), [(0.95, Verdict.HOLDS), (0.92, Verdict.PART), (0.90, Verdict.NOT)])
def test_benign_accuracy(clean: float, verdict: Verdict) -> None:
    assert found("benign training reaches 96 %", sweep(grid({}, clean=clean))).verdict is verdict


@pytest.mark.parametrize(
    ("ours", "others", "verdict"),
    [({}, 0.3, Verdict.HOLDS), ({"alie": 0.2}, 0.3, Verdict.PART), ({}, 0.99, Verdict.NOT)],
)
def test_surpassing_each_baseline(ours: dict[str, float], others: float, verdict: Verdict) -> None:
    one = found("MNIST by writer: SureFED surpasses", sweep(grid(ours, others=others)))
    assert one.verdict is verdict
    if ours:
        assert one.sentence.startswith("In 20 of 25 pairs; narrowest: BayP2PFL under ALIE, \u221210.0 points")


def test_the_worst_case() -> None:
    claim = "MNIST by writer: SureFED's worst case"
    assert found(claim, sweep(grid({"alie": 0.31}))).verdict is Verdict.HOLDS
    assert found(claim, sweep(grid({"alie": 0.29}))).verdict is Verdict.NOT
    mixed = [
        cell("zeno", a, 0.2) if (one.method, a := one.attack)[0] == "zeno" else one for one in grid({"alie": 0.25})
    ]
    assert found(claim, sweep(mixed)).verdict is Verdict.PART


def test_each_baseline_fails_somewhere() -> None:
    claim = "MNIST by writer: each baseline fails"
    assert found(claim, sweep(grid({}, others=0.86))).verdict is Verdict.HOLDS
    assert found(claim, sweep(grid({}, others=0.87))).verdict is Verdict.NOT


def trojan(ours: float, others: float) -> Sweep:
    made = {"surefed": ours} | dict.fromkeys(BASELINES, others)
    return sweep([cell(name, "trojan", 0.96, figures={"backdoor": share}) for name, share in made.items()])


@pytest.mark.parametrize(
    ("ours", "others", "reached", "alone"),
    [
        (0.20, 1.0, Verdict.HOLDS, Verdict.HOLDS),
        (0.29, 0.2, Verdict.HOLDS, Verdict.NOT),
        (0.60, 1.0, Verdict.PART, Verdict.PART),
        (0.60, 0.1, Verdict.NOT, Verdict.NOT),
    ],
)
def test_the_trojan(ours: float, others: float, reached: Verdict, alone: Verdict) -> None:
    assert found("MNIST by writer: the backdoor reaches 24 %", trojan(ours, others)).verdict is reached
    assert found("MNIST by writer: SureFED alone keeps", trojan(ours, others)).verdict is alone


@pytest.mark.parametrize(("share", "reached", "alone"), [
    (0.28, Verdict.HOLDS, Verdict.HOLDS), (0.4, Verdict.PART, Verdict.HOLDS), (0.9, Verdict.PART, Verdict.PART),
    (1.0, Verdict.NOT, Verdict.NOT),
])  # fmt: skip
def test_the_worst_seed_tells_whether_a_backdoor_is_low(share: float, reached: Verdict, alone: Verdict) -> None:
    """Though its mean with two at 0 is low, and though nothing else was run under it."""
    others = [one for one in trojan(0.0, 1.0).cells if one.method != "surefed"]
    shares = enumerate((0.0, 0.0, share))
    ours = [cell("surefed", "trojan", 0.96, seed=seed, figures={"backdoor": one}) for seed, one in shares]
    one = found("MNIST by writer: the backdoor reaches 24 %", sweep([*ours, *others]))
    assert one.verdict is reached
    mean, most = f"{100 * share / 3:.1f}", f"{100 * share:.1f}"
    assert one.sentence.startswith(f"{mean} % (0.0 to {most} under 3 seeds) here; others: BayP2PFL 100.0,")
    assert found("MNIST by writer: SureFED alone keeps", sweep([*ours, *others])).verdict is alone


def shares(fall_from: float) -> Sweep:
    return sweep(
        [
            cell(
                "surefed",
                "label_flip",
                0.5 if at / 10 >= fall_from else 0.95,
                labels={"study": "share"},
                attack__malicious=at / 10,
            )
            for at in range(10)
        ],
        keys=("attack.malicious",),
    )


@pytest.mark.parametrize(("fall", "verdict"), [(1.0, Verdict.HOLDS), (0.6, Verdict.PART), (0.5, Verdict.NOT)])
def test_every_share_of_malicious_clients(fall: float, verdict: Verdict) -> None:
    assert found("every share", shares(fall)).verdict is verdict


def graphs(**accuracies: float) -> Sweep:
    labels = {"study": "graph"}
    cells = [
        cell("surefed", "label_flip", score, data="femnist", labels=labels, graph__name=name)
        for name, score in accuracies.items()
    ]
    return sweep(cells, keys=("graph.name",))


def test_graphs() -> None:
    claim = "Incomplete and time-varying graphs"
    assert found(claim, graphs(complete=0.73, drop_edges=0.72, time_varying=0.74)).verdict is Verdict.HOLDS
    assert found(claim, graphs(complete=0.73, drop_edges=0.70, time_varying=0.74)).verdict is Verdict.PART
    assert found(claim, graphs(complete=0.73, drop_edges=0.70, time_varying=0.70)).verdict is Verdict.NOT
    assert found(claim, graphs(complete=0.73, drop_edges=0.73)).sentence == "Missing: time_varying."


def kappas(hostile: list[float]) -> Sweep:
    labels = {"study": "kappa"}
    cells = [cell("surefed", "label_flip", score, labels=labels, rule__kappa=k) for k, score in enumerate(hostile)]
    cells += [cell("surefed", "none", 0.95, labels=labels, rule__kappa=float(k)) for k in range(len(hostile))]
    return sweep(cells, keys=("rule.kappa",))


def test_kappa() -> None:
    assert found("kappa is easily", kappas([0.95, 0.95, 0.2])).verdict is Verdict.HOLDS
    assert found("kappa is easily", kappas([0.95, 0.3, 0.2])).verdict is Verdict.PART
    assert found("kappa is easily", kappas([0.95])).verdict is Verdict.UNKNOWN


def test_a_row_for_every_claim() -> None:
    decided = decide([])
    assert len(table(decided).rows) == len(decided) == len({one.claim.text for one in decided})

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from surefed.report import figures, paper_figures, provenance, studies, tables
from surefed.report.gather import curve
from surefed.report.groups import groups, mean
from surefed.report.names import BASELINES, NON_STEALTHY
from surefed.report.results import Sweep

from .made import cell, line, sweep

BY_HAND = sweep(
    [
        cell("surefed", "label_flip", 0.95, seed=0),
        cell("surefed", "label_flip", 0.96, seed=1),
        cell("surefed", "label_flip", 0.94, seed=2),
        cell("surefed", "alie", 0.80),
        cell("surefed", "none", 0.96),
        cell("surefed", "trojan", 0.10, figures={"backdoor": 0.30, "backdoor_worst": 0.5, "backdoor_floor": 0.02}),
        cell("zeno", "label_flip", 0.50),
        cell("zeno", "alie", None, status="failed"),
        cell("mine", "label_flip", 0.70),
    ]
)


def texts(made: Sweep = BY_HAND) -> dict[str, dict[str, tuple[str, tuple[str, ...]]]]:
    (group,) = groups(made)
    table = tables.accuracy(group)
    return {
        row[0].text: {name: (entry.text, entry.notes) for name, entry in zip(table.columns, row, strict=True)}
        for row in table.rows
    }


def test_accuracy_by_hand() -> None:
    told = texts()
    assert list(told) == ["SureFED", "Zeno", "mine"]
    assert told["SureFED"]["Label flip"] == ("95.0", ("94.0 to 96.0", "seed 0: 95.0", "paper 96, \u22121.0"))
    assert told["SureFED"]["Nobody lies"] == ("96.0", ("paper 96, 0.0",))  # one seed has no spread
    assert told["Zeno"]["Label flip"] == ("50.0", ("paper 82, \u221232.0",))
    assert told["mine"]["Label flip"] == ("70.0", ())  # the paper does not have it
    assert told["SureFED"]["Seeds"] == ("1 to 3", ())
    assert told["mine"]["Seeds"] == ("1", ())


def test_the_worst_case_leaves_trojan_and_peace_aside() -> None:
    told = texts()
    assert told["SureFED"]["Worst case"] == ("80.0", ("ALIE", "paper 96, \u221216.0"))
    assert told["mine"]["Worst case"] == ("70.0", ("Label flip",))
    assert texts(sweep([cell("mine", "none", 0.9)]))["mine"]["Worst case"] == ("-", ())


def test_methods_of_different_seeds_are_compared_by_those_that_all_have() -> None:
    """SureFED has 90 and 80 on average; under seed 1, which is all that the other has, 80 and 90."""
    cells = [cell("surefed", "alie", share, seed=at) for at, share in enumerate((0.95, 0.80, 0.95))]
    cells += [cell("surefed", "gaussian", share, seed=at) for at, share in enumerate((0.75, 0.90, 0.75))]
    cells += [cell("mine", "alie", 0.85, seed=1), cell("mine", "gaussian", 0.84, seed=1)]
    told = texts(sweep(cells))
    assert told["SureFED"]["ALIE"] == ("90.0", ("80.0 to 95.0", "seed 1: 80.0", "paper 96, \u22126.0"))
    assert told["SureFED"]["Gaussian"] == ("80.0", ("75.0 to 90.0", "seed 1: 90.0", "paper 96, \u221216.0"))
    assert told["SureFED"]["Worst case"] == ("80.0", ("Gaussian", "paper 96, \u221216.0"))  # 80 under seed 1 as well
    assert told["mine"]["Worst case"] == ("84.0", ("Gaussian",))
    (group,) = groups(sweep(cells))
    assert "after “seed 1”" in tables.accuracy(group).note
    (apart,) = groups(sweep([*cells, cell("zeno", "alie", 0.5, seed=0)]))
    assert apart.shared() == frozenset()
    assert not any("seed" in note for row in tables.accuracy(apart).rows for entry in row for note in entry.notes)
    alone = texts(sweep(cells[:6]))  # all figures are of the same seeds
    assert not any("seed" in note for _, notes in alone["SureFED"].values() for note in notes)


def test_a_missing_cell_is_a_dash_beside_the_papers_figure() -> None:
    assert texts()["Zeno"]["ALIE"] == ("-", ("paper 90",))
    assert texts()["mine"]["ALIE"] == ("-", ())


def test_a_rehearsal_is_not_measured_against_the_paper() -> None:
    told = texts(sweep([cell("surefed", "label_flip", 0.5)], quick=True))
    assert told["SureFED"]["Label flip"] == ("50.0", ("paper 96",))


def test_the_csv_has_the_figures_as_they_are() -> None:
    (group,) = groups(BY_HAND)
    rows = list(csv.DictReader(io.StringIO(tables.accuracy(group).csv())))
    found = next(row for row in rows if (row["method"], row["attack"]) == ("surefed", "label_flip"))
    assert [float(found[key]) for key in ("mean", "lowest", "highest", "paper", "difference")] == pytest.approx(
        [0.95, 0.94, 0.96, 0.96, -0.01]
    )
    assert (found["seeds"], found["source"]) == ("3", "tab:mnist:table")
    assert not [row for row in rows if (row["method"], row["attack"]) == ("zeno", "alie")]


def test_trojan_by_hand() -> None:
    (group,) = groups(BY_HAND)
    table = tables.trojan(group)
    assert table is not None
    (row,) = table.rows
    assert [entry.text for entry in row] == ["SureFED", "10.0", "30.0", "50.0", "2.0"]
    assert row[2].notes == ("paper 24, +6.0",)
    (plain,) = groups(sweep([cell("surefed", "none", 0.9)]))
    assert tables.trojan(plain) is None


def test_only_rules_that_judge_are_in_the_table_of_trust() -> None:
    shares = {"trusts_honest": 1.0, "trusts_malicious": 0.25, "precision": 1.0, "recall": 0.75}
    judged = [cell("surefed", "alie", 0.9, figures=shares), cell("oracle", "alie", 0.9, figures=shares)]
    (group,) = groups(sweep([*judged, cell("surefed", "none", 0.9)]))
    table = tables.detection(group)
    assert table is not None
    assert [[entry.text for entry in row] for row in table.rows] == [["SureFED", "ALIE", "100", "25", "100", "75"]]
    (alone,) = groups(sweep([cell("oracle", "alie", 0.9, figures=shares)]))
    assert tables.detection(alone) is None


def test_where_a_rule_left_nobody_out_is_not_in_the_table_of_trust() -> None:
    shares = {"trusts_honest": 1.0, "trusts_malicious": 1.0, "recall": 0.0}
    everybody = curve([line(100, 0.9, trusted={"honest": 1.0, "malicious": 1.0})])
    gullible = replace(cell("surefed", "alie", 0.9, figures=shares), curve=everybody)
    (group,) = groups(sweep([gullible, cell("surefed", "ipm", 0.9, figures=shares)]))  # it left some out on its way
    table = tables.detection(group)
    assert table is not None
    assert [row[1].text for row in table.rows] == ["ipm"]


def test_a_study_under_the_trojan_tells_the_backdoor_too() -> None:
    fooled = cell("surefed", "trojan", 0.9, labels={"study": "kappa"}, figures={"backdoor": 0.57}, rule__kappa=10)
    wide = cell("surefed", "trojan", 0.8, labels={"study": "kappa"}, figures={"backdoor": 1.0}, rule__kappa=50)
    (group,) = groups(sweep([fooled, wide], keys=("rule.kappa",)))
    assert [(row[1].text, row[1].notes) for row in tables.study(group).rows] == [
        ("90.0", ("backdoor 57.0",)),
        ("80.0", ("backdoor 100.0",)),
    ]


def test_figures_have_room_for_many_attacks(tmp_path: Path) -> None:
    """Names that do not fit beside a figure would make it collapse, which is a warning, and here an error."""
    names = [f"attack_{at}" for at in range(21)]
    (table,) = groups(sweep([cell("surefed", name, 0.9) for name in names]))
    assert figures.trust(table, tmp_path) is not None
    cells = [cell("surefed", name, 0.9, labels={"study": "kappa"}, rule__kappa=k) for name in names for k in (2, 5)]
    (study,) = groups(sweep(cells, keys=("rule.kappa",)))
    studies.study(study, tmp_path)
    (plain,) = groups(sweep([cell(name, "alie", 0.9) for name in names for _ in range(2)]))
    assert figures.heat(plain, tmp_path) is None, "one attack only"


def test_a_study_of_a_backdoor_shows_it(tmp_path: Path) -> None:
    """Settings that are no numbers have a row each, and a backdoor a panel of its own, with a mark per attack."""
    cells = [
        cell("surefed", attack, 0.9, labels={"study": "camps"}, figures={"backdoor": back}, data__partition=kind)
        for attack, back in (("trojan", 0.25), ("neurotoxin", 0.5))
        for kind in ("iid", "dirichlet")
    ]
    (group,) = groups(sweep(cells, keys=("data.partition",)))
    picture = studies.study(group, tmp_path)
    for text in (">iid<", ">dirichlet<", ">backdoor in %<", ">Trojan<", ">neurotoxin<"):
        assert text in picture.svg
    assert "accuracy and backdoor" in picture.title
    (plain,) = groups(sweep([replace(one, row={**one.row, "backdoor": ""}) for one in cells], keys=("data.partition",)))
    assert "backdoor" not in studies.study(plain, tmp_path).svg


def test_numbers_stand_where_they_can_be_read() -> None:
    from matplotlib.figure import Figure

    def stand(*values: float) -> tuple[list[float], str]:
        axes = Figure().subplots()
        return studies._number_axis(axes, values, [str(value) for value in values]), axes.get_xscale()

    assert stand(0.1, 0.2, 0.4) == ([0.1, 0.2, 0.4], "linear")
    assert stand(2, 16, 200) == ([2.0, 16.0, 200.0], "log")
    assert stand(0.9, 0.99, 0.999, 1.0) == ([0.0, 1.0, 2.0, 3.0], "linear")
    assert stand(0.0, 1.0) == ([0.0, 1.0], "linear")
    assert stand(3.0) == ([3.0], "linear")


def test_a_cell_of_several_studies_is_in_each() -> None:
    made = sweep(
        [
            cell("surefed", "label_flip", 0.9, labels={"study": "kappa+rho"}, rule__kappa="auto", learn__rho=-3.0),
            cell("surefed", "label_flip", 0.8, labels={"study": "kappa"}, rule__kappa=16, learn__rho=-3.0),
            cell("surefed", "label_flip", 0.7, labels={"study": "kappa"}, rule__kappa=2, learn__rho=-3.0),
            cell("surefed", "label_flip", 0.6, labels={"study": "rho"}, rule__kappa="auto", learn__rho=-5.0),
        ],
        keys=("rule.kappa", "learn.rho"),
    )
    kappa, rho = groups(made)
    assert (kappa.axes, kappa.settings()) == (("rule.kappa",), ["auto", "2", "16"])
    assert (rho.axes, rho.settings()) == (("learn.rho",), ["-5", "-3"])
    assert [[entry.text for entry in row] for row in tables.study(kappa).rows] == [
        ["auto", "90.0"],
        ["2", "70.0"],
        ["16", "80.0"],
    ]


def test_a_label_that_all_cells_of_a_study_have_is_its_axis() -> None:
    shared = {"study": "introspection"}
    made = sweep(
        [
            cell("surefed", "label_flip", 0.9, labels={**shared, "window": "always"}, rule__introspection="always"),
            cell("surefed", "label_flip", 0.8, labels={**shared, "window": "none"}, rule__introspection="never"),
        ],
        keys=("rule.introspection",),
    )
    (group,) = groups(made)
    assert (group.axes, group.settings()) == (("window",), ["always", "none"])


def test_seeds_are_no_axis_and_the_papers_ablations_stand_beside_ours() -> None:
    made = sweep(
        [
            cell("surefed", "label_flip", 0.72, data="femnist", labels={"study": "graph"}, graph__name="complete"),
            cell(
                "surefed", "label_flip", 0.70, data="femnist", labels={"study": "graph"}, graph__name="complete", seed=1
            ),
            cell("surefed", "label_flip", 0.70, data="femnist", labels={"study": "graph"}, graph__name="drop_edges"),
        ],
        keys=("graph.name", "seed"),
    )
    (group,) = groups(made)
    assert group.axes == ("graph.name",)
    first, second = tables.study(group).rows
    assert (first[1].text, first[1].notes) == ("71.0", ("70.0 to 72.0", "paper 73, \u22122.0"))
    assert (second[1].text, second[1].notes) == ("70.0", ("paper 73, \u22123.0",))


def test_unfinished_cells_are_in_no_table() -> None:
    assert groups(sweep([cell("surefed", "alie", 0.9, status="interrupted")])) == []
    assert mean([cell("surefed", "alie", None)]) is None


def test_cells_that_nobody_began_are_a_row_for_each_method() -> None:
    waiting = [
        cell("zeno", attack, None, seed=seed, rounds=rounds, status="waiting", figures={"round": at})
        for attack, rounds, at in (("alie", 8000, 50), ("trojan", 500, 0))
        for seed in (0, 2)
    ]
    stopped = cell("surefed", "alie", 0.9, status="interrupted", figures={"round": 100})
    table = provenance.unfinished([sweep([cell("median", "alie", 0.9), stopped, *waiting])])
    assert table is not None
    assert [[entry.text for entry in row[:5]] for row in table.rows] == [
        [stopped.name, "interrupted", "1", "0", "100 of 8000"],
        ["Zeno", "waiting", "4", "0, 2", "50 of 500 or 8000"],
    ]
    assert provenance.unfinished([sweep([cell("median", "alie", 0.9)])]) is None


def test_the_papers_tables_are_whole_and_say_what_its_text_says() -> None:
    for dataset, rows in paper_figures.ACCURACY.items():
        assert set(rows) == {"surefed", *BASELINES}
        assert {len(row) for row in rows.values()} == {len(NON_STEALTHY)}
        # "matching the benign final model accuracy" (section 5, Results)
        assert set(rows["surefed"]) == {paper_figures.BENIGN[dataset]}
    # "with an average accuracy of 6%": the worst case of each over all tables
    worst = [min(min(rows[name]) for rows in paper_figures.ACCURACY.values()) for name in BASELINES]
    assert round(sum(worst) / len(worst)) == paper_figures.WORST_OF_OTHERS
    # "24% and 23% for MNIST and FEMNIST"
    assert [paper_figures.BACKDOOR[name]["surefed"][1] for name in ("mnist", "femnist")] == [24, 23]


def test_the_paper_prints_nothing_for_what_it_did_not_run() -> None:
    assert paper_figures.accuracy("digits", "surefed", "alie") is None
    assert paper_figures.accuracy("mnist", "zeno", "none") is None
    assert paper_figures.accuracy("cifar10", "surefed", "trojan") is None
    assert paper_figures.accuracy("mnist", "surefed_paper", "alie") == (0.96, "tab:mnist:table")
    assert paper_figures.ablation("graph", "mnist", "surefed", "complete") is None

from __future__ import annotations

from pathlib import Path

import pytest

import surefed
from surefed.core import ConfigError
from surefed.sweep import read_sweep

from .conftest import Write

METHODS = """
[[vary.method]]
label = "ours"
rule.name = "surefed"
seed = [0, 1]

[[vary.method]]
label = "zeno"
rule.name = "zeno"
learn.learning_rate = 0.1

[attack]
name = ["label_flip", "none"]
"""


def names(path: Path, **given: object) -> list[str]:
    return [cell.name for cell in read_sweep(path, **given).cells]  # type: ignore[arg-type]


def test_cells_have_short_names_and_the_first_seed_of_everything_comes_first(write: Write) -> None:
    path = write(METHODS)
    assert names(path) == [
        "ours-label_flip-s0",
        "zeno-label_flip-s0",
        "ours-none-s0",
        "zeno-none-s0",
        "ours-label_flip-s1",
        "ours-none-s1",
    ]
    sweep = read_sweep(path)
    zeno = sweep.cells[1]
    assert (zeno.experiment.rule.name, zeno.experiment.learn.learning_rate, zeno.experiment.rounds) == ("zeno", 0.1, 4)
    assert zeno.values["rule.samples"] == 20  # defaults are written out
    assert sweep.columns == ("method",)
    assert sweep.keys == ("rule.name", "attack.name", "learn.learning_rate", "seed")


def test_the_names_of_cells_do_not_depend_on_their_neighbours_or_the_order_of_the_file(write: Write) -> None:
    few = names(write('attack = { malicious = [0.25], name = "alie" }\nrule.kappa = [4]\n'))
    many = names(write('rule.kappa = [8, 4]\nattack = { name = "alie", malicious = [0.25, 0.5] }\n'))
    assert few == ["kappa=4-malicious=0.25"]
    assert set(few) < set(many)
    assert len(many) == 4


def test_equal_experiments_are_one_cell_with_all_its_labels(write: Write) -> None:
    sweep = read_sweep(
        write("""
        [[include]]
        label.study = "share"
        rule.agreement = [0.5, 1]
        [[include]]
        label.study = "rho"
        learn.rho = [-3.0, -4.0]
        [[include]]
        label = { study = "rho", method = "surefed" }
        """)
    )
    assert [(cell.name, dict(cell.labels)) for cell in sweep.cells] == [
        ("share-agreement=0.5", {"study": "share"}),
        ("share-agreement=1", {"study": "share+rho", "method": "surefed"}),  # 1.0 and -3 are the defaults
        ("rho-rho=-4", {"study": "rho"}),
    ]


def test_under_no_attack_it_does_not_matter_who_would_lie(write: Write) -> None:
    path = write('attack = { name = ["none", "alie"], malicious = [0.25, 0.5] }\n')
    assert names(path) == ["none", "alie-malicious=0.25", "alie-malicious=0.5"]


def test_includes_add_grids_that_share_the_single_values_and_excludes_take_cells_away(write: Write) -> None:
    text = """
    rule.kappa = [2, 4]
    seed = [0, 1]
    [[include]]
    rule.name = "krum"
    [[exclude]]
    rule.kappa = 2
    seed = [1, 7]
    """
    sweep = read_sweep(write(text))
    assert [cell.name for cell in sweep.cells] == ["kappa=2-s0", "kappa=4-s0", "krum-s0", "kappa=4-s1"]
    assert {cell.experiment.rounds for cell in sweep.cells} == {4}


def test_a_base_is_an_experiment_file_beside_the_sweep_and_its_lists_are_values(tmp_path: Path, write: Write) -> None:
    (tmp_path / "base.toml").write_text(
        'rounds = 7\nmodel = { name = "mlp", hidden = [8, 4] }\nrule = { name = "surefed", kappa = 3 }\n'
    )
    sweep = read_sweep(write('base = "base.toml"\nrule.name = ["surefed", "median"]\n', small=""))
    assert [cell.values["rounds"] for cell in sweep.cells] == [7, 7]
    assert sweep.cells[0].values["model.hidden"] == [8, 4]
    assert sweep.cells[0].values["rule.kappa"] == 3
    assert "rule.kappa" not in sweep.cells[1].values  # options of a rule go with it


def test_quick_has_the_last_word_and_says_so(write: Write) -> None:
    path = write('title = "T"\nseed = [0, 1]\nrule.kappa = [2, 4]\nquick = { seed = 5, rounds = 2 }\n')
    quick = read_sweep(path, quick=True, settings=["rounds=3"])
    assert (quick.quick, quick.title, quick.folder_name) == (True, "quick: T", "small-quick")
    assert [cell.name for cell in quick.cells] == ["kappa=2-s5", "kappa=4-s5"]
    assert {(cell.experiment.name, cell.experiment.rounds) for cell in quick.cells} == {("quick: T", 3)}
    assert read_sweep(path).title == "T"


def test_long_names_are_cut_and_stay_apart(write: Write) -> None:
    labels = [f"{'x' * 90}{at}" for at in (1, 2)]
    cells = names(write("".join(f'[[vary.a]]\nlabel = "{label}"\nseed = {at}\n' for at, label in enumerate(labels))))
    assert len(set(cells)) == 2
    assert all(len(cell) <= 80 for cell in cells)


def test_what_a_folder_cannot_be_called_is_replaced(write: Write) -> None:
    assert names(write('[[vary.a]]\nlabel = "../a b/ü"\n')) == ["a_b_ü"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule.kapa = [2]", "has no option 'kapa'; did you mean 'kappa'"),
        ("learn.learning_rat = [0.1]", "unknown key 'learn.learning_rat'; did you mean 'learning_rate'"),
        ("attac.name = ['alie']", "unknown key 'attac'; did you mean 'attack'"),
        ("seeds = [1, 2]", "unknown key 'seeds'; did you mean 'seed'"),
        ("rule.name = ['surefd']", "there is no rule 'surefd'; did you mean 'surefed'"),
        ("attack = { name = 'alie', zz = [1] }", "the attack 'alie' has no option 'zz'"),
        ("graph = { name = 'regular', kk = 3 }", "the graph 'regular' has no option 'kk'"),
        ("data.name = 'digit'", "there is no dataset 'digit'; did you mean 'digits'"),
        ("rounds = [0]", "rounds: .*in the cell rounds=0"),
        ("rule.name = []", "rule.name is an empty list, which leaves no cell"),
        ("x =", "is not valid TOML"),
        ("base = 3", "base is the path of an experiment file"),
        ("base = 'nowhere.toml'", "there is no file .*nowhere.toml"),
        ("keep_beliefs = 3", "keep_beliefs is true or false"),
        ("title = 3", "title is one line of text"),
        ("include = 3", r"include is a list of tables, each written as \[\[include\]\]"),
        ("include = [{ sed = 3 }]", "include 1: unknown key 'sed'; did you mean 'seed'"),
        ("exclude = [{ seed = 3 }]", "exclude 1 matches no cell"),
        ("exclude = [{ rule.name = 'surefed' }]", "everything is excluded"),
        ("exclude = [{ rule.kapa = 3 }]", "exclude 1: no cell has a 'rule.kapa'; did you mean 'rule.kappa'"),
        (
            "include = [{ label.a = 'x', rule.kappa = 2 }, { label.a = 'x', rule.kappa = 3 }]",
            "two different cells are called 'x'",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_named(write: Write, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_sweep(write(text, small=""))


def test_the_file_that_the_page_shows_is_one(tmp_path: Path) -> None:
    page = (Path(surefed.__file__).parents[2] / "docs" / "sweeps.md").read_text()
    (tmp_path / "experiment.toml").write_text("data.clients = 4\n")
    (tmp_path / "grid.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    sweep = read_sweep(tmp_path / "grid.toml")
    # 3 seeds of: 3 kappas x (1 trojan), auto x 2 noises, and the include, which has seed 0 only
    assert len(sweep.cells) == 3 * (3 + 2) + 1
    assert sweep.columns == ("attack",)
    assert len(read_sweep(tmp_path / "grid.toml", quick=True).cells) == 3 + 2 + 1


def test_quick_needs_a_table_without_lists(write: Write, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no \[quick\] table"):
        read_sweep(write("seed = [1]"), quick=True)
    with pytest.raises(ConfigError, match="holds a list; it changes all cells alike"):
        read_sweep(write("quick = { seed = [1, 2] }"), quick=True)
    with pytest.raises(ConfigError, match="is a table, not 3"):
        read_sweep(write("quick = 3"), quick=True)
    with pytest.raises(ConfigError, match="there is no file"):
        read_sweep(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot read"):
        read_sweep(tmp_path)

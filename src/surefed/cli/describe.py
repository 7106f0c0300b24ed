"""`surefed data describe`: who would get what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAVY
from rich.table import Table

from surefed.cli import console
from surefed.cli.commands import FormatOption, own_modules
from surefed.cli.console import Format
from surefed.cli.data import data_app
from surefed.core import ConfigError
from surefed.data import Dataset, Deal
from surefed.data.partitions.base import Indices
from surefed.report.labels import plot_labels
from surefed.sim import Experiment
from surefed.sim.data import dealt


@data_app.command()
def describe(
    what: Annotated[str, typer.Argument(help="An experiment file (.toml), or the name of a dataset.")] = "digits",
    clients: Annotated[int | None, typer.Option(help="How many clients.")] = None,
    partition: Annotated[str | None, typer.Option(help="How samples are dealt out; see `surefed list`.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value, e.g. data.test_share=0.1.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the label counts into this file.")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Say who would get how many samples of which class, without training anything."""
    own_modules()
    experiment = Experiment.read(what) if what.endswith(".toml") else Experiment.of({"data": {"name": what}})
    given = {"clients": clients, "partition": partition}
    asked = [f"data.{key}={value}" for key, value in given.items() if value is not None]
    experiment = experiment.change([*asked, *(settings or [])])
    dataset, shares = dealt(experiment)
    about = describe_deal(dataset, shares, experiment)
    if figure is not None:
        if not dataset.classes:
            raise ConfigError("the labels of this data are numbers; there are no classes to draw")
        title = f"{about['dataset']}, {about['partition']}: {about['clients']} clients, {about['classes']} classes"
        tests = None if shares.own_test is None else [len(part) for part in shares.own_test.values()]
        plot_labels(figure, _counts(dataset, shares), list(shares.train), tests=tests, title=title)
    if format is Format.json:
        console.print_json(about)
        return
    _print(about)
    if figure is not None:
        console.say(f"figure: {figure}")


def describe_deal(dataset: Dataset, shares: Deal, experiment: Experiment) -> dict[str, Any]:
    """All there is to say about a deal, in plain values."""
    section, counts = experiment.data, _counts(dataset, shares)
    background = 1 - dataset.background if section.invert else dataset.background
    samples = len(shares.test) + int(counts.sum())
    label = 8 if dataset.classes else 4 * int(np.prod(dataset.labels.shape[1:]))
    own_test = shares.own_test
    return {
        "dataset": section.name,
        "partition": shares.partition,
        "clients": len(shares.train),
        "natural_clients": len(dataset.owners) or None,
        "train": _spread(counts.sum(1)),
        "test": {"total": len(shares.test)}
        if own_test is None
        else _spread(np.array([len(part) for part in own_test.values()])),
        "cut": shares.cut,
        "classes": dataset.classes,
        "classes_per_client": _spread((counts > 0).sum(1)),
        "shape": list(dataset.inputs.shape[1:]),
        "background": background if section.background is None else section.background,
        "bytes": samples * (4 * int(np.prod(dataset.inputs.shape[1:])) + label),
        "test_labels": _kinds(dataset, shares.test).tolist(),
        "labels": {name: row.tolist() for name, row in zip(shares.train, counts, strict=True)},
        "range": None if dataset.classes else [float(dataset.labels.min()), float(dataset.labels.max())],
    }


def _counts(dataset: Dataset, shares: Deal) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How many samples of each class everybody trains on. int64 [client, class]"""
    return np.stack([_kinds(dataset, part) for part in shares.train.values()])


def _kinds(dataset: Dataset, part: Indices) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How many of these samples are of each class; where labels are numbers, all are of one kind. int64 [class]"""
    labels = dataset.labels[part] if dataset.classes else np.zeros(len(part), dtype=np.int64)
    return np.bincount(labels, minlength=max(1, dataset.classes))


def _spread(values: np.ndarray[Any, Any]) -> dict[str, float]:
    return {
        "total": int(values.sum()),
        "mean": round(float(values.mean()), 2),
        "min": int(values.min()),
        "max": int(values.max()),
    }


def _print(about: dict[str, Any]) -> None:
    train, test, per_client = about["train"], about["test"], about["classes_per_client"]
    among = f" of {about['natural_clients']}" if about["partition"] == "natural" else ""
    how = "as published" if about["cut"] == "published" else "cut by lot"
    own = f"{_told(test)}; {test['total']} in all" if "mean" in test else f"{test['total']} in all, nobody's own"
    lines = {
        "dataset": about["dataset"],
        "clients": f"{about['clients']}{among} ({about['partition']})",
        "training": f"{_told(train)}; {train['total']} in all",
        "test": f"{own}; {how}",
        "labels": f"numbers from {about['range'][0]:g} to {about['range'][1]:g}"
        if about["range"]
        else f"{about['classes']} classes; a client has {_told(per_client, '')}",
        "inputs": f"{' x '.join(map(str, about['shape']))}, background {about['background']:g}",
        "memory": f"{about['bytes'] / 2**20:.1f} MiB",
    }
    for name, text in lines.items():
        console.say(f"{name:<10} {text}")
    if about["range"]:
        return
    counts = np.array(list(about["labels"].values()))
    table = Table(box=SIMPLE_HEAVY, pad_edge=False)
    for column in ("class", "training\nsamples", "test\nsamples", "clients\nthat have it", "most\nwith a client"):
        table.add_column(column, justify="right")
    for at, tested in enumerate(about["test_labels"]):
        mine = counts[:, at]
        table.add_row(*map(str, (at, mine.sum(), tested, (mine > 0).sum(), mine.max())))
    console.out.print(table)


def _told(spread: dict[str, float], what: str = " a client") -> str:
    return f"{spread['mean']:.1f}{what} on average ({spread['min']} to {spread['max']})"

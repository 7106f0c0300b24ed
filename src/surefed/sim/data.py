"""From the [data] table of an experiment to a federation."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from surefed.core import ConfigError, DataError
from surefed.data import Dataset, Deal, Federation, deal, federate, load
from surefed.models.base import Normalise
from surefed.sim.experiment import Data, Experiment
from surefed.sim.resolve import GIVEN, written_out


def dealt(experiment: Experiment) -> tuple[Dataset, Deal]:
    """The dataset that an experiment names, and who gets which of its samples."""
    section = written_out(experiment.data)
    if section.name == GIVEN:
        raise ConfigError("this experiment's data was given in Python: run it with surefed.run(experiment, data=...)")
    dataset = load(
        section.name, section.options, clients=section.clients, seed=experiment.seed, fields=Data.model_fields
    )
    least = {} if section.min_samples is None else {"min_samples": section.min_samples}
    return dataset, deal(
        dataset,
        section.clients,
        partition=section.partition,
        options=section.partition_options | least,
        test=section.test,
        test_share=section.test_share,
        seed=experiment.seed,
    )


def federated(experiment: Experiment, given: Federation | None = None) -> tuple[Federation, Experiment]:
    """The federation, given or as the experiment says, and the experiment with all that the data decided."""
    section = experiment.data
    if given is None:
        dataset, shares = dealt(experiment)
        made = federate(dataset, shares, invert=section.invert)
        decided = {"partition": shares.partition, "test": shares.cut, "clients": made.clients}
    elif isinstance(given, Federation):
        made, decided = given, {"clients": given.clients}
    else:
        raise DataError(f"data must be what surefed.federation(...) gives, not a {type(given).__name__}")
    if section.background is not None:
        made = replace(made, background=section.background)
    settled = section.model_copy(update={**decided, "background": made.background})
    return made, experiment.model_copy(update={"data": written_out(settled)})


def normalised(module: nn.Module, experiment: Experiment, data: Federation) -> nn.Module:
    """The network behind a layer that normalises, where the experiment asks for it."""
    if not experiment.data.normalise:
        return module
    if data.mean is None or data.std is None:
        raise ConfigError(
            f"data.normalise needs to know what the inputs of {experiment.data.name!r} are normalised by; give its "
            "Dataset a mean and a std, or set it to false"
        )
    return nn.Sequential(Normalise(data.mean, data.std), module)

"""An experiment as TOML, plain for the record or commented for a person to edit."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from pydantic import BaseModel

from surefed.sim.experiment import Experiment


def write(experiment: Experiment, *, comments: bool = False) -> str:
    """The experiment as a TOML file that reads back as an equal one; with comments, every field is explained."""
    lines = [f"# {Experiment.__doc__}", ""] if comments else []
    tables: list[str] = []
    for name, field in Experiment.model_fields.items():
        given = getattr(experiment, name)
        if isinstance(given, BaseModel):
            about = [f"# {given.__doc__}"] if comments else []
            tables += ["", *about, f"[{name}]", *_table(given, comments)]
        else:
            lines += _entry(name, given, field.description, comments)
    return "\n".join([*lines, *tables]) + "\n"


def _table(section: BaseModel, comments: bool) -> list[str]:
    lines = []
    for name, field in type(section).model_fields.items():
        lines += _entry(name, getattr(section, name), field.description, comments)
    for name, given in (section.model_extra or {}).items():
        lines += _entry(name, given, None, comments)
    return lines


def _entry(name: str, given: Any, description: str | None, comments: bool) -> list[str]:
    about = textwrap.wrap(" ".join((description or "").split()), 108) if comments else []
    lines = [f"# {line}" for line in about]
    if given is None:  # TOML has no null: an absent key is the default
        return [*lines, f"# {name} ="] if comments else []
    return [*lines, f"{name} = {value(given)}"]


def value(given: Any) -> str:
    """A value in TOML's spelling."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, float):
        return float.__repr__(given)  # inf and nan are spelt alike in Python and TOML
    if isinstance(given, int):
        return str(given)
    if isinstance(given, str):
        return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(given, (list, tuple)):
        return f"[{', '.join(value(item) for item in given)}]"
    if isinstance(given, dict):
        inner = ", ".join(f"{json.dumps(key)} = {value(item)}" for key, item in given.items())
        return f"{{ {inner} }}" if inner else "{}"
    raise TypeError(f"a {type(given).__name__} cannot stand in an experiment file")

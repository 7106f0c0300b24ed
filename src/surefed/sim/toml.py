"""An experiment as TOML, plain for the record or commented for a person to edit."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from pydantic import BaseModel

from surefed.sim.experiment import Experiment


def write(experiment: Experiment, *, comments: bool = False) -> str:
    """The experiment as a TOML file that reads back as an equal one; with comments, every field is explained."""
    lines = [f"# {line}" for line in textwrap.wrap(Experiment.__doc__ or "", 110)] if comments else []
    tables = []
    for name, field in Experiment.model_fields.items():
        value = getattr(experiment, name)
        if isinstance(value, BaseModel):
            tables += ["", f"[{name}]", *_table(value, comments)]
        else:
            lines += _entry(name, value, field.description, comments)
    return "\n".join([*lines, *tables]) + "\n"


def _table(section: BaseModel, comments: bool) -> list[str]:
    lines = [f"# {section.__doc__}"] if comments else []
    for name, field in type(section).model_fields.items():
        lines += _entry(name, getattr(section, name), field.description, comments)
    for name, value in (section.model_extra or {}).items():
        lines += _entry(name, value, None, comments)
    return lines


def _entry(name: str, value: Any, description: str | None, comments: bool) -> list[str]:
    lines = [f"# {line}" for line in textwrap.wrap(" ".join(description.split()), 108)] if comments and description else []
    if value is None:  # TOML has no null: an absent key is the default
        return [*lines, f"# {name} ="] if comments else []
    return [*lines, f"{name} = {_value(value)}"]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)  # inf and nan are spelt alike in Python and TOML
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    raise TypeError(f"a {type(value).__name__} cannot stand in an experiment file")

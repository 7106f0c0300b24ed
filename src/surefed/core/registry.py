"""The file name is the registry: `RULES["surefed"]` is the function `surefed` in `rules/surefed.py`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pkgutil import iter_modules
from typing import Any, TypeVar

from pydantic import ConfigDict, PydanticUserError, ValidationError, validate_call

from surefed.core.errors import ConfigError

Factory = Callable[..., Any]
T = TypeVar("T")


def discover(package: str, path: Iterable[str]) -> dict[str, Factory]:
    """Map every module of a package, `base` and sub-packages aside, to the function that bears its name."""
    names = sorted(module.name for module in iter_modules(path) if not module.ispkg and module.name != "base")
    return {name: getattr(importlib.import_module(f"{package}.{name}"), name) for name in names}


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """A hint for a misspelt name: the closest known ones, or all of them if they are few."""
    known = sorted(known)
    close = get_close_matches(name, known, n=2, cutoff=cutoff)
    if close:
        return f"did you mean {' or '.join(repr(match) for match in close)}?"
    return f"known: {', '.join(known[:20])}{', ...' if len(known) > 20 else ''}" if known else "there are none"


def find(name: str, known: Mapping[str, Factory], kind: str) -> Any:
    """The factory of that name, a registered one or, as `module:attribute`, anybody's own."""
    if ":" in name:
        return attribute(name, kind)
    if name not in known:
        raise ConfigError(f"there is no {kind} {name!r}; {nearest(name, known)}")
    return known[name]


def attribute(path: str, kind: str) -> Any:
    """What `module:attribute` points to."""
    module, _, name = path.partition(":")
    try:
        loaded = importlib.import_module(module)
    except Exception as error:  # importing runs somebody's code, which may fail in any way
        reason = f"{type(error).__name__}: {error}"
        hint = "write it without .py" if module.endswith(".py") else "is it installed, or in the folder you run from?"
        raise ConfigError(f"cannot import {module!r} for the {kind} {path!r} ({reason}); {hint}") from error
    if not hasattr(loaded, name):
        hint = nearest(name, (known for known in dir(loaded) if not known.startswith("_")), cutoff=0.7)
        raise ConfigError(f"module {module!r} has no {name!r}, asked for as the {kind} {path!r}; {hint}")
    return getattr(loaded, name)


def claim(factory: Factory) -> str:
    """The first line of the docstring: what it claims, in one line."""
    return (inspect.getdoc(factory) or "").partition("\n")[0]


def options(factory: Factory) -> dict[str, inspect.Parameter]:
    """The keyword-only parameters of a factory: what a user may set."""
    parameters = inspect.signature(factory).parameters
    return {name: at for name, at in parameters.items() if at.kind is inspect.Parameter.KEYWORD_ONLY}


def build(
    factory: Any,
    kind: str,
    name: str,
    given: Mapping[str, Any],
    *context: Any,
    gives: type[T],
    beside: Iterable[str] = (),
) -> T:
    """Call a factory with the options a user gave, after checking their names and types, and check what it gives.

    beside: keys that stand in the same table without being options, which a misspelt one may have been meant for.
    """
    try:
        known = options(factory)
        checked = validate_call(config=ConfigDict(arbitrary_types_allowed=True))(factory)
    except (TypeError, ValueError, PydanticUserError) as error:
        raise ConfigError(f"the {kind} {name!r} is not a function that can be called with options: {error}") from error
    for option in given:
        if option not in known:
            hint = nearest(option, {*known, *beside})
            if not known and not hint.startswith("did you mean"):
                hint = "it has no options"
            raise ConfigError(f"the {kind} {name!r} has no option {option!r}; {hint}")
    try:
        made: object = checked(*context, **given)
    except ValidationError as error:
        first = error.errors()[0]
        said = f"{first['msg'][0].lower()}{first['msg'][1:]}".replace("valid tuple", "list, such as [1, 2]")
        raise ConfigError(
            f"the {kind} {name!r}: option {str(first['loc'][0])!r}: {said}, not {first['input']!r}"
        ) from error
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"the {kind} {name!r}: {error}") from error
    if not isinstance(made, gives):
        raise ConfigError(f"the {kind} {name!r} gives a {type(made).__name__}, not a {gives.__name__}")
    return made

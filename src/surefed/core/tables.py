"""TOML files that a person writes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from surefed.core.errors import ConfigError


def read_table(path: Path, missing: str) -> dict[str, Any]:
    """What a TOML file says. missing: what to do where there is no such file."""
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}; {missing}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None

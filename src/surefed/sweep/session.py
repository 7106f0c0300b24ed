"""What a sweep's folder remembers of each session that ran a part of it."""

from __future__ import annotations

import platform
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from surefed.core.versions import versions


def session(device: str) -> dict[str, Any]:
    """Where, when and with what a part of the sweep was run."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": _command(),
        "device": device,
        "machine": platform.machine(),
        "versions": versions(),
    }


def _command() -> str:
    """The command that began this process, as one would type it."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None and spec.name.endswith(".__main__"):
        return shlex.join(["python", "-m", spec.parent, *sys.argv[1:]])
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])

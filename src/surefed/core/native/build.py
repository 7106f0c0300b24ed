"""Compile the kernels once, and load them."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SHARED, *SOURCES = (Path(__file__).with_name(name) for name in ("numbers.h", "learning.c", "judging.c"))
# No -ffast-math: it would let the compiler assume that there is no NaN, and a NaN sender could pass the inspection.
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-shared", "-fPIC")


def cache() -> Path:
    """Where compiled kernels are kept: a folder that only its owner may write to."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "surefed" / "native"


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels, or None where there are none to be had."""
    if os.environ.get("SUREFED_NATIVE") == "0" or sys.platform == "win32":
        return None
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    try:
        return ctypes.CDLL(str(_compiled(compiler)))
    except (OSError, subprocess.SubprocessError):
        return None


def _compiled(compiler: str) -> Path:
    """The shared library for these sources, this compiler and this machine; compiled if it is not there yet."""
    version = _run([compiler, "--version"])
    about = f"{compiler} {FLAGS} {platform.machine()} {_processor()}".encode()
    text = b"".join(path.read_bytes() for path in (SHARED, *SOURCES))
    name = hashlib.blake2b(text + version + about, digest_size=12).hexdigest()
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    owner = folder.stat()
    if owner.st_uid != os.getuid() or owner.st_mode & 0o022:
        raise OSError(f"{folder} can be written to by others")
    path = folder / f"{name}.so"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder) as place:
            fresh = Path(place) / path.name
            _run([compiler, *FLAGS, *map(str, SOURCES), "-o", str(fresh), "-lm"])
            fresh.replace(path)  # whole or not at all, also beside another process that does the same
    return path


def _run(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True, timeout=300).stdout  # noqa: S603


def _processor() -> str:
    """What the processor can do, since -march=native depends on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())

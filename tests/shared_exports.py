"""Shared exports of tests: created once, and cached for the user until their sources or packages change.

folder = made_once("rows", export, ["scripts/docs/operator_table", "scripts/docs/operators_keras.py"])
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pages import ROOT

EXPORTER = (
    *(
        f"glsl_infer/{room}"
        for room in ("bundle", "compiler", "cpu", "graph", "importers", "lowering", "ops", "program")
    ),
    "glsl_infer/runtime/pictures",  # reads calibration images
    "shaders",
)
"""Sources of every export, relative to the root."""

PACKAGES = ("keras", "numpy", "pillow", "tensorflow")
"""Packages whose results an export depends on."""

CPU_VARIABLES = ("NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA")
"""Variables that make libraries behave as on another CPU (scripts/build/test_cpus.py)."""

MOST_RUNS = 4
"""Number of cached results per name, so a switch between branches does not export again."""


def made_once(name: str, make: Callable[[Path], None], sources: Sequence[str] = ()) -> Path:
    """Return a folder filled by ``make``, now or in an earlier run with the same sources and packages.

    Args:
        name: name of the folder: letters, digits and hyphens.
        make: called with an empty folder.
        sources: files and folders, relative to the root, on which the result depends in addition to ``EXPORTER``.
    """
    cache = _cache()
    cache.mkdir(parents=True, exist_ok=True)
    result = cache / f"{name}-{_digest([*EXPORTER, *sources])}"
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parts of the suite run in parallel
        if not result.is_dir():
            unfinished = cache / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(result)
        os.utime(result)
        _remove_oldest(cache, name, result)
    return result


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "glsl-infer/tests"


def _remove_oldest(cache: Path, name: str, newest: Path) -> None:
    older = [path for path in cache.glob(f"{name}-*") if path != newest]
    for path in sorted(older, key=lambda path: path.stat().st_mtime, reverse=True)[MOST_RUNS - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def _digest(sources: Sequence[str]) -> str:
    state = hashlib.sha256(f"Python {sys.version_info[:2]}".encode())
    for package in PACKAGES:
        try:
            state.update(f"{package} {version(package)}\0".encode())
        except PackageNotFoundError:
            state.update(f"{package} missing\0".encode())
    for name in CPU_VARIABLES:
        state.update(f"{name}={os.environ.get(name, '')}\0".encode())
    for source in sources:
        path = ROOT / source
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                state.update(f"{file.relative_to(ROOT)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return state.hexdigest()[:16]

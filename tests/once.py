"""What takes Keras long to make, made once for all drivers and kept until the code that makes it changes."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from pages import ROOT

SOURCES = (
    "glsl_infer",
    "scripts",
    "shaders",
    "tests/gl/mobilenet.py",
    "docs/images",
    "tests/models",
    "tests/small_models.py",
)


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that ``make`` filled, in this process or in an earlier one with the same code."""
    folder = ROOT / ".pytest_cache/made-once"
    folder.mkdir(parents=True, exist_ok=True)
    made, stamp = folder / name, folder / f"{name}.stamp"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the part beside this one may want the same
        now = digest()
        if not stamp.is_file() or stamp.read_text() != now:
            stamp.unlink(missing_ok=True)
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir()
            make(made)
            stamp.write_text(now)
    return made


def digest() -> str:
    """Return a hash of all that a network is made from."""
    state = hashlib.sha256()
    for source in SOURCES:
        path = ROOT / source
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                state.update(f"{file.relative_to(ROOT)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return state.hexdigest()

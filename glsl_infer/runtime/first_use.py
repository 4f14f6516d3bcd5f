"""The self-check at the first use of a model on a driver: once it has passed, a file says so and it is not repeated.

The file lies beside the compiled programs (``program_cache``). Its name is a hash of all that the driver says of
itself, of the lines that shaders get on this device and of the whole bundle, so that another driver, version or model
is checked again. Only what passed is kept: a driver that fails is checked at every start, until it is right.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.bundle import manifest_json
from glsl_infer.errors import InputError
from glsl_infer.runtime import selfcheck
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.linking import driver_strings
from glsl_infer.runtime.program_cache import default_folder
from glsl_infer.support.files import is_own, reading, writing

if TYPE_CHECKING:
    from glsl_infer.bundle import Bundle
    from glsl_infer.gl.context import Context
    from glsl_infer.runtime.session import Session

FORMAT = "glsl-infer self-check 1"
SUFFIX = ".passed"
MAX_FILES = 256
"""Most files in the folder: the oldest go."""

_TEXT = json.dumps({"format": FORMAT, "passed": True}).encode("ascii")


def check(session: Session, folder: Path | None = None, tell: Callable[[], object] = lambda: None) -> bool:
    """Run the self-check unless it has passed before, with this model on this driver; return whether it ran.

    Args:
        session: what to check.
        folder: where verdicts are kept, by default ``program_cache.default_folder()``; where there is none
            (``GLSL_INFER_CACHE=off``) it runs every time.
        tell: is called after each layer.

    Raises:
        SelfCheckError: a layer comes out wrong.
    """
    session.activate()
    path = _path(session.context, session.bundle, folder)
    session.activate()  # measuring the device's lines may have changed the context's state
    if path is not None and _passed(path):
        return False
    selfcheck.check(session, tell).require()
    if path is not None:
        _keep(path)
    return True


def has_passed(context: Context, bundle: Bundle) -> bool:
    """Return whether the self-check has passed before, with this model on the driver of the current context."""
    path = _path(context, bundle, None)
    return path is not None and _passed(path)


def _path(context: Context, bundle: Bundle, folder: Path | None) -> Path | None:
    folder = default_folder() if folder is None else folder
    return None if folder is None else folder / f"{key_of(context, bundle)}{SUFFIX}"


def key_of(context: Context, bundle: Bundle) -> str:
    """Return what a verdict depends on as a hash: hexadecimal, 64 digits. The context is current."""
    digest = bundle.digest  # writing the manifest again would take a Pi Zero a second at every start
    if digest is None:
        digest = json.dumps(manifest_json.to_json(bundle.manifest), sort_keys=True)
    parts = [FORMAT, *driver_strings(context.gl), driver_of(context).device_lines, digest]
    return hashlib.sha256(json.dumps(parts).encode("utf-8")).hexdigest()


def _passed(path: Path) -> bool:
    """Return whether a file says so that only this user can have written."""
    try:
        with reading(path) as file:
            return is_own(os.fstat(file.fileno())) and file.read(len(_TEXT) + 1) == _TEXT
    except (OSError, InputError):
        return False


def _keep(path: Path) -> None:
    """Write the verdict; where that fails, the next start checks again."""
    with contextlib.suppress(OSError, ValueError, InputError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with writing(path, private=True) as file:
            file.write(_TEXT)
        files = sorted(path.parent.glob(f"*{SUFFIX}"), key=lambda file: file.stat().st_mtime)
        for old in files[: max(0, len(files) - MAX_FILES)]:
            old.unlink()

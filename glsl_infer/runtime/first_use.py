"""Self-check at the first use of a model on a driver. A pass is recorded in a file, and the check is not repeated.

The name of the file (``verdicts``) is a hash of the driver's strings, the lines added to shaders on this device and the
whole bundle. Another driver, version or model is therefore checked again. Only passes are recorded: a failing driver is
checked at every start until it passes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.bundle import manifest_json
from glsl_infer.runtime import selfcheck
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.linking import driver_strings
from glsl_infer.runtime.program_cache import default_folder
from glsl_infer.runtime.verdicts import Verdict

if TYPE_CHECKING:
    from glsl_infer.bundle import Bundle
    from glsl_infer.gl.context import Context
    from glsl_infer.runtime.session import Session

FORMAT = "glsl-infer self-check 1"
SUFFIX = ".passed"


def check(session: Session, folder: Path | None = None, progress: Callable[[], object] = lambda: None) -> bool:
    """Run the self-check unless it has passed before with this model and driver; return whether it ran.

    Args:
        session: the session to check.
        folder: the folder of the recorded passes, by default ``program_cache.default_folder()``. Without one
            (``GLSL_INFER_CACHE=off``) the check runs every time.
        progress: called after each layer.

    Raises:
        SelfCheckError: a layer is wrong.
    """
    session.activate()
    verdict = _verdict(session.context, session.bundle, folder)
    session.activate()  # measuring the device's lines may have changed the context's state
    if verdict is not None and verdict.passed():
        return False
    selfcheck.check(session, progress).require()
    if verdict is not None:
        verdict.keep()
    return True


def keep(context: Context, bundle: Bundle) -> None:
    """Record a pass of the self-check with this model on the driver of the current context."""
    verdict = _verdict(context, bundle, None)
    if verdict is not None:
        verdict.keep()


def has_passed(context: Context, bundle: Bundle) -> bool:
    """Return whether the self-check has passed before with this model on the driver of the current context."""
    verdict = _verdict(context, bundle, None)
    return verdict is not None and verdict.passed()


def _verdict(context: Context, bundle: Bundle, folder: Path | None) -> Verdict | None:
    folder = default_folder() if folder is None else folder
    return None if folder is None else Verdict(folder, key_of(context, bundle), SUFFIX, FORMAT)


def key_of(context: Context, bundle: Bundle) -> str:
    """Return the hash for the record of a pass: 64 hexadecimal digits. The context is current."""
    digest = bundle.digest  # a Pi Zero would need a second to write the manifest again, at every start
    if digest is None:
        digest = json.dumps(manifest_json.to_json(bundle.manifest), sort_keys=True)
    parts = [FORMAT, *driver_strings(context.gl), driver_of(context).device_lines, digest]
    return hashlib.sha256(json.dumps(parts).encode("utf-8")).hexdigest()

"""Test of one untrusted file: an error message or a run is a pass; anything else is a finding.

python trial.py FILE        # read it only: exit code 0 if it ends in one of these
"""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

import numpy as np

from glsl_infer import bundle as bundles
from glsl_infer.bundle import probe
from glsl_infer.cli import main
from glsl_infer.errors import BundleError, GlslInferError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session

REFUSED, NO_GRAPH, NO_RUN, RUN = "refused", "run, but refused by its graph", "an error when run", "run"


class FindingError(Exception):
    """A defect visible to users: another exception, a traceback, or a result of another shape."""


def check(path: Path, context: Context | None) -> str:
    """Read a file as every command does, inspect it, and run it.

    Args:
        path: the file.
        context: context to run it in; None to read it only.

    Returns:
        The result: ``REFUSED``, ``NO_GRAPH``, ``NO_RUN`` or ``RUN``.

    Raises:
        FindingError: the exit code of the command was not 0, or not 1 or 2 with one error; or the result is invalid.
        Exception: any exception of the library that is not one of its own errors.
    """
    try:
        bundle = bundles.read(path)
    except BundleError as error:
        if not str(error).startswith(f"{path}: ") or "\n" in str(error) or len(str(error)) > 2000:
            raise FindingError(f"the error is no line about the file: {str(error)[:300]!r}") from error
        return REFUSED
    inspected, ran = _inspect(path), RUN
    try:
        _ = bundle.graph
    except BundleError:
        ran = NO_GRAPH  # runners do not read it
    if inspected != 0 and ran == RUN:
        raise FindingError(f"'glsl-infer inspect' ends with {inspected}")
    manifest = bundle.manifest
    if context is None or max(max(model_input.height, model_input.width) for model_input in manifest.inputs) > 1024:
        return ran
    try:
        with Session(bundle, context=context, cache=False) as session:
            results = session.run(probe.inputs(manifest.inputs))
    except GlslInferError:
        return NO_RUN
    for output in manifest.outputs:
        result = results[output.name]
        if result.dtype != np.float32 or result.shape != output.shape:
            raise FindingError(f"the result is {result.dtype} {result.shape}, not float32 {output.shape}")
    return ran


def _inspect(path: Path) -> int:
    """Return the exit code of ``glsl-infer inspect``, after a check that its error, if any, is a message."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["inspect", str(path), "--json"])
    if code not in (0, 1, 2) or (code and not err.getvalue().startswith("error: ")):
        raise FindingError(f"'glsl-infer inspect' ends with {code}: {err.getvalue()[:300]}")
    return code


if __name__ == "__main__":
    check(Path(sys.argv[1]), None)

"""Opening a bundle and a context at the same time.

A driver creates a context in C and mostly waits for the kernel. Meanwhile a second thread reads the file.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Union

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.streamed import streamed
from glsl_infer.errors import ContextError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.verdicts import read_bundle
from glsl_infer.support.stopwatch import Stopwatch


class _Reading(threading.Thread):
    """Thread that starts to read a bundle at once. A ThreadPoolExecutor would do, but takes more imports."""

    def __init__(self, path: Union[str, Path]) -> None:
        super().__init__(name="glsl-infer-bundle", daemon=True)
        self._path = path
        self._bundle: Bundle | None = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._bundle = streamed(read_bundle(self._path))
        except BaseException as error:
            self._error = error

    def result(self) -> Bundle:
        """Wait; return the bundle, or raise the exception from reading it."""
        self.join()
        if self._error is not None:
            raise self._error
        assert self._bundle is not None
        return self._bundle


def read_with_context(path: Union[str, Path], choice: str, clock: Stopwatch) -> tuple[Bundle, Context]:
    """Read a bundle while a context is created. The context is then current in the calling thread.

    Args:
        path: a ``.glslnn`` file.
        choice: as for ``Context``.
        clock: records the laps ``context``, then ``bundle``: the remaining wait for the file.

    Raises:
        BundleError: the file is not a valid bundle. Raised even if the context could not be created either.
        ContextError: a context cannot be created.
    """
    reading = _Reading(path)
    try:
        context = Context(choice)
    except ContextError:
        reading.result()
        raise
    clock.lap("context")
    try:
        bundle = reading.result()
    except BaseException:
        context.close()
        raise
    clock.lap("bundle")
    return bundle, context


def opened(model: Union[str, Path, Bundle], context: Union[str, Context], clock: Stopwatch) -> tuple[Bundle, Context]:
    """Return a bundle and a context; read or create those not passed as objects.

    Args:
        model: a ``.glslnn`` file, or a bundle.
        context: as for ``Session``.
        clock: records the laps ``context`` and ``bundle``.

    Raises:
        BundleError, ContextError: see ``read_with_context``.
    """
    if not isinstance(model, Bundle) and not isinstance(context, Context):
        return read_with_context(model, context, clock)
    bundle = model if isinstance(model, Bundle) else streamed(read_bundle(model))
    clock.lap("bundle")
    opened_context = context if isinstance(context, Context) else Context(context)
    clock.lap("context")
    return bundle, opened_context

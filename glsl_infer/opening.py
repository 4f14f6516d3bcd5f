"""A bundle and the context that draws it, got at the same time.

A driver makes a context in C, and mostly waits for the kernel; meanwhile a second thread reads the file.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Union

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.errors import ContextError
from glsl_infer.gl.context import Context
from glsl_infer.stopwatch import Stopwatch


def read_beside(path: Union[str, Path], choice: str, clock: Stopwatch) -> tuple[Bundle, Context]:
    """Read a bundle while a context is made, which is current in the calling thread then.

    Args:
        path: a ``.glslnn`` file.
        choice: as for ``Context``.
        clock: is told ``context``, then ``bundle``: what was left to wait for.

    Raises:
        BundleError: the file will not do; said first where no context can be made either.
        ContextError: no context can be made.
    """
    with ThreadPoolExecutor(1, "glsl-infer-bundle") as thread:
        reading = thread.submit(bundles.read, path)
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

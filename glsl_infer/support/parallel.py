"""Parallel map over threads.

NumPy releases the interpreter lock while it computes. Two threads compute a network for two images in little more than
half of the time. The results stay the same, because each image is computed by one thread.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from glsl_infer.support import blas

MAX_THREADS = 4
"""Largest number of threads. Each holds the feature maps of one image."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the function's result for each item, in order, from up to ``MAX_THREADS`` threads.

    An exception of the function is raised here, and later items are not started.
    """
    threads = min(cores(), MAX_THREADS)
    if threads == 1:
        yield from map(function, items)
        return
    running: deque[Future[Result]] = deque()
    with blas.one_thread(), ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                running.append(pool.submit(copy_context().run, function, item))
                if len(running) == threads:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def cores() -> int:
    """Return the number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

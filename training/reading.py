"""Reading many pictures: in threads, with a progress bar, and past those that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from glsl_infer.cli import progress
from glsl_infer.errors import ImageError, InputError
from training.command import warn


def each(paths: Sequence[Path], work: Callable[[int], None], *, strict: bool = False) -> dict[int, str]:
    """Do ``work(index)`` for every path, and return the message of each for which it raised an ``ImageError``.

    They are named in one warning, each with the reason. A progress bar shows on a terminal.

    Args:
        paths: files, for the messages; ``work`` opens them.
        work: what to do with one; several run at once.
        strict: those that cannot be read are an error.

    Raises:
        InputError: none can be read, or with ``strict`` any cannot; the message has the same list.
    """
    bad: dict[int, str] = {}
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(work, index) for index in range(len(paths))]
        try:
            for index in progress.bar(range(len(futures)), "reading pictures"):
                try:
                    futures[index].result()
                except ImageError as error:
                    bad[index] = str(error)
        except BaseException:  # an interruption waits for no more than the pictures that are being read
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if bad:
        what = f"{len(bad)} of {len(paths)} pictures cannot be read"
        if strict or len(bad) == len(paths):
            raise InputError("\n  ".join([f"{what}:", *bad.values()]))
        warn(f"{what} and are left out (--strict stops here):", bad.values())
    return bad

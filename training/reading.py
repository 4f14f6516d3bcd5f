"""Read many images in threads, with a progress bar, skipping unreadable ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from glsl_infer.cli import progress
from glsl_infer.errors import ImageError, InputError
from training.command import warn


def each(paths: Sequence[Path], work: Callable[[int], None], *, strict: bool = False) -> dict[int, str]:
    """Call ``work(index)`` for each path; return the messages of the ``ImageError``s by index.

    The unreadable images are listed in one warning. A progress bar is shown on a terminal.

    Args:
        paths: files, for messages; ``work`` opens them.
        work: processes an image; several calls run at once.
        strict: make unreadable images an error.

    Raises:
        InputError: all images are unreadable, or with ``strict`` any of them; the message lists them.
    """
    bad: dict[int, str] = {}
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(work, index) for index in range(len(paths))]
        try:
            for index in progress.bar(range(len(futures)), "images", "reading"):
                try:
                    futures[index].result()
                except ImageError as error:
                    bad[index] = str(error)
        except BaseException:  # an interruption waits only for images that are being read
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if bad:
        summary = f"{len(bad)} of {len(paths)} images cannot be read"
        if strict or len(bad) == len(paths):
            raise InputError("\n  ".join([f"{summary}:", *bad.values()]))
        warn(f"{summary} and are left out (--strict stops here):", bad.values())
    return bad

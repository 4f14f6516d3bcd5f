"""Settings of glibc's allocator; without effect on other systems and with other C libraries."""

from __future__ import annotations

import contextlib
import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""glibc's M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX (malloc.h)."""

_NEVER = 1 << 30


def trim_heap() -> None:
    """Return freed memory to the system, for the textures of a GPU driver."""
    with contextlib.suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_freed_memory() -> None:
    """Keep freed memory in this process, for commands with thousands of large arrays.

    By default glibc maps each large array anew, and the kernel fills it with zeros: 16 % of the time of an export of
    SRGAN. With a single heap for all threads, a new array can reuse the memory of an old one.
    """
    with contextlib.suppress(OSError, TypeError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _NEVER)
        mallopt(_TRIM_THRESHOLD, _NEVER)

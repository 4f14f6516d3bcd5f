"""What glibc does with freed memory. On another system, or with another C library, nothing is changed here."""

from __future__ import annotations

import contextlib
import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""glibc's M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX (malloc.h)."""

_NEVER = 1 << 30


def hand_back() -> None:
    """Hand what was freed back to the system: glibc keeps it for this process, and a GPU's textures lie elsewhere."""
    with contextlib.suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def keep() -> None:
    """Keep what is freed, for the whole process: a command that makes thousands of large arrays calls it first.

    By default each large array is mapped anew, and the system fills it with zeros: 16 % of the time of an export of
    SRGAN. All threads share one heap, in which an array finds the place of another.
    """
    with contextlib.suppress(OSError, TypeError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _NEVER)
        mallopt(_TRIM_THRESHOLD, _NEVER)

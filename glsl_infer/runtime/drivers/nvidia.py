"""Settings for NVIDIA's driver only (docs/engineering/performance.md has the gains).

Its compiler takes a third of the time for loops that fetch weights from textures, and draws them as fast
(``ROLLED_FETCHES``). It compiles in several threads on request (``gl.compiler_threads``).

Its GPUs draw directly into memory. On a tile-based GPU, as in phones and in a Raspberry Pi, a clear at the start of a
job saves work: the GPU need not fetch the previous texels of the target. On NVIDIA's GPUs a clear is one more write of
a target, so clears without an effect are omitted (``frame.needless_clears``). When a session starts, render targets are
cleared instead of being filled with zeros, because the driver would take longer to copy them.

Stores do not round to nearest on an H200 (``rounding``). A test would delay a start by 35 ms, nearly all of it to start
the compiler while nothing else runs. Shaders that round in their code are correct on any GPU, so they are used here
without a test.
"""

from __future__ import annotations

VENDOR = "NVIDIA Corporation"
"""GL_VENDOR of NVIDIA's proprietary driver; Mesa's driver for the same chips has another."""


def is_nvidia(vendor: str) -> bool:
    """Return whether a driver is NVIDIA's proprietary one, by its GL_VENDOR."""
    return vendor == VENDOR

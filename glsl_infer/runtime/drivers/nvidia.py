"""What NVIDIA's driver does well with, and no other is known to (docs/engineering/performance.md has what it gains).

Its compiler takes a third of the time for loops where weights are fetched from textures, and draws them as fast
(``ROLLED_FETCHES``). It has threads, and waits to be told of them (``gl.compiler_threads``).

Its GPUs draw at once into memory. A tile-based one, as in phones and in a Raspberry Pi, is told by a clear that it need
not fetch what a target held, so that a clear at the start of every job spares it work; to these a clear is one more
write of a target. They are spared those that change no texel (``frame.needless_clears``). When a session starts, what
is rendered into is cleared, where others are given zeros: the driver would take longer to copy them.

Stores do not round to nearest on an H200 (``rounding``). Finding that out takes a start 35 ms, nearly all of it for the
compiler to begin with nothing else to do. Shaders that round for themselves are right on any GPU, so here they do
without a test.
"""

from __future__ import annotations

VENDOR = "NVIDIA Corporation"
"""What GL_VENDOR is of NVIDIA's own driver; Mesa's for the same chips has another."""


def is_nvidia(vendor: str) -> bool:
    """Return whether a driver is NVIDIA's own, by its GL_VENDOR."""
    return vendor == VENDOR

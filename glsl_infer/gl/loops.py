"""Which drivers' compilers do well with loops, where shaders for others go on line by line.

What a loop costs a frame and spares a compiler depends on where a shader has its weights. llvmpipe compiles all loops
sooner. NVIDIA's driver compiles those that fetch weights from textures in a third of the time, and draws them as fast;
those over an array of uniforms take it a hundred times as long (docs/performance.md). Other drivers have none: nothing
was measured on them, or straight lines are better (``late_fetch``).
"""

from __future__ import annotations

ROLLED = "#define ROLLED\n"
"""Loops over arrays of uniforms."""

ROLLED_FETCHES = "#define ROLLED_FETCHES\n"
"""Loops that fetch all they read."""

VENDOR = "NVIDIA Corporation"
"""GL_VENDOR of NVIDIA's own driver; Mesa's for the same chips has another."""


def wants_rolled_fetches(vendor: str) -> bool:
    """Return whether shaders should define ``ROLLED_FETCHES`` for a driver that is not llvmpipe, by its GL_VENDOR."""
    return vendor == VENDOR

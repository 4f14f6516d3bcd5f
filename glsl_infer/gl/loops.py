"""The ``#define`` lines by which shaders have loops, where they go on line by line for other compilers.

What a loop costs a frame and spares a compiler depends on where a shader has its weights. llvmpipe compiles all loops
sooner (``llvmpipe``), and NVIDIA's driver those that fetch (``nvidia``); loops over an array of uniforms take it a
hundred times as long. Others have none: straight lines are better (``late_fetch``), or nothing was measured on them.
"""

from __future__ import annotations

ROLLED = "#define ROLLED\n"
"""Loops over arrays of uniforms."""

ROLLED_FETCHES = "#define ROLLED_FETCHES\n"
"""Loops that fetch all they read."""

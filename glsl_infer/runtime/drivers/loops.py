"""The ``#define`` line by which shaders that fetch their weights have loops, where they go on line by line for others.

llvmpipe compiles loops sooner, and so does NVIDIA's driver (``nvidia``). Others have none: straight lines are better
(``videocore``), or nothing was measured on them. Shaders whose weights are in uniforms, or in their text, go on line
by line everywhere: what a loop there spares a compiler is less than what it costs a frame (docs/performance.md).
"""

from __future__ import annotations

ROLLED_FETCHES = "#define ROLLED_FETCHES\n"

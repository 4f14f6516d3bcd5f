"""Which GPUs draw at once into memory, rather than tile by tile.

A tile-based one, as in phones and in a Raspberry Pi, is told by a clear that it need not fetch what a target held, so
that a clear at the start of every job spares it work. To one that draws at once a clear is one more write of a target:
for X22 at 385x385 0.4 ms of 2.4 on an H200, of which most go where only those stay that change a texel
(docs/performance.md). NVIDIA's are known to be such; others get all clears.
"""

from __future__ import annotations

from glsl_infer.gl.loops import VENDOR


def draws_at_once(vendor: str) -> bool:
    """Return whether a GPU writes what it draws to memory at once, by its driver's GL_VENDOR."""
    return vendor == VENDOR

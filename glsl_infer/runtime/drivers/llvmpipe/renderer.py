"""What makes Mesa's llvmpipe compile less: blending that changes nothing, and loops (``ROLLED_FETCHES``).

It makes machine code of a fragment shader twice, once for tiles that a triangle covers wholly and once for those
at its edges. Where the result could depend on what is there already it makes the second alone, and takes it for both.
Blending by GL_ONE and GL_ZERO stores what the shader says, to the last bit, but counts as such a case: X22's shaders
are compiled in half the time, and drawn in the same (docs/engineering/performance.md). On a GPU it may cost bandwidth.
"""

from __future__ import annotations

RENDERER = "llvmpipe"
"""Part of what GL_RENDERER says."""


def is_llvmpipe(renderer: str) -> bool:
    """Return whether a driver is llvmpipe, by its GL_RENDERER: this helps it, and no other."""
    return RENDERER in renderer

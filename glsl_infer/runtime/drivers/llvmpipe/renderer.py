"""Settings that make Mesa's llvmpipe compile less: blending without an effect, and loops (``ROLLED_FETCHES``).

llvmpipe compiles a fragment shader twice: for tiles inside a triangle, and for tiles at its edges. If the result could
depend on the previous contents, it compiles only the second form and uses it for both. Blending by GL_ONE and GL_ZERO
stores exactly the shader's output, but counts as such a case. X22's shaders compile in half the time and draw in the
same time (docs/engineering/performance.md). On a GPU, blending could cost bandwidth.
"""

from __future__ import annotations

RENDERER = "llvmpipe"
"""Part of GL_RENDERER on llvmpipe."""


def is_llvmpipe(renderer: str) -> bool:
    """Return whether a driver is llvmpipe, by its GL_RENDERER. Only llvmpipe gains from these settings."""
    return RENDERER in renderer

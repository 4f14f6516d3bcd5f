"""VideoCore IV: the GPU whose shaders must fetch texels one after the other.

The compiler of its open driver (Mesa's vc4) schedules fetches first and their uses afterwards. It then has too few
registers for the texels: it copies them to and fro, and threads wait. Shaders for this GPU make the coordinate of each
fetch depend on the sum so far. This costs one operation per fetch, so it does not suit other GPUs.

This GPU also truncates every addition toward zero. Shaders with ordered fetches compensate for this (``truncation.py``)
unless ``NEAREST_SUMS`` is defined because the device rounds: no board has been tested.
"""

from __future__ import annotations

from glsl_infer.support.records import dataclass

LATE_FETCH = "#define LATE_FETCH\n"
NEAREST_SUMS = "#define NEAREST_SUMS\n"

RENDERERS = ("VC4", "VideoCore IV")
"""Parts of GL_RENDERER in Mesa's driver and in Broadcom's."""


def wants_late_fetch(renderer: str) -> bool:
    """Return whether shaders should define ``LATE_FETCH`` on a GPU, by its GL_RENDERER."""
    return any(name in renderer for name in RENDERERS)


@dataclass(frozen=True)
class Fault:
    """A fault of some versions of the open driver; docs/engineering/videocore.md lists all faults.

    Attributes:
        version: beginning of the affected Mesa versions, with a dot at the end.
        words: the effect of the fault.
        answer: the workaround in this package.
    """

    version: str
    words: str
    answer: str


FAULTS = (
    Fault(
        "22.3.6.",
        "a clear that is queued for a texture is drawn over the upload that follows",
        "Session waits for the GPU between the two",
    ),
)
"""Faults of particular versions of Mesa's vc4."""


def faults_of(mesa: str) -> list[Fault]:
    """Return the faults of Mesa's vc4 in a version, such as ``22.3.6``."""
    return [fault for fault in FAULTS if f"{mesa}.".startswith(fault.version)]

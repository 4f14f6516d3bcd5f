"""Which GPUs want a shader's fetches one after the other: VideoCore IV.

Its open driver's compiler (Mesa's vc4) orders fetches first and what is done with them after, and then has too few
registers to hold the texels: it copies them to and fro, and threads wait. Shaders there make the coordinate of each
fetch depend on the sum so far, which costs an operation a fetch, so that others are better off without.

It is also the GPU that cuts every addition toward zero. Shaders that fetch late make up for that (``truncation.py``)
unless ``NEAREST_SUMS`` says that the device rounds: no board has been asked.
"""

from __future__ import annotations

from glsl_infer.support.records import dataclass

LATE_FETCH = "#define LATE_FETCH\n"
NEAREST_SUMS = "#define NEAREST_SUMS\n"

RENDERERS = ("VC4", "VideoCore IV")
"""Parts of what GL_RENDERER says with Mesa's driver and with Broadcom's own."""


def wants_late_fetch(renderer: str) -> bool:
    """Return whether shaders should define ``LATE_FETCH`` on a GPU, by its GL_RENDERER."""
    return any(name in renderer for name in RENDERERS)


@dataclass(frozen=True)
class Fault:
    """A fault of some versions of the open driver; docs/engineering/videocore.md lists all faults.

    Attributes:
        version: beginning of the Mesa versions that have it, with a dot at the end.
        words: the effect of the fault.
        answer: how this package deals with it.
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
"""Faults that only some versions of Mesa's vc4 have."""


def faults_of(mesa: str) -> list[Fault]:
    """Return the faults of Mesa's vc4 in a version, such as ``22.3.6``."""
    return [fault for fault in FAULTS if f"{mesa}.".startswith(fault.version)]

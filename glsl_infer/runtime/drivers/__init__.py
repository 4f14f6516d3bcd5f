"""Driver-specific behaviour. ``driver_of`` returns the properties of a context's driver.

The rest of the engine never looks at the driver's name. docs/engineering/performance.md has the gains.

VideoCore IV: shaders fetch texels one after the other. The compiler of its open driver (Mesa's vc4) schedules fetches
first and their uses afterwards. It then has too few registers for the texels: it copies them to and fro, and threads
wait. Shaders for this GPU make the coordinate of each fetch depend on the sum so far. This costs one operation per
fetch, so it does not suit other GPUs. This GPU also truncates every addition toward zero. Shaders with ordered fetches
compensate for this (``truncation.py``) unless ``NEAREST_SUMS`` is defined because the device rounds: no board has been
tested.

NVIDIA: the compiler takes a third of the time for loops that fetch weights from textures, and draws them as fast
(``ROLLED_FETCHES``). It compiles in several threads on request (``gl.compiler_threads``). These GPUs draw directly into
memory. On a tile-based GPU, as in phones and in a Raspberry Pi, a clear at the start of a job saves work: the GPU need
not fetch the previous texels of the target. Here a clear is one more write of a target, so clears without an effect are
omitted (``frame.needless_clears``). When a session starts, render targets are cleared instead of being filled with
zeros, because the driver would take longer to copy them. Stores do not round to nearest on an H200 (``rounding``). A
test would delay a start by 35 ms, nearly all of it to start the compiler while nothing else runs. Shaders that round in
their code are correct on any GPU, so they are used here without a test.

llvmpipe compiles a fragment shader twice: for tiles inside a triangle, and for tiles at its edges. If the result could
depend on the previous contents, it compiles only the second form and uses it for both. Blending by GL_ONE and GL_ZERO
stores exactly the shader's output, but counts as such a case. X22's shaders compile in half the time and draw in the
same time. On a GPU, blending could cost bandwidth.
"""

from __future__ import annotations

import weakref
from functools import cached_property

from glsl_infer.gl import constants as GL
from glsl_infer.gl import rounding
from glsl_infer.gl.context import Context
from glsl_infer.gl.rounding import ROUND_STORES
from glsl_infer.support.records import dataclass

LATE_FETCH = "#define LATE_FETCH\n"
NEAREST_SUMS = "#define NEAREST_SUMS\n"

ROLLED_FETCHES = "#define ROLLED_FETCHES\n"
"""The line that makes shaders with weights in textures use loops. Without it they have longer code without loops.

llvmpipe and NVIDIA's driver compile loops sooner. VideoCore IV needs straight-line code; other drivers have not been
measured. Shaders with weights in uniforms or in their source never have loops: a loop there costs a frame more time
than it saves the compiler.
"""

VIDEOCORE = ("VC4", "VideoCore IV")
"""Parts of GL_RENDERER in Mesa's driver and in Broadcom's."""

NVIDIA = "NVIDIA Corporation"
"""GL_VENDOR of NVIDIA's proprietary driver; Mesa's driver for the same chips has another."""

LLVMPIPE = "llvmpipe"
"""Part of GL_RENDERER on llvmpipe."""


def wants_ordered_fetches(renderer: str) -> bool:
    """Return whether shaders should define ``LATE_FETCH`` on a GPU, by its GL_RENDERER."""
    return any(name in renderer for name in VIDEOCORE)


def is_nvidia(vendor: str) -> bool:
    """Return whether a driver is NVIDIA's proprietary one, by its GL_VENDOR."""
    return vendor == NVIDIA


def is_llvmpipe(renderer: str) -> bool:
    """Return whether a driver is llvmpipe, by its GL_RENDERER. Only llvmpipe gains from these settings."""
    return LLVMPIPE in renderer


class DriverFacts:
    """Needs and preferences of a context's driver. Each is computed once."""

    def __init__(self, context: Context) -> None:
        self._reference = weakref.ref(context)  # the context refers to this object: avoid a reference cycle

    @property
    def _context(self) -> Context:
        context = self._reference()
        assert context is not None, "whoever asks holds the context"
        return context

    def _text(self, name: int) -> str:
        self._context.make_current()
        return self._context.gl.text(name)

    @property
    def device_lines(self) -> str:
        """The ``#define`` lines for shaders on this device; see ``rounding`` and ``ROLLED_FETCHES``."""
        lines = ROUND_STORES if self.rounds_stores else ""
        if self.ordered_fetches:
            return lines + LATE_FETCH + (NEAREST_SUMS if self.nearest_sums else "")
        return lines + (ROLLED_FETCHES if self.rolled_fetches else "")

    @cached_property
    def rounds_stores(self) -> bool:
        """True if shaders must round stored values: the device does not, or a test would take longer (NVIDIA)."""
        return is_nvidia(self._text(GL.GL_VENDOR)) or rounding.is_off(self._context.store_threshold)

    @cached_property
    def nearest_sums(self) -> bool:
        """True if additions round to nearest."""
        return not rounding.is_off(self._context.sum_threshold)

    @cached_property
    def ordered_fetches(self) -> bool:
        """True if shaders must fetch texels one after the other."""
        return wants_ordered_fetches(self._text(GL.GL_RENDERER))

    @cached_property
    def fetches_uniforms(self) -> bool:
        """True if weights are read from a texture instead of uniforms."""
        return is_llvmpipe(self._text(GL.GL_RENDERER))

    @cached_property
    def rolled_fetches(self) -> bool:
        """True if shaders that fetch all their operands are written as loops; see ``ROLLED_FETCHES``."""
        return is_llvmpipe(self._text(GL.GL_RENDERER)) or is_nvidia(self._text(GL.GL_VENDOR))

    @cached_property
    def draws_at_once(self) -> bool:
        """True if clears save the GPU no work."""
        return is_nvidia(self._text(GL.GL_VENDOR))

    def set_blending(self) -> None:
        """Set the driver's preferred blending; stored bytes never change."""
        if is_llvmpipe(self._text(GL.GL_RENDERER)):
            self._context.gl.Enable(GL.GL_BLEND)
            self._context.gl.BlendFunc(GL.GL_ONE, GL.GL_ZERO)


def driver_of(context: Context) -> DriverFacts:
    """Return the properties of a context's driver: the same object as long as the context exists."""
    if not isinstance(context.driver, DriverFacts):
        context.driver = DriverFacts(context)
    return context.driver


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

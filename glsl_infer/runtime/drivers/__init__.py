"""Driver-specific behaviour: one module or folder per driver, named after it.

``driver_of`` returns the properties of a context's driver. The rest of the engine never looks at the driver's name.
"""

from __future__ import annotations

import weakref
from functools import cached_property

from glsl_infer.gl import constants as GL
from glsl_infer.gl import rounding
from glsl_infer.gl.context import Context
from glsl_infer.gl.rounding import ROUND_STORES
from glsl_infer.runtime.drivers.llvmpipe.renderer import is_llvmpipe
from glsl_infer.runtime.drivers.nvidia import is_nvidia
from glsl_infer.runtime.drivers.videocore import LATE_FETCH, NEAREST_SUMS, wants_late_fetch

__all__ = ["ROLLED_FETCHES", "DriverFacts", "driver_of"]

ROLLED_FETCHES = "#define ROLLED_FETCHES\n"
"""The line that makes shaders with weights in textures use loops. Without it they have longer code without loops.

llvmpipe and NVIDIA's driver compile loops sooner. VideoCore IV needs straight-line code; other drivers have not been
measured. Shaders with weights in uniforms or in their source never have loops: a loop there costs a frame more time
than it saves the compiler.
"""


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
        """The ``#define`` lines for shaders on this device; see ``rounding``, ``videocore`` and ``ROLLED_FETCHES``."""
        lines = ROUND_STORES if self.rounds_stores else ""
        if self.late_fetch:
            return lines + LATE_FETCH + (NEAREST_SUMS if self.nearest_sums else "")
        return lines + (ROLLED_FETCHES if self.rolled_fetches else "")

    @cached_property
    def rounds_stores(self) -> bool:
        """True if shaders must round stored values: the device does not, or a test would take longer (``nvidia``)."""
        return is_nvidia(self._text(GL.GL_VENDOR)) or rounding.is_off(self._context.store_threshold)

    @cached_property
    def nearest_sums(self) -> bool:
        """True if additions round to nearest; see ``videocore``."""
        return not rounding.is_off(self._context.sum_threshold)

    @cached_property
    def late_fetch(self) -> bool:
        """True if shaders must fetch texels one after the other; see ``videocore``."""
        return wants_late_fetch(self._text(GL.GL_RENDERER))

    @cached_property
    def fetches_uniforms(self) -> bool:
        """True if weights are read from a texture instead of uniforms; see ``llvmpipe``."""
        return is_llvmpipe(self._text(GL.GL_RENDERER))

    @cached_property
    def rolled_fetches(self) -> bool:
        """True if shaders that fetch all their operands are written as loops; see ``ROLLED_FETCHES``."""
        return is_llvmpipe(self._text(GL.GL_RENDERER)) or is_nvidia(self._text(GL.GL_VENDOR))

    @cached_property
    def draws_at_once(self) -> bool:
        """True if clears save the GPU no work; see ``nvidia``."""
        return is_nvidia(self._text(GL.GL_VENDOR))

    def set_blending(self) -> None:
        """Set the driver's preferred blending; stored bytes never change. See ``llvmpipe.renderer``."""
        if is_llvmpipe(self._text(GL.GL_RENDERER)):
            self._context.gl.Enable(GL.GL_BLEND)
            self._context.gl.BlendFunc(GL.GL_ONE, GL.GL_ZERO)


def driver_of(context: Context) -> DriverFacts:
    """Return the properties of a context's driver: the same object as long as the context exists."""
    if not isinstance(context.driver, DriverFacts):
        context.driver = DriverFacts(context)
    return context.driver

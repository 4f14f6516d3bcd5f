"""A bundle, compiled and ready in a context: the resources of a session, from its start to its end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Union

import numpy as np

from glsl_infer.bundle import Bundle
from glsl_infer.errors import ContextError, InputError, RunError
from glsl_infer.gl.context import Context
from glsl_infer.gl.dma_import import Importer
from glsl_infer.gl.objects import Objects
from glsl_infer.runtime.inputs import Inputs
from glsl_infer.runtime.isolation import Isolation, meet
from glsl_infer.runtime.limits import require
from glsl_infer.runtime.opening import opened
from glsl_infer.runtime.outputs import Outputs
from glsl_infer.runtime.pictures.resampling import Resampler
from glsl_infer.runtime.pipeline import Pipeline
from glsl_infer.runtime.prepared import Prepared
from glsl_infer.runtime.statistics import Statistics
from glsl_infer.runtime.transfers import Transfers
from glsl_infer.support.closing import Closing, close_all, warn_unclosed
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.stopwatch import Stopwatch


class Drawable(Closing):
    """All resources for drawing a bundle, and the state of the context; the base class of ``Session``.

    Args:
        model, context, cache, isolated: as for ``Session``.

    Raises:
        BundleError, ContextError, LimitError, ShaderError: as ``Session``.
    """

    _closed = True  # until there is anything to free

    def __init__(
        self,
        model: Union[str, Path, Bundle],
        context: Union[str, Context],
        cache: Union[bool, Path],
        isolated: Isolation = False,
    ) -> None:
        clock = Stopwatch()
        self.start_up: Mapping[str, float] = clock.laps
        self._own_context = not isinstance(context, Context)
        self.bundle, self.context = opened(model, context, clock)
        self._checked = False
        self._pipeline: Pipeline | None = None
        self._resamplers: tuple[Resampler, ...] = ()
        self._importer = Importer(self.context)
        self._gl = self.context.gl
        self._objects = Objects(self._gl)
        self.context.adopted = self.context.adopted or self._own_context
        self._closed = False
        try:
            self.context.make_current()
            require(self.bundle.manifest.limits, self._gl)
            if isolated:
                meet(self.bundle, self.context, isolated)
                self.context.make_current()
                clock.lap("isolation")
            self._prepared = Prepared(self.bundle, self.context, self._objects, clock, cache)
            self._handles = self._prepared.handles
            self.frame, self.restored_programs = self._prepared.frame, self._prepared.restored_programs
            self.compiled_programs = self._prepared.compiled_programs
            manifest = self.bundle.manifest
            self._transfers = Transfers(manifest, self._gl, self._objects)
            self._inputs = Inputs(manifest, self._gl, self._transfers, self._prepared.resampler, self._importer)
            self._outputs = Outputs(manifest, self._transfers)
            self._resamplers = tuple(picture.resampler for picture in self._inputs.pictures.values())
            self._gl.check("after preparing the model")
        except BaseException:
            self.close()
            raise

    def statistics(self) -> Statistics:
        """Return the counts of one frame."""
        return Statistics.of(self.bundle.manifest, self.frame)

    def read_texture(self, name: str) -> NDArray[np.uint8]:
        """Return the current texels of a render target, uint8 (height, width, 4).

        Layers can share it: after a complete frame it holds the output of the last one.
        """
        self._settle()
        if name not in self._handles.framebuffers:
            raise InputError(f"no texture '{name}' is rendered into")
        return self._transfers.read_texture(name, self._handles)

    def close(self) -> None:
        """Delete every GL object, and the context if the session created it; further calls do nothing.

        Raises:
            ContextError: the session belongs to another thread.
        """
        if self._closed:
            return
        if not self.context.forked and not self.context.closed:
            self.context.require_thread()
        self._closed = True
        if self.context.forked:  # all objects belong to the parent process
            return
        if self._pipeline is not None:
            self._pipeline.close()
        try:
            if self._made_current():
                self._importer.close()
                close_all((*self._resamplers, self._objects))
        finally:
            if self.context.owner is self:
                self.context.owner = None
            if self._own_context:
                self.context.close()

    def _made_current(self) -> bool:
        """Make the context current; return whether it succeeded. A thread that has ended can still have it current.

        Raises:
            ContextError: it failed, and the session does not own the context: closing that would free all objects.
        """
        try:
            self.context.make_current()
        except ContextError:
            if self._own_context:
                return False
            self._closed = False
            raise
        return True

    def __del__(self) -> None:
        if self._closed or self.context.forked or sys.is_finalizing():
            return
        if self.context.closed and not self._own_context:  # closing the context has freed everything
            return
        self._closed = True
        if self._pipeline is not None:
            self._pipeline.close()
        # These must not refer to the context, or it would keep itself alive.
        left = (*self._importer.give_back(), *self._resamplers, self._objects)
        self.context.free_later(lambda: close_all(left))
        warn_unclosed(f"session of {self.bundle.path or self.bundle.manifest.name}", self)

    def activate(self) -> None:
        """Make the context current, with this session's vertex arrays and fixed state. Every use of a session does so.

        Raises:
            RunError: the session is closed.
        """
        if self._closed:
            raise RunError("the session is closed")
        self.context.make_current()
        if self.context.owner is self:
            return
        self.context.owner = self
        self._prepared.bind()

    def _settle(self) -> None:
        """Make the context current for this session, and finish all frames in flight."""
        self.activate()
        if self._pipeline is not None:
            self._pipeline.settle()

    def _check_first(self) -> None:
        if not self._checked:
            self._gl.check("in the first frame")
            self._checked = True

    def draw_layer(self, layer: str) -> None:
        """Draw one layer from the current texels of its inputs without waiting. All layers in order make a frame.

        Args:
            layer: the layer's name. An unknown layer or one without passes draws nothing.
        """
        for function, arguments in self._prepared.layers.get(layer, ()):
            function(*arguments)

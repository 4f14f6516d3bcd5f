"""Execution of a part of a model on the GPU: its GL objects from the start of a session to its end, and its draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from glsl_infer.bundle import Bundle
from glsl_infer.errors import InputError, RunError
from glsl_infer.gl import fences
from glsl_infer.gl.context import Context
from glsl_infer.gl.dma_import import Importer
from glsl_infer.gl.objects import Handles, Objects
from glsl_infer.graph import host_steps
from glsl_infer.program.layout import textures_of
from glsl_infer.runtime.inputs import Inputs
from glsl_infer.runtime.pictures.resampling import Resampler
from glsl_infer.runtime.pipeline import PendingFrame, Pipeline, Slot
from glsl_infer.runtime.prepared import Prepared
from glsl_infer.runtime.statistics import Statistics
from glsl_infer.runtime.transfers import Results, Transfers
from glsl_infer.support.closing import Closing, close_all, weak_method
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.stopwatch import Stopwatch

if TYPE_CHECKING:
    from glsl_infer.bundle.network import Layer


class GpuExecutor(Closing):
    """Executor of a bundle that is one part, compiled in the current context.

    Args:
        bundle: a bundle that is one part.
        context: the context to draw in; it is current.
        clock: records the steps of the preparation.
        cache: as for ``Session``.

    Attributes:
        frame: the GL calls of a frame, without upload and read-back, in order.
        restored_programs, compiled_programs: as in ``Session``.

    Raises:
        ShaderError, GlError: as ``Session``.
    """

    def __init__(self, bundle: Bundle, context: Context, clock: Stopwatch, cache: Union[bool, Path]) -> None:
        self.bundle, self.context = bundle, context
        self._gl = context.gl
        self._checked = self._closed = False
        self._pipeline: Pipeline | None = None
        self._resamplers: tuple[Resampler, ...] = ()
        self._importer = Importer(context)
        self._objects = Objects(self._gl)
        try:
            self._prepared = Prepared(bundle, context, self._objects, clock, cache)
            self._handles = self._prepared.handles
            self.frame, self.restored_programs = self._prepared.frame, self._prepared.restored_programs
            self.compiled_programs = self._prepared.compiled_programs
            manifest = bundle.manifest
            self._outputs = manifest.outputs
            self._transfers = Transfers(manifest, self._gl, self._objects)
            self._inputs = Inputs(manifest, self._gl, self._transfers, self._prepared.resampler, self._importer)
            self.inputs = tuple(model_input.name for model_input in manifest.inputs)
            self._resamplers = tuple(picture.resampler for picture in self._inputs.pictures.values())
            self._gl.check("after preparing the model")
        except BaseException:
            close_all(self.resources())
            raise

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of its layers with passes."""
        return self.bundle.manifest.layers

    @property
    def statistics(self) -> Statistics:
        """The counts of one frame."""
        return Statistics.of(self.bundle.manifest, self.frame)

    @property
    def computed(self) -> dict[str, Layer]:
        """The layers other than inputs, by name."""
        return {layer.name: layer for layer in self.bundle.network.layers if layer.name not in self.inputs}

    def put(self, tensors: Mapping[str, Any]) -> None:
        """Activate the part, finish its frames in flight, and upload its inputs.

        Raises:
            ImageError, InputError: as ``Session.run``.
        """
        inputs = self._inputs.checked(tensors)
        self.settle()
        self._inputs.put(inputs, self._handles)

    def draw(self) -> None:
        """Issue all GL calls of a frame without waiting for the GPU."""
        self.activate()
        for function, arguments in self.frame:
            function(*arguments)

    def read(self, handles: Handles | None = None) -> Results:
        """Wait for a frame, by default that of ``draw``; return its outputs, and release its pictures."""
        handles = handles or self._handles
        values = self.values(handles)
        self._inputs.release(handles)
        return {output.name: host_steps.apply(output.steps, values[output.name]) for output in self._outputs}

    def _read_only(self, handles: Handles) -> NDArray[np.float32]:
        """Return the only output, as ``read`` does."""
        return next(iter(self.read(handles).values()))

    def values(self, handles: Handles | None = None) -> dict[str, list[NDArray[np.float64]]]:
        """Return the values of each output after a frame, before its host steps."""
        self.activate()
        handles = handles or self._handles
        return {
            output.name: [self._transfers.read(value, handles) for value in output.values] for output in self._outputs
        }

    def start(self, tensors: Mapping[str, Any], *, named: bool) -> PendingFrame[Any]:
        """Start a frame and return before it is computed; see ``Session.run_async``.

        Args:
            tensors: the inputs by name.
            named: whether the result is a dict of all outputs, instead of the only output.
        """
        inputs = self._inputs.checked(tensors)
        self.activate()
        if self._pipeline is None:
            self._pipeline = Pipeline(
                Slot(self._handles, self.frame),
                self._prepared.another_slot,
                weak_method(self.activate),
                fences.available(self.context),
                weak_method(self.context.require_thread),
            )
        slot = self._pipeline.next()
        self._inputs.put(inputs, slot.handles)
        for function, arguments in slot.calls:
            function(*arguments)
        read: Callable[[Handles], Any] = self.read if named else self._read_only
        frame = self._pipeline.submitted(slot, weak_method(read))
        self._gl.Flush()  # otherwise a driver can wait for more commands before it starts
        self.check_first()
        return frame

    def check_first(self) -> None:
        """Check the driver's errors after the first frame.

        Raises:
            GlError: the driver reports an error.
        """
        if not self._checked:
            self._gl.check("in the first frame")
            self._checked = True

    def layers(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Draw the layers one after the other from the inputs of ``put``; yield the name and output of each."""
        for name, layer in self.computed.items():
            self.draw_layer(name)
            yield name, self._transfers.read(layer.output, self._handles).astype(np.float32)
            self.activate()

    def draw_layer(self, layer: str) -> None:
        """Draw one layer from the current texels of its inputs without waiting; see ``Session.draw_layer``."""
        for function, arguments in self._prepared.layers.get(layer, ()):
            function(*arguments)

    def run_layer(self, name: str, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
        """Run one layer alone on the caller's inputs, and return its output; see ``Session.run_layer``.

        Raises:
            InputError: the inputs do not fit the layer.
        """
        self.settle()
        sources = self.computed[name].inputs
        if len(inputs) != len(sources):
            raise InputError(
                f"layer '{name}' has {len(sources)} inputs ({', '.join(sources)}), {len(inputs)} were given"
            )
        values = self.bundle.values
        self._transfers.clear({texture for source in sources for texture in textures_of(values[source])}, self._handles)
        # Mesa 22.3's vc4, but not 25.0's, runs queued draws to a texture after a later upload (videocore.md).
        self._gl.Finish()
        for source, array in zip(sources, inputs):
            self._transfers.write(f"input '{source}'", values[source], array, self._handles)
        self.draw_layer(name)
        return self._transfers.read(values[name], self._handles).astype(np.float32)

    def read_texture(self, name: str) -> NDArray[np.uint8]:
        """Return the current texels of a render target; see ``Session.read_texture``."""
        self.settle()
        if name not in self._handles.framebuffers:
            raise InputError(f"no texture '{name}' is rendered into")
        return self._transfers.read_texture(name, self._handles)

    def pixels(self, name: str) -> NDArray[np.uint8]:
        """Return a picture of ``put`` as the network reads it, uint8 (height, width, channels)."""
        self.settle()
        return self._inputs.pictures[name].pixels(self._handles)

    def fitted(self, name: str, picture: Any) -> NDArray[np.uint8]:
        """Return any picture as the network would read it as the input with a name."""
        self.activate()
        target = self._inputs.pictures[name]
        target.put(target.check(picture), self._handles)
        return self.pixels(name)

    def activate(self) -> None:
        """Make the context current, with this part's vertex arrays and fixed state. Every use of a part does so.

        Raises:
            RunError: the session is closed.
        """
        if self._closed:
            raise RunError("the session is closed")
        self.context.make_current()
        if self.context.owner is not self:
            self.context.owner = self
            self._prepared.bind()

    def settle(self) -> None:
        """Make the context current for this part, and finish all frames in flight."""
        self.activate()
        if self._pipeline is not None:
            self._pipeline.settle()

    def abandon(self) -> None:
        """Give up all frames in flight, and the context."""
        self._closed = True
        if self._pipeline is not None:
            self._pipeline.close()
        if self.context.owner is self:
            self.context.owner = None

    def close(self) -> None:
        """Delete every GL object; the context is current."""
        self._importer.close()
        close_all((*self._resamplers, self._objects))

    def resources(self) -> tuple[Closing, ...]:
        """Return the owners of all GL objects for deletion without this part: they do not refer to the context."""
        return (*self._importer.give_back(), *self._resamplers, self._objects)

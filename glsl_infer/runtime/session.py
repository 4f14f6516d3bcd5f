"""Runs a bundle on the GPU."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, Union, cast

import numpy as np
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle, probe
from glsl_infer.errors import InputError, RunError
from glsl_infer.gl import fences
from glsl_infer.gl.context import Context
from glsl_infer.gl.dma_import import Importer
from glsl_infer.gl.handles import Handles
from glsl_infer.gl.objects import Objects
from glsl_infer.program.layout import textures_of
from glsl_infer.runtime import selfcheck
from glsl_infer.runtime.limits import require
from glsl_infer.runtime.opening import read_beside
from glsl_infer.runtime.pictures.picture_input import Picture, PictureInput
from glsl_infer.runtime.pictures.resampling import Resampler
from glsl_infer.runtime.pipeline import PendingFrame, Pipeline, Slot, Wait, check_wait
from glsl_infer.runtime.prepared import Prepared
from glsl_infer.runtime.transfers import Transfers
from glsl_infer.support.closing import Closing, warn_unclosed
from glsl_infer.support.stopwatch import Stopwatch


@dataclass(frozen=True)
class Statistics:
    """What one frame takes: exact counts, apart from the upload of the picture and the read-back.

    Attributes:
        passes: draws.
        jobs: changes of render target.
        programs: shader programs in the bundle.
        gl_calls: GL calls between upload and read-back.
        texture_bytes: bytes of all textures, constant ones included, 4 a texel.
    """

    passes: int
    jobs: int
    programs: int
    gl_calls: int
    texture_bytes: int


class Session(Closing):
    """A bundle, compiled and ready on an OpenGL ES 2.0 context. Use it as a context manager, or ``close`` it.

    A session belongs to the thread that uses it; another thread needs its own. One that is dropped without ``close`` is
    freed with its last reference, and a ResourceWarning says so; its unread frames are lost.

    Args:
        model: path of a ``.glslnn`` file, or a bundle that was read already.
        context: ``auto``, ``surfaceless``, ``device``, ``glfw``, or a ``Context`` that stays the caller's to close.
        selfcheck: run the probe through every layer first.
        cache: whether compiled programs are kept for the next start, where the driver gives them away: in the user's
            cache folder (``program_cache.default_folder``), in a folder of your own, or not at all.

    Attributes:
        start_up: seconds of each step of the start: ``context`` and ``bundle`` (0 where one was given; where neither
            was, the file is read meanwhile, and ``bundle`` is the rest), ``rounding_test``, ``programs``,
            ``program_cache`` (what is written to it), ``textures`` (and all else that is prepared).
        restored_programs: how many programs came from the cache and were not compiled.
        frame: the GL calls of a frame, apart from upload and read-back, as they are made.

    Raises:
        BundleError, ContextError, LimitError: the file or this machine will not do.
        ShaderError: the driver refuses a shader; names the layer and quotes the driver.
        SelfCheckError: with ``selfcheck``, a layer that computes something else than the reference.
    """

    _closed = True  # until it holds anything

    def __init__(
        self,
        model: Union[str, Path, Bundle],
        *,
        context: Union[str, Context] = "auto",
        selfcheck: bool = False,
        cache: Union[bool, Path] = True,
    ) -> None:
        clock = Stopwatch()
        self.start_up: Mapping[str, float] = clock.laps
        self._own_context = not isinstance(context, Context)
        self.bundle, self.context = _opened(model, context, clock)
        self._checked = False
        self._pipeline: Pipeline | None = None
        self._resampler: Resampler | None = None
        self._importer = Importer(self.context)
        self._gl = self.context.gl
        self._objects = Objects(self._gl)
        self.context.adopted = self.context.adopted or self._own_context
        self._closed = False
        try:
            self.context.make_current()
            require(self.bundle.manifest.limits, self._gl)
            self._prepared = Prepared(self.bundle, self.context, self._objects, clock, cache)
            self._handles = self._prepared.handles
            self.frame, self.restored_programs = self._prepared.frame, self._prepared.restored_programs
            size = self.bundle.manifest.input.size
            self._resampler = Resampler(self._gl, self._prepared.prelude, size, self._prepared.covering_vertex)
            self._picture = PictureInput(self.bundle, self._gl, self._objects, self._resampler, self._importer)
            self._transfers = Transfers(self.bundle, self._gl, self._objects, self._picture)
            self._gl.check("after preparing the model")
            if selfcheck:
                self.selfcheck()
        except BaseException:
            self.close()
            raise

    # Running ---------------------------------------------------------------------------------------

    def run(self, image: Picture) -> NDArray[np.float32]:
        """Return the output for a picture, float32: logits (classes,), or a feature map (height, width, channels).

        Args:
            image: uint8 (size, size, 3) at the model's size, which is taken as it is; uint8 (height, width, 3) of any
                other size, a ``TexturePicture`` of the session's context, or a ``DmaBuf``, whose centred square shaders
                scale: within 2 of 255 of what ``preprocess`` makes of it. One that no texture can hold is scaled by
                the CPU. A dma-buf is imported for this frame alone (``gl.dma_import.refusal`` says whether a context
                can), and its bytes and file descriptors have to stay until the output is there.

        Raises:
            ImageError: another shape or type, no such texture, or a dma-buf that the driver does not take;
                ``preprocess.load`` takes any picture.
            ShaderError: the driver refuses the shaders that scale.
            GlError: the driver reports an error on the first run.
        """
        self.upload(image)
        self.submit()
        output = self.read_back()
        self._check_first()
        return output

    def run_async(self, image: Picture) -> PendingFrame:
        """Give the GPU a frame and return before it is computed; ask the answer for its ``result`` later.

        Two frames may be on their way. When a third comes, the first is waited for, if its result has not been asked
        for yet; it stays to be had. So the GPU is never idle in a loop that starts a frame and then reads the one
        before; ``stream`` is that loop.

        Raises:
            As ``run``.
        """
        self._picture.check(image)
        self.activate()
        if self._pipeline is None:
            self._pipeline = Pipeline(
                Slot(self._handles, self.frame),
                self._prepared.another_slot,
                _weakly(self.activate),
                _weakly(self._read_output),
                fences.available(self.context),
            )
        slot = self._pipeline.next()
        self._picture.put(image, slot.handles)
        for function, arguments in slot.calls:
            function(*arguments)
        frame = self._pipeline.submitted(slot)
        self._gl.Flush()  # else a driver may wait for more to do
        self._check_first()
        return frame

    def stream(self, images: Iterable[Picture], *, wait: Wait = "sleep") -> Iterator[NDArray[np.float32]]:
        """Yield the output of each image, in order, while the GPU already computes the next one.

        Args:
            images: as for ``run``; the next is asked for as soon as the GPU has the one before, so that a camera or a
                decoder works while the GPU does. What lies in a dma-buf stays there until its own output is yielded.
            wait: ``sleep`` until the GPU has ended a frame, or ``spin``, which takes a CPU core and less time.

        Raises:
            InputError: another word for ``wait``.
            As ``run``.
        """
        check_wait(wait)
        before: PendingFrame | None = None
        for image in images:
            frame = self.run_async(image)
            if before is not None:
                yield before.result(wait)
            before = frame
        if before is not None:
            yield before.result(wait)

    def upload(self, image: Picture) -> None:
        """Do the first step of ``run``: make the context this session's, and give it the picture.

        Raises:
            ImageError: as ``run``.
        """
        self._picture.check(image)
        self._settle()
        self._picture.put(image, self._handles)

    def submit(self) -> None:
        """Do the second step of ``run``: give the driver all calls of a frame, and do not wait for what they draw."""
        for function, arguments in self.frame:
            function(*arguments)

    def read_back(self) -> NDArray[np.float32]:
        """Do the last step of ``run``: wait for the frame to end, and return the model's output."""
        return self._read_output(self._handles)

    def layers(self, image: Picture) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Yield (layer name, output as numbers) of every layer but the picture itself, in order.

        Each is drawn when it is asked for: finish the loop before you run this session on something else.
        """
        self.upload(image)
        for layer in self.bundle.network.layers:
            if layer.op == "input":
                continue
            self.draw_layer(layer.name)
            yield layer.name, self._transfers.read(layer.output, self._handles)
            self.activate()

    def run_layer(self, name: str, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
        """Run one layer alone, on given inputs, and return its output.

        Args:
            name: the layer's name.
            inputs: one array for each of its inputs: (height, width, channels) of a feature map, (length,)
                of a vector. They are rounded to what their textures hold, within the ranges of these.

        Raises:
            InputError: no such layer, or inputs that do not fit it.
        """
        self._settle()
        layers = {layer.name: layer for layer in self.bundle.network.layers}
        if name not in layers or layers[name].op == "input":
            raise InputError(f"no layer '{name}'; there are: {', '.join(list(layers)[1:])}")
        wanted = layers[name].inputs
        if len(inputs) != len(wanted):
            raise InputError(f"layer '{name}' has {len(wanted)} inputs ({', '.join(wanted)}), {len(inputs)} were given")
        self._transfers.clear(
            {texture for source in wanted for texture in textures_of(layers[source].output)}, self._handles
        )
        # Mesa 22.3's vc4 writes an upload at once, and what is queued for that texture over it (docs/videocore.md).
        self._gl.Finish()
        for source, array in zip(wanted, inputs):
            self._transfers.write(source, layers[source].output, array, self._handles)
        self.draw_layer(name)
        return self._transfers.read(layers[name].output, self._handles)

    def input_pixels(self) -> NDArray[np.uint8]:
        """Return the picture of the last ``run`` or ``upload`` as the network reads it, uint8 (size, size, 3)."""
        self._settle()
        return self._picture.pixels(self._handles)

    def read_texture(self, name: str) -> NDArray[np.uint8]:
        """Return a texture that passes render into, as it is now: uint8 (height, width, 4).

        Layers may share it: after a whole frame it holds the output of the last one that did.
        """
        self._settle()
        if name not in self._handles.framebuffers:
            raise InputError(f"no texture '{name}' is rendered into")
        return self._transfers.read_texture(name, self._handles)

    def selfcheck(self) -> tuple[probe.LayerError, ...]:
        """Run the probe through all layers and return every layer's error.

        Raises:
            SelfCheckError: naming the first layer that is further off than its tolerance, the driver, and what to try.
        """
        found = selfcheck.check(self)
        found.require()
        return found.layers

    def statistics(self) -> Statistics:
        """Return what one frame takes."""
        manifest = self.bundle.manifest
        return Statistics(
            passes=len(manifest.passes),
            jobs=manifest.jobs,
            programs=len(manifest.programs),
            gl_calls=len(self.frame),
            texture_bytes=sum(4 * texture.width * texture.height for texture in manifest.textures),
        )

    def close(self) -> None:
        """Delete every GL object, and the context if the session made it; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        if self.context.forked:  # nothing of it is this process's
            return
        if self._pipeline is not None:
            self._pipeline.close()
        try:
            self.context.make_current()
            self._importer.close()
            if self._resampler is not None:
                self._resampler.close()
            self._objects.close()
        finally:
            if self.context.owner is self:
                self.context.owner = None
            if self._own_context:
                self.context.close()

    def __del__(self) -> None:
        if self._closed or self.context.forked or sys.is_finalizing():
            return
        if self.context.closed and not self._own_context:  # whoever closed it has freed all
            return
        self._closed = True
        if self._pipeline is not None:
            self._pipeline.close()
        # Nothing of these knows the context, which would keep itself alive.
        left = (*self._importer.give_back(), self._resampler, self._objects)
        self.context.free_later(lambda: _close_all(left))
        warn_unclosed(f"session of {self.bundle.path or self.bundle.manifest.name}", self)

    # The state of the context ------------------------------------------------------------------------

    def activate(self) -> None:
        """Make the context current, and its vertex arrays and fixed state this session's, as every use of it does.

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

    def _read_output(self, handles: Handles) -> NDArray[np.float32]:
        """Wait for the frame of ``handles`` and return its output; the GPU needs its picture no longer."""
        output = self._transfers.read(self.bundle.manifest.outputs[0].value, handles)
        self._picture.read(handles)
        return output

    def _settle(self) -> None:
        """Make the context the session's, with no frame on its way."""
        self.activate()
        if self._pipeline is not None:
            self._pipeline.settle()

    def _check_first(self) -> None:
        if not self._checked:
            self._gl.check("in the first frame")
            self._checked = True

    def draw_layer(self, layer: str) -> None:
        """Draw one layer on what its inputs' textures hold, and do not wait for it; in order, all make a frame.

        Args:
            layer: the layer's name; one that draws nothing, or that there is not, costs nothing.
        """
        for function, arguments in self._prepared.layers.get(layer, ()):
            function(*arguments)


def _close_all(left: Iterable[Closing | None]) -> None:
    for holder in left:
        if holder is not None:
            holder.close()


Method = TypeVar("Method", bound=Callable[..., object])


def _weakly(method: Method) -> Method:
    """Return a method for those who may not keep its object alive; they do not call it when that is gone."""
    weak = weakref.WeakMethod(method)

    def call(*arguments: object) -> object:
        bound = weak()
        assert bound is not None
        return bound(*arguments)

    return cast(Method, call)


def _opened(model: Union[str, Path, Bundle], context: Union[str, Context], clock: Stopwatch) -> tuple[Bundle, Context]:
    """Read and make what was not given."""
    if not isinstance(model, Bundle) and not isinstance(context, Context):
        return read_beside(model, context, clock)
    bundle = model if isinstance(model, Bundle) else bundles.read(model)
    clock.lap("bundle")
    made = context if isinstance(context, Context) else Context(context)
    clock.lap("context")
    return bundle, made

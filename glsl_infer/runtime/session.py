"""Runs a bundle on the GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np

from glsl_infer.bundle import Bundle, has_parts, probe
from glsl_infer.errors import InputError
from glsl_infer.gl import fences
from glsl_infer.gl.context import Context
from glsl_infer.gl.handles import Handles
from glsl_infer.program.layout import textures_of
from glsl_infer.runtime import saturation, selfcheck
from glsl_infer.runtime.drawable import Drawable
from glsl_infer.runtime.inputs import Named, Numbers
from glsl_infer.runtime.isolation import Isolation
from glsl_infer.runtime.outputs import Answer, Results
from glsl_infer.runtime.part_run import PartRun
from glsl_infer.runtime.pictures.picture_input import Picture
from glsl_infer.runtime.pipeline import PendingFrame, Pipeline, Slot, Wait, check_wait, finished
from glsl_infer.runtime.saturation import Saturation
from glsl_infer.runtime.state import State
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.support.weak_method import weak_method

if TYPE_CHECKING:
    from glsl_infer.bundle.network import Layer
    from glsl_infer.cpu.custom import Functions

Alone = Union[Picture, Numbers]
"""Value of a model's only input."""


class Session(Drawable):
    """A bundle, compiled on an OpenGL ES 2.0 context in this process. Open untrusted files with ``isolated="first"``.

    Use it as a context manager, or ``close`` it. A session belongs to the thread that created it: while that thread
    runs, every use and ``close`` in another thread raise ContextError. A session without other references is freed even
    if it was not closed, with a ResourceWarning; its unread frames are lost. A model with parts for the CPU gets a
    ``PartedSession``.

    Args:
        model: path of a ``.glslnn`` file, or a ``Bundle``.
        context: ``auto``, ``surfaceless``, ``device``, ``glfw``, or a ``Context``, which the caller has to close.
        selfcheck: run the probe through every layer first.
        cache: whether to store compiled programs for the next start, if the driver can export them: in the user's cache
            folder (``program_cache.default_folder``), in a folder of your own, or not at all.
        operators: functions for a model's custom operators, by their names in the model.
        isolated: let a child process compile and draw the model first, in case the file makes the driver crash, hang or
            fill the memory; ``"first"``: unless the model has passed on this driver before.
        state: outputs that are inputs of the next frame, ``{input: output}``. ``run`` then sets those inputs to the
            outputs of the frame before, and to zeros in the first frame. ``state.reset()`` begins a new sequence.
        check_ranges: let ``run`` draw every input layer by layer first, and warn (``UserWarning``) if ranges clip its
            values.

    Attributes:
        start_up: seconds of each step of the start: ``context`` and ``bundle`` (0 for an object from the caller; if
            neither is one, the file is read meanwhile, and ``bundle`` is the remaining wait), ``rounding_test``,
            ``programs``, ``program_cache`` (writing the cache), ``textures`` (and all other preparation).
        restored_programs: number of programs from the cache, which were not compiled.
        compiled_programs: number of compiled programs, after merging for this driver, which can reduce their number.
        frame: the GL calls of a frame, without upload and read-back, in order.
        state: the values kept from frame to frame; see ``state.State``.
        part_runs: measurements of each part of a model with parts in its last frame.

    Raises:
        BundleError, ContextError, LimitError: the file or this machine is unsuitable.
        ShaderError: the driver refuses a shader; names the layer and quotes the driver.
        RunError: with ``isolated``, the child crashed, hung or took too much memory.
        SelfCheckError: with ``selfcheck``, a layer's result differs from the reference.
    """

    def __new__(cls, model: Union[str, Path, Bundle], **_: Any) -> Session:
        """Return a session of the class for the model: ``PartedSession`` if it has parts, else ``Session``."""
        parts = bool(model.parts) if isinstance(model, Bundle) else has_parts(Path(model))
        if cls is Session and parts:
            from glsl_infer.runtime.parted_session import PartedSession

            return object.__new__(PartedSession)
        return object.__new__(cls)

    def __init__(
        self,
        model: Union[str, Path, Bundle],
        *,
        context: Union[str, Context] = "auto",
        selfcheck: bool = False,
        cache: Union[bool, Path] = True,
        operators: Functions | None = None,
        isolated: Isolation = False,
        state: Mapping[str, str] | None = None,
        check_ranges: bool = False,
    ) -> None:
        super().__init__(model, context, cache, isolated)
        self._check_ranges = check_ranges
        try:
            self.state = State(self.bundle.manifest, state)
        except BaseException:
            self.close()
            raise
        self.part_runs: tuple[PartRun, ...] = ()
        self._named = False
        if selfcheck:
            try:
                self.selfcheck()
            except BaseException:
                self.close()
                raise

    @property
    def gpu_sessions(self) -> tuple[Session, ...]:
        """The sessions that draw: this one, or those of the GPU parts of a model with parts."""
        return (self,)

    @overload
    def run(self, inputs: Named) -> Results: ...

    @overload
    def run(self, inputs: Alone) -> NDArray[np.float32]: ...

    def run(self, inputs: Union[Named, Alone]) -> Answer:
        """Return the outputs for a picture, or for pictures and arrays by name.

        Args:
            inputs: a dict with an array for each input, or the value of the only input if the model has one output as
                well. A picture input takes uint8 (height, width, channels), a grey one (height, width) as well. Pixels
                of its own size are used unchanged. Shaders fit pictures of other sizes, a ``TexturePicture`` of the
                session's context and a ``DmaBuf``: within 2 of 255 of the result of ``preprocess``. The CPU fits
                pictures too large for a texture. A dma-buf is imported for this frame alone (``gl.dma_import.refusal``
                returns the reason if it cannot), and its bytes and file descriptors must stay valid until the output
                has been read. A numeric input takes an array of its shape, of any float or integer type; values outside
                the range are clipped.

        Returns:
            float32 arrays: a dict of outputs by name for a dict, otherwise the output alone: logits (classes,), a
            feature map (height, width, channels), or the result of the output's host steps. ``manifest.outputs`` has
            the shapes.

        Raises:
            ImageError: a picture has another shape or type, a texture does not exist, or the driver cannot import a
                dma-buf; ``preprocess.load_for`` converts any picture.
            InputError: an input is missing or unknown, its values have another shape or type, or a value is NaN.
            ShaderError: the driver refuses the shaders that scale.
            GlError: the driver reports an error on the first run.
        """
        if self._check_ranges:
            saturation.warn(self.saturation(inputs))
        self.upload(inputs)
        self.submit()
        answer = self.read_back()
        self._check_first()
        return answer

    @overload
    def run_async(self, inputs: Named) -> PendingFrame[Results]: ...

    @overload
    def run_async(self, inputs: Alone) -> PendingFrame[NDArray[np.float32]]: ...

    def run_async(self, inputs: Union[Named, Alone]) -> PendingFrame[Any]:
        """Start a frame on the GPU and return before it is computed; call ``result`` of the returned frame later.

        Two frames can be in flight. A third one first waits for the oldest if its result has not been read; that result
        stays available. So the GPU is never idle in a loop that starts a frame and then reads the one before, such as
        ``stream``.

        Raises:
            As ``run``.
        """
        if self.state:  # the next frame needs the state of this one
            return finished(self.run(inputs))
        given = self._inputs.checked(inputs)
        self.activate()
        if self._pipeline is None:
            self._pipeline = Pipeline(
                Slot(self._handles, self.frame),
                self._prepared.another_slot,
                weak_method(self.activate),
                fences.available(self.context),
            )
        slot = self._pipeline.next()
        self._inputs.put(given, slot.handles)
        for function, arguments in slot.calls:
            function(*arguments)
        frame = self._pipeline.submitted(
            slot, weak_method(self._read_all if isinstance(inputs, Mapping) else self._read_only)
        )
        self._gl.Flush()  # otherwise a driver can wait for more commands before it starts
        self._check_first()
        return frame

    @overload
    def stream(self, inputs: Iterable[Named], *, wait: Wait = "sleep") -> Iterator[Results]: ...

    @overload
    def stream(self, inputs: Iterable[Alone], *, wait: Wait = "sleep") -> Iterator[NDArray[np.float32]]: ...

    def stream(self, inputs: Iterable[Any], *, wait: Wait = "sleep") -> Iterator[Any]:
        """Yield the result of ``run`` for each of many inputs, in order, while the GPU already computes the next one.

        Args:
            inputs: as for ``run``. The next input is fetched as soon as the GPU has the one before, so that a camera or
                a decoder works at the same time. The contents of a dma-buf must not change until its own output is
                yielded.
            wait: ``sleep`` until the GPU has finished a frame, or ``spin``, which takes a CPU core and less time.

        Raises:
            InputError: ``wait`` is neither ``sleep`` nor ``spin``.
            As ``run``.
        """
        check_wait(wait)
        before: PendingFrame[Any] | None = None
        for given in inputs:
            frame = self.run_async(given)
            if before is not None:
                yield before.result(wait)
            before = frame
        if before is not None:
            yield before.result(wait)

    def upload(self, inputs: Union[Named, Alone]) -> None:
        """Do the first step of ``run``: activate the session and upload the inputs.

        Raises:
            ImageError, InputError: as ``run``.
        """
        given = self._inputs.checked(self.state.completed(inputs))
        self._settle()
        self._named = isinstance(inputs, Mapping)
        self._inputs.put(given, self._handles)

    def submit(self) -> None:
        """Do the second step of ``run``: issue all GL calls of a frame without waiting for the GPU."""
        self.context.require_thread()
        for function, arguments in self.frame:
            function(*arguments)

    def read_back(self) -> Answer:
        """Do the last step of ``run``: wait for the frame to end, and return the outputs as ``run`` does."""
        self.context.require_thread()
        results = self.state.kept(self._read_all(self._handles))
        return results if self._named else self.state.only(results)

    def output_values(self) -> dict[str, list[NDArray[np.float64]]]:
        """Return the values of each output after the last frame, by name, before the host steps."""
        self.context.require_thread()
        return self._outputs.values(self._handles)

    def layers(self, inputs: Union[Named, Alone]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Yield (layer name, output values) of every layer but the inputs, in order.

        Each layer is drawn on demand: finish the loop before you run this session on another input.
        """
        self.upload(inputs)
        for name, layer in self._computed.items():
            self.draw_layer(name)
            yield name, self._transfers.read(layer.output, self._handles).astype(np.float32)
            self.activate()

    def saturation(self, inputs: Union[Named, Alone]) -> tuple[Saturation, ...]:
        """Return the layers whose ranges clip values of an input, largest share first; see ``saturation.check``."""
        return saturation.check(self, inputs)

    def run_layer(self, name: str, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
        """Run one layer alone on the caller's inputs, and return its output.

        Args:
            name: the layer's name.
            inputs: one array for each of its inputs: (height, width, channels) of a feature map, (length,) of a vector.
                They are rounded to the stored format of their textures, and clipped to their ranges.

        Raises:
            InputError: the layer does not exist, or the inputs do not fit it.
        """
        self._settle()
        if name not in self._computed:
            raise InputError(
                f"no layer '{name}'{did_you_mean(name, self._computed)}; there are: {', '.join(self._computed)}"
            )
        wanted = self._computed[name].inputs
        if len(inputs) != len(wanted):
            raise InputError(f"layer '{name}' has {len(wanted)} inputs ({', '.join(wanted)}), {len(inputs)} were given")
        values = self.bundle.values
        self._transfers.clear({texture for source in wanted for texture in textures_of(values[source])}, self._handles)
        # Mesa 22.3's vc4, but not 25.0's, runs queued draws to a texture after a later upload (videocore.md).
        self._gl.Finish()
        for source, array in zip(wanted, inputs):
            self._transfers.write(f"input '{source}'", values[source], array, self._handles)
        self.draw_layer(name)
        return self._transfers.read(values[name], self._handles).astype(np.float32)

    @property
    def _computed(self) -> dict[str, Layer]:
        """The layers other than inputs, by name."""
        given = {entry.name for entry in self.bundle.manifest.inputs}
        return {layer.name: layer for layer in self.bundle.network.layers if layer.name not in given}

    def input_pixels(self, name: str | None = None) -> NDArray[np.uint8]:
        """Return a picture of the last ``run`` or ``upload`` as the network reads it, uint8 (height, width, channels).

        Args:
            name: of the input; the only picture by default.

        Raises:
            InputError: the name is not a picture input, or is missing although there are several.
        """
        self._settle()
        return self._inputs.pixels(name, self._handles)

    def selfcheck(self) -> tuple[probe.LayerError, ...]:
        """Run the probe through all layers and return every layer's error.

        Raises:
            SelfCheckError: a layer or an output is wrong; names the first one, the driver, and steps to try.
        """
        result = selfcheck.check(self)
        result.require()
        return result.layers

    def _read_all(self, handles: Handles) -> Results:
        """Wait for the frame of ``handles``, return its outputs, and release its pictures."""
        results = self._outputs.read(handles)
        self._inputs.release(handles)
        return results

    def _read_only(self, handles: Handles) -> NDArray[np.float32]:
        """Return the only output, as ``_read_all`` does."""
        return next(iter(self._read_all(handles).values()))

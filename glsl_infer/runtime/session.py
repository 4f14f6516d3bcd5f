"""Runs a bundle: pictures and arrays in, results out."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np

from glsl_infer.bundle import Bundle, probe
from glsl_infer.bundle.manifest import PICTURE, Input
from glsl_infer.errors import ContextError, InputError
from glsl_infer.gl.context import Context
from glsl_infer.gl.limits import require as require_limits
from glsl_infer.graph import host_steps
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime import sandbox_mode, selfcheck
from glsl_infer.runtime.frame import Call
from glsl_infer.runtime.gpu_executor import GpuExecutor
from glsl_infer.runtime.inputs import Named, Numbers, as_values, by_name
from glsl_infer.runtime.opening import opened
from glsl_infer.runtime.pictures.picture_input import Picture
from glsl_infer.runtime.pipeline import PendingFrame, Wait, check_wait, finished
from glsl_infer.runtime.state import State
from glsl_infer.runtime.statistics import PartRun, Statistics
from glsl_infer.runtime.transfers import Answer, Results
from glsl_infer.support import fast_start
from glsl_infer.support.closing import Closing, close_all, warn_unclosed
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.near_names import choices, did_you_mean
from glsl_infer.support.stopwatch import Stopwatch

if TYPE_CHECKING:
    from glsl_infer.cpu.custom import Functions
    from glsl_infer.runtime.cpu_executor import CpuExecutor
    from glsl_infer.runtime.saturation import Saturation

Alone = Union[Picture, Numbers]
"""Value of a model's only input."""


class Session(Closing):
    """A bundle, compiled on an OpenGL ES 2.0 context in this process. Open untrusted files with ``isolated="first"``.

    Use it as a context manager, or ``close`` it. A session belongs to the thread that created it: while that thread
    runs, every use and ``close`` in another thread raise ContextError. A session without other references is freed even
    if it was not closed, with a ResourceWarning; its unread frames are lost.

    A model can have parts for the CPU between those for the GPU. Each part needs the results of the parts before it, so
    a frame of several parts is computed at once, even in methods that return before the GPU has finished.

    Args:
        model: path of a ``.glslnn`` file, or a ``Bundle``.
        context: ``auto``, ``surfaceless``, ``device``, ``glfw``, or a ``Context``, which the caller has to close.
        selfcheck: run the probe through every layer first.
        cache: whether to store compiled programs for the next start, if the driver can export them: in the user's cache
            folder (``program_cache.default_folder``), in a folder of your own, or not at all.
        operators: functions for a model's custom operators, by their names in the model.
        isolated: let a child process compile and draw the model first, in case the file makes the driver crash, hang or
            fill the memory; ``"first"``: unless the model has passed on this driver before. Default: False, and
            ``"first"`` in the commands of ``glsl-infer``.
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

    Raises:
        BundleError, ContextError, LimitError: the file or this machine is unsuitable.
        ShaderError: the driver refuses a shader; names the layer and quotes the driver.
        RunError: with ``isolated``, the child crashed, hung or took too much memory.
        SelfCheckError: with ``selfcheck``, a layer's result differs from the reference.
    """

    _closed = True  # until there is anything to free

    def __init__(
        self,
        model: Union[str, Path, Bundle],
        *,
        context: Union[str, Context] = "auto",
        selfcheck: bool = False,
        cache: Union[bool, Path] = True,
        operators: Functions | None = None,
        isolated: sandbox_mode.SandboxMode | None = None,
        state: Mapping[str, str] | None = None,
        check_ranges: bool = False,
    ) -> None:
        clock = Stopwatch()
        self.start_up: Mapping[str, float] = clock.laps
        self._own_context = not isinstance(context, Context)
        self.bundle, self.context = opened(model, context, clock)
        self.context.adopted = self.context.adopted or self._own_context
        self._parts: list[GpuExecutor | CpuExecutor] = []
        self._closed, self._named, self._check_ranges = False, False, check_ranges
        self._tensors: dict[str, Any] = {}
        self._part_seconds: list[float] = []
        self._part_began = 0.0
        try:
            self._state = State(self.bundle.manifest, state)
            self._require_functions(operators)
            self.context.make_current()
            require_limits(vars(self.bundle.manifest.limits), self.context.gl)
            isolated = sandbox_mode.default() if isolated is None else isolated
            if isolated:
                from glsl_infer.runtime.isolation import run_sandboxed  # other sessions start sooner without it

                run_sandboxed(self.bundle, self.context, isolated)
                self.context.make_current()
                clock.lap("isolation")
            for part in self._prepared(clock, cache, operators or {}):
                self._parts.append(part)
            self._gpu_executors = tuple(part for part in self._parts if isinstance(part, GpuExecutor))
            self._first, self._last = self._parts[0], self._parts[-1]
            self._pairs = tuple(zip(self._parts, self._parts[1:]))
            self.restored_programs = sum(part.restored_programs for part in self._gpu_executors)
            self.compiled_programs = sum(part.compiled_programs for part in self._gpu_executors)
            if selfcheck:
                self.selfcheck()
            fast_start.end()
        except BaseException:
            self.close()
            raise

    def _require_functions(self, functions: Functions | None) -> None:
        for name in self.bundle.custom_operators:
            from glsl_infer.cpu.custom import require  # imported here because few models need it

            require(name, functions)

    def _prepared(
        self, clock: Stopwatch, cache: Union[bool, Path], functions: Functions
    ) -> Iterator[GpuExecutor | CpuExecutor]:
        for part in self.bundle.parts:
            if isinstance(part, Bundle):
                self.context.make_current()
                yield GpuExecutor(part, self.context, clock, cache)
            else:
                from glsl_infer.runtime.cpu_executor import CpuExecutor  # imported here because few models need it

                yield CpuExecutor(part, functions)

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
            from glsl_infer.runtime import saturation

            saturation.warn(self.saturation(inputs))
        self.upload(inputs)
        self.submit()
        answer = self.read_back()
        for part in self.gpu_executors:
            part.check_first()
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
        if self.state or self._pairs:  # the next frame or part needs the results of this one
            return finished(self.run(inputs))
        (part,) = self.gpu_executors
        return part.start(by_name(self.bundle.manifest, inputs), named=isinstance(inputs, Mapping))

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
        pending: PendingFrame[Any] | None = None
        for frame_inputs in inputs:
            frame = self.run_async(frame_inputs)
            if pending is not None:
                yield pending.result(wait)
            pending = frame
        if pending is not None:
            yield pending.result(wait)

    def upload(self, inputs: Union[Named, Alone]) -> None:
        """Do the first step of ``run``: activate the session and upload the inputs of the first part.

        Raises:
            ImageError, InputError: as ``run``.
        """
        tensors = by_name(self.bundle.manifest, self.state.add_to(inputs))
        if self._pairs:
            self._check_shapes(tensors)
            self._part_seconds, self._part_began = [], time.perf_counter()
            self._put(self._first, tensors)
        else:
            self._first.put(tensors)
        self._named, self._tensors = isinstance(inputs, Mapping), tensors

    def submit(self) -> None:
        """Do the second step of ``run``: compute all parts but the last, and issue all GL calls of the last one."""
        self.context.require_thread()
        for part, following in self._pairs:
            part.draw()
            self._collect(part)
            self._put(following, self._tensors)
        self._last.draw()

    def read_back(self) -> Answer:
        """Do the last step of ``run``: wait for the frame to end, and return the outputs as ``run`` does."""
        self.context.require_thread()
        results = self._results() if self._pairs else self._last.read()
        self.state.update(results)
        return results if self._named else self.state.single_result(results)

    def output_values(self) -> dict[str, list[NDArray[np.float64]]]:
        """Return the values of each output after the last frame, by name, before the host steps."""
        self.context.require_thread()
        if not self._pairs:
            return self.gpu_executors[0].values()
        return {
            output.name: [np.asarray(self._tensors[name], np.float64) for name in output.tensors]
            for output in self.bundle.manifest.outputs
        }

    def layers(self, inputs: Union[Named, Alone]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Yield (layer name, output values) of every layer of every part but the inputs, in order.

        Each layer is drawn on demand: finish the loop before you run this session on another input.
        """
        self.upload(inputs)
        for part, following in self._pairs:
            yield from part.layers()
            self._collect(part)
            self._put(following, self._tensors)
        yield from self._last.layers()

    def saturation(self, inputs: Union[Named, Alone]) -> tuple[Saturation, ...]:
        """Return the layers whose ranges clip values of an input, largest share first; see ``saturation.check``."""
        from glsl_infer.runtime import saturation  # sessions start sooner without it

        return saturation.check(self, inputs)

    def run_layer(self, name: str, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
        """Run one layer alone on the caller's inputs, and return its output.

        Args:
            name: the layer's name.
            inputs: one array for each of its inputs: (height, width, channels) of a feature map, (length,) of a vector.
                On the GPU they are rounded to the stored format of their textures, and clipped to their ranges.

        Raises:
            InputError: the layer does not exist, or the inputs do not fit it.
        """
        self.activate()
        for part in self._parts:
            if name in part.computed:
                return part.run_layer(name, inputs)
        names = [name for part in self._parts for name in part.computed]
        raise InputError(f"no layer '{name}'{did_you_mean(name, names)}; there are: {choices(names)}")

    def input_pixels(self, name: str | None = None) -> NDArray[np.uint8]:
        """Return a picture of the last ``run`` or ``upload`` as the network reads it, uint8 (height, width, channels).

        Args:
            name: of the input; the only picture by default.

        Raises:
            InputError: the name is not a picture input, or is missing although there are several.
        """
        self.activate()
        pictures = {
            model_input.name: model_input for model_input in self.bundle.manifest.inputs if model_input.kind == PICTURE
        }
        if name is None and len(pictures) == 1:
            (name,) = pictures
        if name not in pictures:
            raise InputError(f"{name!r} is not an image of the model; its images are: {', '.join(pictures) or 'none'}")
        if isinstance(self._first, GpuExecutor) and name in self._first.inputs:
            return self._first.pixels(name)
        return self._pixels(pictures[name], self._tensors[name])

    def selfcheck(self) -> tuple[probe.LayerError, ...]:
        """Run the probe through all layers and return every layer's error.

        Raises:
            SelfCheckError: a layer or an output is wrong; names the first one, the driver, and steps to try.
        """
        self.context.require_thread()
        result = selfcheck.check(self)
        result.require()
        return result.layers

    @property
    def state(self) -> State:
        """The values kept from frame to frame."""
        self.context.require_thread()
        return self._state

    @property
    def gpu_executors(self) -> tuple[GpuExecutor, ...]:
        """The executors of the parts on the GPU, in order."""
        self.context.require_thread()
        return self._gpu_executors

    @property
    def frame(self) -> list[Call]:
        """The GL calls of a frame, without upload and read-back, in order."""
        return [call for part in self.gpu_executors for call in part.frame]

    @property
    def part_runs(self) -> tuple[PartRun, ...]:
        """Measurements of each part in the last frame of a model with several parts."""
        self.context.require_thread()
        return tuple(
            PartRun.of(part.bundle if isinstance(part, GpuExecutor) else None, part.operators, seconds)
            for part, seconds in zip(self._parts, self._part_seconds)
        )

    def statistics(self) -> Statistics:
        """Return the counts of one frame, without the parts on the CPU."""
        part_counts = [vars(part.statistics) for part in self.gpu_executors]
        return Statistics(**{key: sum(counts[key] for counts in part_counts) for key in part_counts[0]})

    def read_texture(self, name: str) -> NDArray[np.uint8]:
        """Return the current texels of a render target, uint8 (height, width, 4).

        Layers can share it: after a complete frame it holds the output of the last one.

        Raises:
            InputError: the name is not that of a target, or the model has several parts.
        """
        return self._only_part(f"texture '{name}'").read_texture(name)

    def draw_layer(self, layer: str) -> None:
        """Draw one layer from the current texels of its inputs without waiting. All layers in order make a frame.

        Args:
            layer: the layer's name. An unknown layer or one without passes draws nothing.

        Raises:
            InputError: the model has several parts.
        """
        part = self._only_part(f"layer '{layer}'")
        part.activate()
        part.draw_layer(layer)

    def activate(self) -> None:
        """Make the context current, with the first GPU part's vertex arrays and fixed state.

        Raises:
            ContextError: the session belongs to another thread.
            RunError: the session is closed.
        """
        self.gpu_executors[0].activate()

    def close(self) -> None:
        """Delete every GL object, and the context if the session created it; further calls do nothing.

        Raises:
            ContextError: the session belongs to another thread.
        """
        if not self.context.forked:
            self.context.require_thread()
        if self._closed:
            return
        self._closed = True
        if self.context.forked:  # all objects belong to the parent process
            return
        parts = [part for part in self._parts if isinstance(part, GpuExecutor)]
        for part in parts:
            part.abandon()
        try:
            if self._made_current():
                close_all(parts)
        finally:
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
        resources: list[Closing] = []
        for part in self._parts:
            if isinstance(part, GpuExecutor):
                part.abandon()
                resources += part.resources()
        self.context.free_later(lambda: close_all(resources))
        warn_unclosed(f"session of {self.bundle.path or self.bundle.manifest.name}", self)

    def _only_part(self, subject: str) -> GpuExecutor:
        """Return the part of a model with one part.

        Raises:
            InputError: the model has several; ``subject`` belongs to one of them.
        """
        if self._pairs:
            raise InputError(
                f"{subject}: the model runs in parts, each with textures of its own; use layers() or run_layer()"
            )
        return self.gpu_executors[0]

    def _check_shapes(self, tensors: dict[str, Any]) -> None:
        """Reshape numeric inputs: otherwise a later part would refuse a shape after the first parts are computed.

        Raises:
            InputError: the shape of an input's values is wrong.
        """
        for model_input in self.bundle.manifest.inputs:
            if model_input.kind != PICTURE:
                tensors[model_input.name] = as_values(model_input, tensors[model_input.name])

    def _put(self, part: GpuExecutor | CpuExecutor, tensors: dict[str, Any]) -> None:
        """Pass a part its inputs: those of the model, and the results of earlier parts. NaN from the CPU becomes 0."""
        model_inputs = {model_input.name: model_input for model_input in self.bundle.manifest.inputs}
        values = {}
        for name in part.inputs:
            values[name] = tensors[name]
            if name in model_inputs and not isinstance(part, GpuExecutor):
                values[name] = self._cpu_values(model_inputs[name], tensors[name])
            elif name not in model_inputs and isinstance(part, GpuExecutor):  # textures cannot store NaN
                values[name] = np.where(np.isnan(tensors[name]), 0.0, tensors[name])
        part.put(values)

    def _collect(self, part: GpuExecutor | CpuExecutor) -> None:
        """Wait for one of several parts; store its results and its time."""
        self._tensors.update(part.read())
        now = time.perf_counter()
        self._part_seconds.append(now - self._part_began)
        self._part_began = now

    def _results(self) -> Results:
        """Wait for the last of several parts; return the outputs of the model."""
        self._collect(self._last)
        return {
            output.name: host_steps.apply(output.steps, [self._tensors[name] for name in output.tensors])
            for output in self.bundle.manifest.outputs
        }

    def _cpu_values(self, model_input: Input, value: Any) -> NDArray[np.float32]:
        """Return an input as a CPU part reads it; the pixels of a picture become the values that they represent."""
        if model_input.kind != PICTURE:
            return np.asarray(value, np.float32)
        assert isinstance(model_input.value, FeatureMap)
        pixels = np.asarray(self._pixels(model_input, value), np.float64)
        return (model_input.value.scale_of * (pixels - model_input.value.zero_of) / 255.0).astype(np.float32)

    def _pixels(self, model_input: Input, picture: Any) -> NDArray[np.uint8]:
        """Return a picture as the network reads it, fitted by a GPU part with this input, or else by the CPU."""
        if isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.shape == model_input.shape:
            return picture
        for part in self.gpu_executors:
            if model_input.name in part.inputs:
                return part.fitted(model_input.name, picture)
        from glsl_infer.runtime.pictures import preprocess  # imports Pillow; sessions start sooner without it

        return preprocess.load_for(picture, model_input)

"""Runs a bundle of parts: shaders for some layers, NumPy for the others, and tensors moved between them.

Each part needs the results of the parts before it. So a frame is computed at once, even in methods of ``Session`` that
return before the GPU has finished.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np

from glsl_infer import cpu
from glsl_infer.bundle import Bundle
from glsl_infer.bundle.cpu_part import CpuPart
from glsl_infer.bundle.manifest import PICTURE, Input
from glsl_infer.bundle.parted_ends import TensorOutput
from glsl_infer.cpu.custom import CUSTOM, Functions, require
from glsl_infer.errors import InputError, RunError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Node, host_steps
from glsl_infer.runtime import saturation, traffic
from glsl_infer.runtime.isolation import Isolation, meet
from glsl_infer.runtime.opening import opened
from glsl_infer.runtime.outputs import Answer, Results
from glsl_infer.runtime.part_run import PartRun
from glsl_infer.runtime.parted_inputs import Tensors, checked_inputs, numbers_of
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pipeline import PendingFrame, check_wait, finished
from glsl_infer.runtime.session import Session
from glsl_infer.runtime.state import State
from glsl_infer.runtime.statistics import Statistics
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.stopwatch import Stopwatch


class PartedSession(Session):
    """``Session`` of a bundle of parts. ``Session(...)`` creates it for a file with parts.

    Args:
        model, context, selfcheck, cache, operators, isolated, state, check_ranges: as for ``Session``.

    Raises:
        InputError: ``operators`` lacks a custom operator of the bundle.
        As ``Session``.
    """

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
        self._check_ranges = check_ranges
        clock = Stopwatch()
        self._own_context = not isinstance(context, Context)
        self.bundle, self.context = opened(model, context, clock)
        self._functions, self._named = dict(operators or {}), False
        self._sessions: list[Session | CpuPart] = []
        self._given: Tensors = {}
        self._answer: Results = {}
        self.part_runs = ()
        self.frame = []
        self._closed = False
        self.start_up = {**clock.laps}
        try:
            self.state = State(self.bundle.manifest, state)
            self._require_functions()
            if isolated:
                self.context.make_current()
                meet(self.bundle, self.context, isolated)
            for part in self.bundle.parts:
                made = part if isinstance(part, CpuPart) else Session(part, context=self.context, cache=cache)
                self._sessions.append(made)
            for session in self.gpu_sessions:
                self._add_times(session.start_up)
            self.restored_programs = sum(session.restored_programs for session in self.gpu_sessions)
            self.compiled_programs = sum(session.compiled_programs for session in self.gpu_sessions)
            if selfcheck:
                self.selfcheck()
        except BaseException:
            self.close()
            raise

    @property
    def gpu_sessions(self) -> tuple[Session, ...]:
        """The sessions of the GPU parts, in order."""
        return tuple(part for part in self._sessions if isinstance(part, Session))

    def upload(self, inputs: Any) -> None:
        """Store the inputs for ``submit``, which computes."""
        self._given, self._named = self._inputs_by_name(inputs), isinstance(inputs, Mapping)

    def submit(self) -> None:
        """Compute all parts of a frame, one after the other."""
        self._answer = self.state.kept(self._results(dict(self._given)))

    def read_back(self) -> Answer:
        """Return the outputs of the last frame as ``run`` does."""
        return self._answer if self._named else self.state.only(self._answer)

    def run(self, inputs: Any) -> Any:
        """Return the outputs as ``Session.run`` does."""
        if self._check_ranges:
            saturation.warn(self.saturation(inputs))
        self.upload(inputs)
        self.submit()
        return self.read_back()

    def run_async(self, inputs: Any) -> PendingFrame[Any]:
        """Compute a frame at once, and return it in the form of ``Session.run_async``."""
        return finished(self.run(inputs))

    def stream(self, inputs: Any, *, wait: Any = "sleep") -> Iterator[Any]:
        """Yield what ``run`` returns for each of many inputs, in order."""
        check_wait(wait)
        return (self.run(given) for given in inputs)

    def output_values(self) -> dict[str, list[NDArray[np.float64]]]:
        """Return the tensors of each output of the last frame, by name, before the host steps."""
        return {
            output.name: [np.asarray(self._tensors[name], np.float64) for name in output.tensors]
            for output in self._outputs_of_parts
        }

    def layers(self, inputs: Any) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Yield (layer name, output values) of every layer of every part but the inputs, in order."""
        tensors = dict(self._inputs_by_name(inputs))
        for part in self._sessions:
            if isinstance(part, Session):
                given = self._for_gpu(part, tensors)
                tensors.update(part.run(given))
                yield from part.layers(given)
            else:
                for name, value in self._cpu_values(part, tensors):
                    tensors[name] = value
                    yield name, value

    def run_layer(self, name: str, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
        """Run one layer alone, as ``Session.run_layer`` does; inputs of a CPU part's layer are not rounded."""
        for part in self._sessions:
            if isinstance(part, Session):
                if name in part._computed:
                    return part.run_layer(name, inputs)
            elif any(node.name == name for node in part.nodes):
                node = next(node for node in part.nodes if node.name == name)
                given = [np.asarray(array, np.float32) for array in inputs]
                return self._computed_on_cpu(node, given)
        raise InputError(f"no layer '{name}'")

    def input_pixels(self, name: str | None = None) -> NDArray[np.uint8]:
        """Return a picture of the last frame as the network reads it; see ``Session.input_pixels``."""
        pictures = [entry.name for entry in self.bundle.manifest.inputs if entry.kind == PICTURE]
        if name is None and len(pictures) == 1:
            name = pictures[0]
        entry = next((entry for entry in self.bundle.manifest.inputs if entry.name == name), None)
        if entry is None or entry.kind != PICTURE:
            raise InputError(
                f"{name!r} is not a picture of the model; its pictures are: {', '.join(pictures) or 'none'}"
            )
        return self._pixels(entry, self._given[entry.name])

    def statistics(self) -> Statistics:
        """Return the summed counts of the GPU parts for one frame."""
        each = [vars(session.statistics()) for session in self.gpu_sessions]
        return Statistics(**{key: sum(counts[key] for counts in each) for key in each[0]})

    def read_texture(self, name: str) -> NDArray[np.uint8]:
        """Refuse, because each part has its own textures.

        Raises:
            InputError: always.
        """
        raise InputError(f"texture '{name}': the model runs in parts, each with textures of its own")

    def draw_layer(self, layer: str) -> None:
        """Refuse, because layers are drawn by their parts.

        Raises:
            InputError: always.
        """
        raise InputError(f"layer '{layer}': the model runs in parts; use layers() or run_layer()")

    def activate(self) -> None:
        """Make the context current.

        Raises:
            RunError: the session is closed.
        """
        if self._closed:
            raise RunError("the session is closed")
        self.context.make_current()

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
        try:
            for session in self.gpu_sessions:
                session.close()
        finally:
            if self._own_context:
                self.context.close()

    def __del__(self) -> None:
        self._closed = True  # the parts' sessions free themselves and warn

    @property
    def _outputs_of_parts(self) -> list[TensorOutput]:
        return [output for output in self.bundle.manifest.outputs if isinstance(output, TensorOutput)]

    def _require_functions(self) -> None:
        """Refuse a bundle with custom operators that have no function in ``operators``."""
        for part in self.bundle.parts:
            for node in part.nodes if isinstance(part, CpuPart) else ():
                if node.op == CUSTOM:
                    require(str(node.attrs["calls"]), self._functions)

    def _add_times(self, laps: Mapping[str, float]) -> None:
        self.start_up = {key: self.start_up.get(key, 0.0) + laps.get(key, 0.0) for key in {**self.start_up, **laps}}

    def _inputs_by_name(self, inputs: Any) -> Tensors:
        self.activate()
        return checked_inputs(self.bundle.manifest, self.state.completed(inputs))

    def _results(self, tensors: Tensors) -> Results:
        runs = []
        for part in self._sessions:
            started = time.perf_counter()
            if isinstance(part, Session):
                tensors.update(part.run(self._for_gpu(part, tensors)))
                layers, moved = (
                    part.bundle.manifest.layers,
                    (traffic.uploaded(part.bundle), traffic.read_back(part.bundle)),
                )
            else:
                made = dict(self._cpu_values(part, tensors))
                tensors.update({name: made[name] for name in part.outputs})
                layers, moved = part.operators, (0, 0)
            kind = "gpu" if isinstance(part, Session) else "cpu"
            runs.append(PartRun(kind, layers, time.perf_counter() - started, *moved))
        self.part_runs, self._tensors = tuple(runs), tensors
        return {
            output.name: host_steps.apply(output.steps, [tensors[name] for name in output.tensors])
            for output in self._outputs_of_parts
        }

    def _for_gpu(self, session: Session, tensors: Tensors) -> Tensors:
        """Return the inputs of a GPU part. NaN from the CPU becomes 0, because textures cannot store it."""
        given = {entry.name for entry in self.bundle.manifest.inputs}
        wanted = [entry.name for entry in session.bundle.manifest.inputs]
        return {
            name: tensors[name] if name in given else np.where(np.isnan(tensors[name]), 0.0, tensors[name])
            for name in wanted
        }

    def _cpu_values(self, part: CpuPart, tensors: Tensors) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Yield the output of every operator of a CPU part, with its name."""
        entries = {entry.name: entry for entry in self.bundle.manifest.inputs}
        values = {
            name: self._numbers(entries[name], tensors[name]) if name in entries else tensors[name]
            for name in part.inputs
        }
        with np.errstate(all="ignore"):
            for node in part.nodes:
                values[node.name] = self._computed_on_cpu(node, [values[name] for name in node.inputs])
                yield node.name, values[node.name]

    def _computed_on_cpu(self, node: Node, inputs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return an operator's output. Invalid attributes in the file are first detected here."""
        try:
            return np.asarray(cpu.compute(node, inputs, self._functions), np.float32)
        except (TypeError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
            raise RunError(f"layer '{node.name}' ({node.op}) cannot be computed on the CPU: {error}") from error

    def _numbers(self, entry: Input, given: Any) -> NDArray[np.float32]:
        """Return an input as a CPU part reads it."""
        return numbers_of(entry, self._pixels(entry, given) if entry.kind == PICTURE else given)

    def _pixels(self, entry: Input, given: Any) -> NDArray[np.uint8]:
        """Return a picture as the network reads it, fitted by a GPU part with this input, or else by the CPU."""
        if isinstance(given, np.ndarray) and given.dtype == np.uint8 and given.shape == entry.shape:
            return given
        for session in self.gpu_sessions:
            picture = session._inputs.pictures.get(entry.name)
            if picture is not None:
                session.activate()
                picture.put(picture.check(given), session._handles)
                return session.input_pixels(entry.name)
        return preprocess.load_for(given, entry)

"""Self-check: runs inputs defined by a formula through every layer of a model, on this machine's driver.

A driver can skip a draw without an error, compute with too few bits, or lose its context. The probe of the bundle
(``probe``) has the expected result of every layer for these inputs. ``check`` compares all layers and stops only if the
driver reports an error. Its result names the first wrong layer, and steps to try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.bundle import probe
from glsl_infer.bundle.probe import LayerError
from glsl_infer.errors import ContextError, GlError, SelfCheckError
from glsl_infer.gl import constants as GL
from glsl_infer.program.layout import textures_of
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass

if TYPE_CHECKING:
    from glsl_infer.runtime.gpu_executor import GpuExecutor
    from glsl_infer.runtime.session import Session

WHOLE_FRAME = "(whole frame)"
"""Name of the last check: all layers as one frame, which replays other calls than layer by layer."""


@dataclass(frozen=True)
class OutputError:
    """Error of an output of a whole frame in the output's own unit, and the tolerance."""

    output: str
    error: float
    allowed: float

    @property
    def passed(self) -> bool:
        """True if the error is within the tolerance; False for NaN."""
        return self.error <= self.allowed


@dataclass(frozen=True)
class SelfCheck:
    """Result of the self-check.

    Attributes:
        layers: every layer's error in stored steps, in order; those after a failure of the driver are missing.
        outputs: the error of every output of a whole frame. Empty if the frame was not drawn because a layer is wrong.
        driver: the GL strings, and the kind of context.
        restored: number of programs loaded from the cache instead of compiled.
        stopped: the layer (or ``WHOLE_FRAME``) in which the driver reported an error, and the error.
    """

    layers: tuple[LayerError, ...]
    outputs: tuple[OutputError, ...]
    driver: dict[str, str]
    restored: int = 0
    stopped: tuple[str, str] | None = None

    @property
    def wrong(self) -> str | None:
        """The first wrong layer, ``WHOLE_FRAME``, or None if everything is right."""
        for layer in self.layers:
            if not layer.passed:
                return layer.layer
        if self.stopped is not None:
            return self.stopped[0]
        return None if self.outputs and all(output.passed for output in self.outputs) else WHOLE_FRAME

    @property
    def advice(self) -> tuple[str, ...]:
        """Steps to try after a failure, the cheapest first; empty if everything is right."""
        if self.wrong is None:
            return ()
        restart_advice = ("start again with GLSL_INFER_CACHE=off: all programs are then compiled anew",) * bool(
            self.restored
        )
        return (
            *restart_advice,
            "another way to the GPU: --context surfaceless, device or glfw ('glsl-infer info' shows which work)",
            "smaller shaders: 'glsl-infer export --weights uniform', or --layout planar",
            "a newer driver; LIBGL_ALWAYS_SOFTWARE=1 shows whether Mesa without the GPU is right about the same file",
            "please report it with the output of 'glsl-infer doctor --json', with this model's file as its argument",
        )

    def require(self) -> None:
        """Raise if a layer or an output is wrong.

        Raises:
            SelfCheckError: the message has the first failure, its error, the GL strings and steps to try.
        """
        if self.wrong is None:
            return
        strings = ", ".join(f"{name} {text}" for name, text in self.driver.items())
        raise SelfCheckError(
            "\n  ".join(
                [f"{self.describe_failure()} (driver: {strings})", *(f"try: {advice}" for advice in self.advice)]
            )
        )

    def describe_failure(self) -> str:
        """Return the first failure in words. The check must have failed."""
        for layer in self.layers:
            if not layer.passed:
                allowed = layer.allowed
                return (
                    f"layer '{layer.layer}' comes out wrong on this driver: off by up to {layer.worst:g} stored steps "
                    f"({layer.mean:.2f} in the mean), where {allowed.max_error:g} ({allowed.mean_error:.2f} in the "
                    "mean) are tolerated"
                )
        if self.stopped is not None:
            where, error = self.stopped
            part = "a whole frame" if where == WHOLE_FRAME else f"layer '{where}'"
            return f"{part} cannot be computed on this driver: {error}"
        wrong = next(output for output in self.outputs if not output.passed)
        return (
            f"every layer comes out right, but output '{wrong.output}' of a whole frame is off by {wrong.error:g}, "
            f"where {wrong.allowed:g} is tolerated"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "passed": self.wrong is None,
            "wrong": self.wrong,
            "driver": self.driver,
            "layers": [
                {
                    "layer": layer.layer,
                    "passed": layer.passed,
                    "max_error": layer.worst,
                    "max_allowed": layer.allowed.max_error,
                    "mean_error": layer.mean,
                    "mean_allowed": layer.allowed.mean_error,
                    "texels": layer.allowed.count,
                }
                for layer in self.layers
            ],
            "whole_frame": [
                {"output": output.output, "error": output.error, "allowed": output.allowed} for output in self.outputs
            ],
            "stopped": None if self.stopped is None else {"in": self.stopped[0], "error": self.stopped[1]},
            "advice": list(self.advice),
        }


def check(session: Session, progress: Callable[[], object] = lambda: None) -> SelfCheck:
    """Run the probe through all layers of a session, then as one frame; of several parts, through each GPU part.

    Args:
        session: the session to check.
        progress: called after each layer.

    Raises:
        RunError: the session is closed.
    """
    checks = [_check(part, progress) for part in session.gpu_executors]
    wrong = next((check for check in checks if check.wrong is not None), None)
    return SelfCheck(
        tuple(layer for check in checks for layer in check.layers),
        tuple(output for check in checks for output in check.outputs) if wrong is None else wrong.outputs,
        checks[0].driver,
        session.restored_programs,
        None if wrong is None else wrong.stopped,
    )


def _check(part: GpuExecutor, progress: Callable[[], object]) -> SelfCheck:
    gl, manifest = part.context.gl, part.bundle.manifest
    driver = {
        "vendor": gl.text(GL.GL_VENDOR),
        "renderer": gl.text(GL.GL_RENDERER),
        "version": gl.text(GL.GL_VERSION),
        "shading language": gl.text(GL.GL_SHADING_LANGUAGE_VERSION),
        "context": part.context.how,
    }
    names = iter([*(layer.layer for layer in manifest.probe.layers), WHOLE_FRAME])
    errors: list[LayerError] = []
    outputs: tuple[OutputError, ...] = ()
    stopped: tuple[str, str] | None = None
    name = next(names)
    try:
        for error in _layer_errors(part):
            errors.append(error)
            gl.check(f"in layer '{name}'")
            name = next(names)
            progress()
        if all(error.passed for error in errors):
            outputs = _whole_frame_errors(part)
            gl.check("in a whole frame")
    except (GlError, ContextError) as error:
        stopped = (name, str(error))
        errors = errors[: len(manifest.probe.layers)] if name == WHOLE_FRAME else _before(errors, name)
    return SelfCheck(tuple(errors), outputs, driver, part.restored_programs, stopped)


def _layer_errors(part: GpuExecutor) -> Iterator[LayerError]:
    """Run the probe layer by layer, and yield the error of each before the next is drawn."""
    manifest, members = part.bundle.manifest, part.bundle.members
    part.put(probe.inputs(manifest.inputs))
    yield from probe.compare(manifest.probe, members[manifest.probe.member], _drawn(part))


def _drawn(part: GpuExecutor) -> Iterator[tuple[str, dict[str, NDArray[np.uint8]]]]:
    """Draw layer by layer, and yield each layer's textures by name."""
    for layer in part.bundle.manifest.probe.layers:
        part.draw_layer(layer.layer)
        yield layer.layer, {name: part.read_texture(name) for name in textures_of(layer.value)}


def _before(errors: list[LayerError], layer: str) -> list[LayerError]:
    """Remove a layer in which the driver failed: its texels are meaningless."""
    return [error for error in errors if error.layer != layer]


def _whole_frame_errors(part: GpuExecutor) -> tuple[OutputError, ...]:
    """Draw the probe as one frame; compare each output with the probe's values, or with the run layer by layer."""
    manifest = part.bundle.manifest
    layer_by_layer = part.values()
    part.put(probe.inputs(manifest.inputs))
    part.draw()
    whole_frame = part.values()
    errors = []
    for output, expected in zip(manifest.outputs, manifest.probe.outputs):
        references = [np.asarray(expected.numbers)] if expected.numbers else layer_by_layer[output.name]
        differences = [
            float(np.abs(values - reference).max()) for values, reference in zip(whole_frame[output.name], references)
        ]
        errors.append(OutputError(output.name, max(differences), expected.max_error))
    return tuple(errors)

"""What the virtual VideoCore IV draws, against the exact reference: every layer alone, and pictures end to end.

``compare`` starts a process on the executor, ``python -m glsl_infer.tools.videocore.pixels BUNDLE PICTURE...``, which
draws in both roundings and prints what it found as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer import ops
from glsl_infer.bundle import Bundle, probe
from glsl_infer.errors import GlslInferError, InputError, RunError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Array, Node, reference
from glsl_infer.graph.picture import picture_values
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program.texels import in_steps
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.videocore.executor import ROUNDINGS, Controls, Executor


@dataclass(frozen=True)
class LayerPixels:
    """How a layer's stored numbers differ from the exact reference's, on inputs that are exact.

    Attributes:
        values: how many numbers it stores.
        differing: how many of them are another stored step.
        worst: the largest difference, in steps.
        mean: the mean of all differences with their sign, in steps.
    """

    layer: str
    op: str
    values: int
    differing: int
    worst: float
    mean: float


@dataclass(frozen=True)
class PicturePixels:
    """A whole frame's output against the reference's.

    Attributes:
        picture: its file, or what it is.
        values: how many numbers the output has.
        differing: how many of them differ by half a stored step or more.
        worst: the largest difference, in the output's numbers.
        same_top: whether the largest number is at the same place; None where the output is no row of logits.
    """

    picture: str
    values: int
    differing: int
    worst: float
    same_top: bool | None


@dataclass(frozen=True)
class Pixels:
    """What a bundle draws in one rounding.

    Attributes:
        rounding: one of ``executor.ROUNDINGS``.
        layers: every layer that draws, alone.
        pictures: end to end.
        counters: what one frame takes, by the names in ``executor.COUNTERS``.
    """

    rounding: str
    layers: tuple[LayerPixels, ...]
    pictures: tuple[PicturePixels, ...]
    counters: dict[str, int]

    @property
    def values(self) -> int:
        """Numbers that all layers store."""
        return sum(layer.values for layer in self.layers)

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return sum(layer.differing for layer in self.layers)

    @property
    def worst(self) -> float:
        """The largest difference of any layer, in steps."""
        return max((layer.worst for layer in self.layers), default=0.0)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {**asdict(self), "values": self.values, "differing": self.differing, "worst": self.worst}


def from_json(data: dict[str, Any]) -> Pixels:
    """Return what ``Pixels.as_json`` made plain data of."""
    return Pixels(
        data["rounding"],
        tuple(LayerPixels(**layer) for layer in data["layers"]),
        tuple(PicturePixels(**picture) for picture in data["pictures"]),
        data["counters"],
    )


def compare(path: str | Path, executor: Executor, pictures: Sequence[Path] = ()) -> tuple[Pixels, ...]:
    """Draw a bundle on the executor, in a process of its own; return what it draws in each rounding.

    Args:
        path: a ``.glslnn`` file.
        executor: see ``executor.find``.
        pictures: for whole frames; the probe's picture is always the first.

    Raises:
        InputError: the bundle, or a picture, cannot be read.
        RunError: the executor does not do what the driver asks of it, or the driver refuses a shader.
    """
    command = module_command("glsl_infer.tools.videocore.pixels", path, *pictures)
    done = subprocess.run(command, env=executor.environment(), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return tuple(from_json(data) for data in json.loads(done.stdout))
    message = done.stderr.strip()
    if done.returncode == InputError.exit_code:
        raise InputError(message.rpartition("error: ")[2])
    named = [
        line for line in message.splitlines() if line.startswith("vc4 executor: ") and "flags are used" not in line
    ]
    raise RunError(f"{path}: {named[0] if named else message or f'the executor ended with code {done.returncode}'}")


def draw(made: Bundle, pictures: Sequence[tuple[str, NDArray[np.uint8]]]) -> Iterator[Pixels]:
    """Yield what a bundle draws in each rounding, in this process, which has to run on the executor.

    Args:
        made: the bundle.
        pictures: names and pictures of the network's size, for whole frames.

    Raises:
        InputError: this process does not run on the executor.
    """
    controls = Controls()
    exact = exact_layers(made, pictures[0][1])
    wanted = [reference.run(made, picture) for _, picture in pictures]
    for rounding in ROUNDINGS:
        controls.switch("ROUND", rounding)
        with Context("surfaceless") as context:  # a new one: a context measures once how its device rounds
            with Session(made, context=context) as session:
                session.run(pictures[0][1])  # what only the first frame compiles and uploads is not counted
                before = controls.counters()
                outputs = [session.run(picture) for _, picture in pictures]
                counters = {
                    name: (after - before[name]) // len(pictures) for name, after in controls.counters().items()
                }
                frames = [_frame(made, name, *pair) for (name, _), *pair in zip(pictures, outputs, wanted)]
                layers = alone(session, exact)
            yield Pixels(rounding, tuple(layers), tuple(frames), counters)


def _draws(made: Bundle, node: Node) -> bool:
    return not node.operator.is_input and not isinstance(ops.get(node.op), ViewOperator) and node.name in made.values


def exact_layers(made: Bundle, picture: NDArray[np.uint8]) -> dict[str, Array]:
    """Return every node's exact output, and the picture's numbers."""
    numbers = picture_values(made.graph.input, picture).astype(np.float64)
    return {made.graph.input.name: numbers, **dict(reference.layers(made, picture))}


def alone(session: Session, exact: dict[str, Array]) -> list[LayerPixels]:
    """Draw every layer of a session's bundle by itself, on the exact outputs of the layers before it."""
    made = session.bundle
    return [_layer(session, node, exact) for node in made.graph.nodes if _draws(made, node)]


def _layer(session: Session, node: Node, exact: dict[str, Array]) -> LayerPixels:
    value = session.bundle.values[node.name]
    drawn = session.run_layer(node.name, [exact[name] for name in node.inputs])
    off = np.rint(in_steps(np.asarray(drawn, np.float64), value)) - np.rint(in_steps(exact[node.name], value))
    return LayerPixels(
        node.name, node.op, int(off.size), int(np.count_nonzero(off)), float(np.abs(off).max()), float(off.mean())
    )


def _frame(made: Bundle, name: str, output: NDArray[np.float32], wanted: NDArray[np.float32]) -> PicturePixels:
    result = made.manifest.output
    if result.steps or len(result.values) > 1:
        steps = (output != wanted).astype(np.float64)
    else:
        given, right = (in_steps(numbers.astype(np.float64), result.values[0]) for numbers in (output, wanted))
        steps = np.abs(given - right)
    top = bool(output.argmax() == wanted.argmax()) if output.ndim == 1 else None
    return PicturePixels(
        name, int(output.size), int(np.count_nonzero(steps >= 0.5)), float(np.abs(output - wanted).max()), top
    )


def main() -> int:
    """Draw the bundle that the first argument names, and the pictures that follow; print JSON; return the exit code."""
    try:
        made = bundles.read(sys.argv[1])
        size = made.manifest.input.size
        pictures = [("probe", probe.picture(size))]
        pictures += [(path, preprocess.load(path, size)) for path in sys.argv[2:]]
        print(json.dumps([pixels.as_json() for pixels in draw(made, pictures)]))
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

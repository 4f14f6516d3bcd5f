"""Pixels of the virtual VideoCore IV compared with the exact reference: each layer alone, and end to end.

``compare`` starts a process on the executor, ``python -m glsl_infer.tools.videocore.pixels BUNDLE PICTURE...``, which
draws in both roundings and prints the differences as JSON.
"""

from __future__ import annotations

import json
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
from glsl_infer.gl.context import Context
from glsl_infer.graph import Array, Node, reference
from glsl_infer.graph.picture import picture_values
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program.texels import in_steps
from glsl_infer.runtime.isolated_run import enclose
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session
from glsl_infer.support.child_process import exit_code_of
from glsl_infer.tools.videocore.executor import ROUNDINGS, Controls, Executor


@dataclass(frozen=True)
class LayerPixels:
    """Differences between a layer's stored values and the exact reference, on exact inputs.

    Attributes:
        values: number of values stored.
        differing: number of values in another stored step.
        worst: largest difference, in steps.
        mean: mean signed difference, in steps.
    """

    layer: str
    op: str
    values: int
    differing: int
    worst: float
    mean: float


@dataclass(frozen=True)
class PicturePixels:
    """Output of an entire frame compared with the reference.

    Attributes:
        picture: its file name or description.
        values: number of values of the output.
        differing: number of values that differ by half a stored step or more.
        worst: largest difference, in values of the output.
        same_top: whether the largest value has the same index; None if the output is not a vector.
    """

    picture: str
    values: int
    differing: int
    worst: float
    same_top: bool | None


@dataclass(frozen=True)
class Pixels:
    """Results of a bundle in one rounding.

    Attributes:
        rounding: one of ``executor.ROUNDINGS``.
        layers: every layer that draws, alone.
        pictures: end-to-end results.
        counters: counts of one frame, by the names in ``executor.COUNTERS``.
    """

    rounding: str
    layers: tuple[LayerPixels, ...]
    pictures: tuple[PicturePixels, ...]
    counters: dict[str, int]

    @property
    def values(self) -> int:
        """Number of values stored by all layers."""
        return sum(layer.values for layer in self.layers)

    @property
    def differing(self) -> int:
        """Number of differing values of all layers."""
        return sum(layer.differing for layer in self.layers)

    @property
    def worst(self) -> float:
        """Largest difference of any layer, in steps."""
        return max((layer.worst for layer in self.layers), default=0.0)

    def as_json(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return {**asdict(self), "values": self.values, "differing": self.differing, "worst": self.worst}


def from_json(data: dict[str, Any]) -> Pixels:
    """Return the object from the plain data of ``Pixels.as_json``."""
    return Pixels(
        data["rounding"],
        tuple(LayerPixels(**layer) for layer in data["layers"]),
        tuple(PicturePixels(**picture) for picture in data["pictures"]),
        data["counters"],
    )


def compare(path: str | Path, executor: Executor, pictures: Sequence[Path] = ()) -> tuple[Pixels, ...]:
    """Draw a bundle on the executor, in a separate process; return the results in each rounding.

    Args:
        path: a ``.glslnn`` file.
        executor: see ``executor.find``.
        pictures: images for entire frames, in addition to the probe's image, which is the first.

    Raises:
        InputError, RunError: as for ``Executor.answer_of``.
    """
    answer = executor.answer_of("glsl_infer.tools.videocore.pixels", path, *pictures)
    return tuple(from_json(data) for data in answer)


def draw(bundle: Bundle, pictures: Sequence[tuple[str, NDArray[np.uint8]]]) -> Iterator[Pixels]:
    """Yield a bundle's results in each rounding. The calling process must run on the executor.

    Args:
        bundle: the bundle.
        pictures: names and images of the network's size, for entire frames.

    Raises:
        InputError: this process does not run on the executor.
    """
    controls = Controls()
    exact = exact_layers(bundle, pictures[0][1])
    expected = [reference.run(bundle, picture) for _, picture in pictures]
    for rounding in ROUNDINGS:
        controls.switch("ROUND", rounding)
        with Context("surfaceless") as context:  # a context measures the device's rounding only once
            with Session(bundle, context=context) as session:
                session.run(pictures[0][1])  # exclude the compilation and uploads of the first frame
                before = controls.counters()
                outputs = [session.run(picture) for _, picture in pictures]
                counters = {
                    name: (after - before[name]) // len(pictures) for name, after in controls.counters().items()
                }
                frames = [_frame(bundle, name, *pair) for (name, _), *pair in zip(pictures, outputs, expected)]
                layers = alone(session, exact)
            yield Pixels(rounding, tuple(layers), tuple(frames), counters)


def _draws(bundle: Bundle, node: Node) -> bool:
    return not node.operator.is_input and not isinstance(ops.get(node.op), ViewOperator) and node.name in bundle.values


def exact_layers(bundle: Bundle, picture: NDArray[np.uint8]) -> dict[str, Array]:
    """Return every node's exact output, and the values of the input image."""
    values = picture_values(bundle.graph.input, picture).astype(np.float64)
    return {bundle.graph.input.name: values, **dict(reference.layers(bundle, picture))}


def alone(session: Session, exact: dict[str, Array]) -> list[LayerPixels]:
    """Draw every layer of a session's bundle alone, on the exact outputs of the layers before it."""
    bundle = session.bundle
    return [_layer(session, node, exact) for node in bundle.graph.nodes if _draws(bundle, node)]


def _layer(session: Session, node: Node, exact: dict[str, Array]) -> LayerPixels:
    value = session.bundle.values[node.name]
    drawn = session.run_layer(node.name, [exact[name] for name in node.inputs])
    errors = np.rint(in_steps(np.asarray(drawn, np.float64), value)) - np.rint(in_steps(exact[node.name], value))
    return LayerPixels(
        node.name,
        node.op,
        int(errors.size),
        int(np.count_nonzero(errors)),
        float(np.abs(errors).max()),
        float(errors.mean()),
    )


def _frame(bundle: Bundle, name: str, output: NDArray[np.float32], expected: NDArray[np.float32]) -> PicturePixels:
    result = bundle.manifest.output
    if result.steps or len(result.values) > 1:
        steps = (output != expected).astype(np.float64)
    else:
        actual, right = (in_steps(values.astype(np.float64), result.values[0]) for values in (output, expected))
        steps = np.abs(actual - right)
    top = bool(output.argmax() == expected.argmax()) if output.ndim == 1 else None
    return PicturePixels(
        name, int(output.size), int(np.count_nonzero(steps >= 0.5)), float(np.abs(output - expected).max()), top
    )


def main() -> int:
    """Draw the bundle and the images named by the arguments; print JSON; return the exit code."""
    return exit_code_of(_draw)


def _draw() -> None:
    bundle = bundles.read(sys.argv[1])
    size = bundle.manifest.input.size
    pictures = [("probe", probe.picture(size))]
    pictures += [(path, preprocess.load(path, size)) for path in sys.argv[2:]]
    enclose()
    print(json.dumps([pixels.as_json() for pixels in draw(bundle, pictures)]))


if __name__ == "__main__":
    sys.exit(main())

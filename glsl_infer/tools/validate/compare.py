"""Runs a Keras model and the bundle made from it on the same bytes, and measures how far they are apart.

Keras computes in a process of its own (``importers.keras_outputs``), then the GPU in this one.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.bundle import Bundle
from glsl_infer.errors import InputError
from glsl_infer.gl import constants as GL
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program.host_steps import softmax
from glsl_infer.runtime.images import output_shape
from glsl_infer.runtime.session import Session
from glsl_infer.support.child_process import ChildProcess
from glsl_infer.tools.validate.keras_outputs import ABOUT, ENDS, layers_file
from glsl_infer.tools.validate.measures import Agreement

Tell = Callable[[int], object]


def compare(
    model: Path,
    bundle: Bundle,
    pictures: Sequence[NDArray[np.uint8]],
    *,
    layer_pictures: int = 4,
    input_range: tuple[float, float] | None = None,
    context: str = "auto",
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """Return how far the bundle on this GPU is from the Keras model.

    Args:
        model: a saved ``.keras`` file.
        bundle: the exported model.
        pictures: uint8 (size, size, 3) each, at least one.
        layer_pictures: how many of them, from the first on, are compared layer by layer.
        input_range: what bytes 0 and 255 mean to the Keras model; see ``importers.keras.to_graph``.
        context: how to get at the GPU.
        tell: hears of every picture that is done, ``steps`` of them.

    Returns:
        ``pictures``, ``keras`` and ``driver`` (in words), ``output`` (``Agreement.as_json``, with ``top1`` where it is
        a vector), ``softmax`` (whether probabilities were compared, those of each pixel where it is a map, and not
        logits), ``layers`` in order (``Agreement.as_json`` with ``layer``, ``op`` and ``keras``, the layer whose output
        it has), ``not_compared`` (layers that Keras has no output for).

    Raises:
        InputError: the files do not belong together, or one cannot be used.
        RunError: Keras or the driver failed.
    """
    layer_pictures = min(layer_pictures, len(pictures))
    layers = [
        layer
        for layer in bundle.network.layers
        if not ops.get(layer.op).is_input and not isinstance(ops.get(layer.op), ViewOperator)
    ]
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as name:
        folder = Path(name)
        np.save(folder / "pictures.npy", np.stack(pictures))
        job = {
            "model": str(model),
            "pictures": str(folder / "pictures.npy"),
            "layers": [layer.name for layer in layers],
            "output": bundle.network.output,
            "layer_pictures": layer_pictures,
            "input_range": None if input_range is None else list(input_range),
            "out": str(folder),
        }
        with ChildProcess("glsl_infer.tools.validate.keras_outputs", job, folder / "job", "runs Keras") as process:
            for _ in process.lines():
                tell(1)
            process.finish()
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        ends = _in_shape(model, bundle, np.load(folder / ENDS))
        end, found = Agreement(), {one: Agreement() for one in about["layers"]}
        with Session(bundle, context=context) as session:
            for index in range(layer_pictures):
                _add_layers(session, pictures[index], folder / layers_file(index), found)
                tell(1)
            for output, expected in zip(session.stream(pictures), ends):
                end.add(softmax(output.astype(np.float64)) if about["softmax"] else output, expected)
                tell(1)
            gl = session.context.gl
            driver = f"{gl.text(GL.GL_RENDERER)}, {gl.text(GL.GL_VERSION)}, {session.context.how}"
    vector = ends.ndim == 2
    compared = [layer for layer in layers if layer.name in found and found[layer.name].pictures]
    return {
        "pictures": len(pictures),
        "keras": about["keras"],
        "driver": driver,
        "output": {**end.as_json(), **({"top1": end.top1} if vector else {})},
        "softmax": about["softmax"],
        "layers": [
            {
                "layer": layer.name,
                "op": layer.op,
                "keras": about["computes"][layer.name],
                **found[layer.name].as_json(),
            }
            for layer in compared
        ],
        "not_compared": [layer.name for layer in layers if layer not in compared],
    }


def steps(pictures: int, layer_pictures: int) -> int:
    """Return how many things ``compare`` tells of."""
    return 2 * (pictures + min(layer_pictures, pictures))


def _in_shape(model: Path, bundle: Bundle, ends: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return Keras' outputs, one for each picture, in the shape of the bundle's.

    A vector may be a map of 1x1 pixels in Keras, with a layer behind it that only changes the shape: the same numbers
    in the same order.

    Raises:
        InputError: the shapes differ by more than sizes of 1.
    """
    shape = output_shape(bundle)
    if [size for size in ends.shape[1:] if size != 1] != [size for size in shape if size != 1]:
        sides = " and ".join("x".join(map(str, one)) for one in (ends.shape[1:], shape))
        raise InputError(
            f"{model} and {bundle.path} end in different shapes ({sides}); give the model that the bundle was made from"
        )
    return ends.reshape(len(ends), *shape)


def _add_layers(session: Session, picture: NDArray[np.uint8], file: Path, found: dict[str, Agreement]) -> None:
    with np.load(file) as saved:
        expected = {name: saved[str(place)] for place, name in enumerate(found)}
    for name, output in session.layers(picture):
        if name in found and expected[name].size == output.size:
            # A vector may be a map of 1x1 pixels in Keras; the same numbers in the same order.
            found[name].add(output.ravel(), expected[name].ravel())

"""The models of tests/models as bundles: a process with Keras exports them to a folder, once for all tests.

result = small_models.exported("unet")
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import needs
import numpy as np
from command_line import run_python
from numpy.typing import NDArray
from shared_exports import made_once

import models
from models import NAMES, RUN_EVERYWHERE

PICTURES = 6
"""Number of random calibration images."""

Inputs = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Exported:
    """The result of exporting a model.

    Attributes:
        refusal: the reason if it cannot be exported, else empty.
        floats: largest difference between Keras and the imported network in floats, relative to the largest value.
        likeness: correlation of Keras' output with the output of the bundle's exact reference, the lowest of all
            outputs.
        path: path of the bundle.
        inputs: the inputs of both.
    """

    refusal: str
    floats: float
    likeness: float
    path: Path
    inputs: Inputs


def export(folder: Path, names: Sequence[str]) -> None:
    """Export models to a folder, in a separate process, because TensorFlow and Mesa's LLVM cannot share one."""
    needs.installed("keras")
    done = run_python(__file__, folder, *names)
    if done.returncode:
        raise RuntimeError(f"Keras' side failed: {done.stderr}")


def exported(name: str) -> Exported:
    """Return the result of exporting a model; all models of its half are exported at once."""
    return _half(name in RUN_EVERYWHERE)[name]


@cache
def _half(everywhere: bool) -> dict[str, Exported]:
    names = [name for name in NAMES if (name in RUN_EVERYWHERE) == everywhere]
    label = "models-everywhere" if everywhere else "models-others"
    folder = made_once(label, partial(export, names=names), ["tests/models", "tests/small_models.py"])
    results = {}
    for name, facts in json.loads((folder / "models.json").read_text("utf-8")).items():
        inputs: Inputs = {}
        if not facts["refusal"]:
            with np.load(folder / f"{name}.npz") as saved:
                inputs = dict(saved)
        results[name] = Exported(path=folder / f"{name}.glslnn", inputs=inputs, **facts)
    return results


def random_inputs(graph: Any, seed: int) -> Inputs:
    """Return an image of soft random patches, or random values, for each input."""
    rng = np.random.default_rng(seed)
    inputs: Inputs = {}
    for node in graph.inputs:
        shape = tuple(node.attrs["shape"])
        if node.attrs.get("fit") is None:
            inputs[node.name] = rng.uniform(-1.0, 1.0, shape).astype(np.float32)
            continue
        coarse = rng.integers(0, 256, (-(-shape[0] // 4), -(-shape[1] // 4), shape[2]))
        patches = np.repeat(np.repeat(coarse, 4, axis=0), 4, axis=1)[: shape[0], : shape[1]]
        inputs[node.name] = np.clip(patches + rng.integers(-40, 41, shape), 0, 255).astype(np.uint8)
    return inputs


def with_weights(model: Any, seed: int) -> Any:
    """Randomise every weight without vanishing values or differences; return the model."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        kind, shape = weight.path.rsplit("/", 1)[-1], tuple(weight.shape)
        if kind in ("gamma", "moving_variance"):
            weight.assign(rng.uniform(0.6, 1.4, shape))
        elif kind in ("beta", "moving_mean", "bias"):
            weight.assign(rng.normal(0.0, 0.2, shape))
        elif kind == "alpha":
            weight.assign(rng.uniform(0.05, 0.4, shape))
        elif "kernel" in kind:
            fan = shape[:2] if "depthwise" in weight.path else shape[:-1]
            weight.assign(rng.normal(0.0, 1.3 / np.sqrt(np.prod(fan)), shape))
    return model


def fed(graph: Any, inputs: Inputs) -> dict[str, NDArray[np.float32]]:
    """Return Keras' inputs: an image's bytes are converted to values."""
    from glsl_infer.graph.picture import input_values

    return {
        node.name: np.asarray(input_values(node, inputs[node.name]), np.float32)[None]
        if node.attrs.get("fit") is not None
        else inputs[node.name][None]
        for node in graph.inputs
    }


def main() -> int:
    """Export the models with the given names, by default all, to the given folder."""
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    facts = {name: _facts(name, folder) for name in names or NAMES}
    (folder / "models.json").write_text(json.dumps(facts, indent=1), "utf-8")
    return 0


def _facts(name: str, folder: Path) -> dict[str, Any]:
    """Export a network; return the refusal, if any, and its agreement with Keras."""
    import keras

    from glsl_infer.errors import InputError

    keras.utils.clear_session(free_memory=False)  # layers without names are named as in a new process
    seed = zlib.crc32(name.encode())
    keras.utils.set_random_seed(seed)  # for weights with their initial values
    model = with_weights(models.build(name), seed)
    try:
        floats, likeness = _exported(name, model, folder, seed)
    except InputError as error:
        return {"refusal": str(error), "floats": 0.0, "likeness": 0.0}
    except Exception:
        return {"refusal": traceback.format_exc(), "floats": 0.0, "likeness": 0.0}
    return {"refusal": "", "floats": floats, "likeness": likeness}


def _exported(name: str, model: Any, folder: Path, seed: int) -> tuple[float, float]:
    from glsl_infer import bundle as bundles
    from glsl_infer.compiler.assemble import classes_of
    from glsl_infer.compiler.delegate import build
    from glsl_infer.compiler.optimize import optimize
    from glsl_infer.graph import reference
    from glsl_infer.graph.host_steps import softmax
    from glsl_infer.importers.keras import to_graph

    graph = to_graph(model)
    images = [random_inputs(graph, seed + index) for index in range(PICTURES + 1)]
    inputs, calibration_images = images[0], images[1:]
    labels = [f"class {index}" for index in range(classes_of(optimize(graph)))]
    bundles.write(build(graph, labels, calibration=calibration_images).bundle, folder / f"{name}.glslnn")
    np.savez(folder / f"{name}.npz", **inputs)
    bundle = bundles.read(folder / f"{name}.glslnn")
    expected = _by_name(graph, model(_as_called(model, fed(graph, inputs)), training=False))
    floats = reference.run(graph, inputs, mode="float")
    exact = {
        key: softmax(value) if leaves_softmax(graph, key, bundle.graph) else value
        for key, value in reference.run(bundle, inputs).items()
    }
    error = max(relative(floats[key], expected) for key, expected in expected.items())
    return error, min(_likeness(exact[key], expected) for key, expected in expected.items())


def _as_called(model: Any, values: dict[str, NDArray[np.float32]]) -> Any:
    return values[model.inputs[0].name] if len(values) == 1 else [values[tensor.name] for tensor in model.inputs]


def leaves_softmax(graph: Any, key: str, prepared: Any) -> bool:
    """Return whether runners return logits for an output with probabilities in the model."""
    (output,) = (output for output in graph.outputs if output.name == key)
    (after,) = (output for output in prepared.outputs if output.name == key)
    ops = [graph.by_name[name].op for name in output.layers]
    before = [graph.by_name[name].op for layer in output.layers for name in graph.by_name[layer].inputs]
    has_softmax = any(node.op in ("channel_softmax", "vector_softmax") for node in prepared.nodes)
    return "softmax" in (*ops, *before) and not after.steps and not has_softmax


def _by_name(graph: Any, values: Any) -> dict[str, NDArray[np.float64]]:
    """Return the outputs by name, without the batch."""
    if isinstance(values, dict):
        return {key: np.asarray(value, np.float64) for key, value in values.items()}
    several = values if isinstance(values, (list, tuple)) else [values]
    return {output.name: np.asarray(value, np.float64) for output, value in zip(graph.outputs, several)}


def relative(actual: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    expected = expected.reshape(actual.shape)
    return float(np.abs(actual - expected).max() / max(np.abs(expected).max(), 1e-6))


def _likeness(actual: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    expected = expected.reshape(actual.shape)
    if actual.size < 8:  # too few for a correlation: 1 is equal, 0 is an error of the largest value
        return 1.0 - relative(actual, expected)
    return float(np.corrcoef(actual.reshape(-1), expected.reshape(-1))[0, 1])


if __name__ == "__main__":
    sys.exit(main())

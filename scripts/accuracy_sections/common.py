"""Helpers shared by several sections of scripts/accuracy.py."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/gl")]  # the tests have the code that compares layers

import numpy as np  # noqa: E402
from layer_check import exact_steps, gpu_steps, stored_inputs  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from random_networks import drawn_nodes  # noqa: E402

from glsl_infer.bundle import Bundle  # noqa: E402
from glsl_infer.errors import InputError  # noqa: E402
from glsl_infer.graph import Node, reference  # noqa: E402
from glsl_infer.graph.picture import picture_values  # noqa: E402
from glsl_infer.program.texels import in_steps  # noqa: E402
from glsl_infer.runtime.pictures import preprocess  # noqa: E402
from glsl_infer.runtime.session import Session  # noqa: E402

Section = dict[str, Any]
Pictures = NDArray[np.uint8]
Inputs = Callable[[Node], Sequence[NDArray[Any]]]

BOUNDS = {"layer": 0.52, "ratio": 1.2, "same_top1": 210, "spread": 1.0}


def keras_side(task: str, folder: Path, **options: object) -> None:
    """Run a task of accuracy_keras.py.

    Raises:
        InputError: it failed.
    """
    command = [sys.executable, str(ROOT / "scripts/accuracy_keras.py"), task, str(folder)]
    for key, value in options.items():
        command += [f"--{key}", str(value)]
    if subprocess.run(command, check=False).returncode:
        raise InputError("Keras' side failed; its message is above")


def photographs(data: Path, split: str, count: int, size: int) -> Pictures:
    """Return ``count`` photographs of a split, evenly spaced, as uint8 (count, size, size, 3)."""
    return np.stack([preprocess.load(path, size) for path in evenly(paths(data, split), count)])


def paths(data: Path, split: str) -> list[Path]:
    """Return the paths of the photographs of a split, ``SPLIT/CLASS/*.jpg``, sorted."""
    files = sorted((data / split).glob("*/*.jpg"))
    if not files:
        raise InputError(f"{data / split}: no photographs; see the top of accuracy.py")
    return files


def evenly(items: Sequence[Any], count: int) -> list[Any]:
    """Return ``count`` of the items, evenly spaced."""
    return [items[index * len(items) // count] for index in range(count)]


def layer_rows(session: Session, inputs: Inputs) -> list[Section]:
    """Run every layer that draws on its own, and compare it with the float64 value before rounding."""
    made = session.bundle
    rows = []
    for node in drawn_nodes(made):
        given, value = inputs(node), made.values[node.name]
        exact = exact_steps(made, node, given)
        stored = np.rint(in_steps(reference.layer(node, list(given), stored=True), value))
        steps = gpu_steps(session, node.name, given)
        rows.append(
            {
                "layer": node.name,
                "op": node.op,
                "values": int(exact.size),
                "levels": len(np.unique(stored)),
                "worst": float(np.abs(exact - steps).max()),
                "differing": int(np.count_nonzero(stored != steps)),
            }
        )
    return rows


def exact_inputs(made: Bundle, picture: Pictures) -> Inputs:
    """Return a function from a node to its inputs, as the exact reference computes them for an image."""
    values: dict[str, NDArray[Any]] = {made.graph.input.name: picture_values(made.graph.input, picture)}
    values.update(reference.layers(made, picture))
    return lambda node: [values[name] for name in node.inputs]


def random_inputs(made: Bundle, seed: int) -> Inputs:
    """Return a function from a node to random stored inputs: any byte, or any 16-bit integer."""
    rng = np.random.default_rng(seed)
    return lambda node: stored_inputs(made, node.name, rng)


def centred(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return logits (pictures, classes) minus their mean over the classes."""
    return np.asarray(logits, np.float64) - np.asarray(logits, np.float64).mean(axis=1, keepdims=True)


def compared(logits: NDArray[Any], floats: NDArray[Any]) -> dict[str, float]:
    """Return the differences of logits from the float ones.

    These are the errors, the errors divided by the spread, the cosines, and the number of images with the same first
    label.
    """
    given, wanted = centred(logits), centred(floats)
    errors, spread = np.abs(given - wanted), wanted.std(axis=0).mean()
    lengths = np.linalg.norm(given, axis=1) * np.linalg.norm(wanted, axis=1)
    cosines = (given * wanted).sum(axis=1) / lengths
    return {
        "mean": float(errors.mean()),
        "largest": float(errors.max()),
        "relative_mean": float(errors.mean() / spread),
        "relative_largest": float(errors.max() / spread),
        "cosine_mean": float(cosines.mean()),
        "cosine_least": float(cosines.min()),
        "same_top1": int((given.argmax(axis=1) == wanted.argmax(axis=1)).sum()),
    }

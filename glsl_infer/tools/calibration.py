"""Typical inputs for calibration: pictures, or .npz files with an array for each input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ImageError, InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.picture import is_picture
from glsl_infer.graph.reference import Inputs
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.support.arrays import in_shape, load_arrays

NUMBERS = ".npz"
SAID = 3
"""So many files that cannot be used are named; of others only their number is told."""


def samples(graph: Graph | None, paths: Sequence[str | Path]) -> list[Inputs]:
    """Return the typical inputs of a network.

    Args:
        graph: the network; None where nobody knows it, and files are only looked at.
        paths: pictures where it has one input, a picture; else .npz files with an array for each input by its name:
            pictures (height, width, channels) or of any size, numbers of the input's shape. One axis more in front
            holds several samples.

    Raises:
        InputError: files that cannot be used, the first of them by name.
    """
    samples: list[Inputs] = []
    problems: list[str] = []
    for path in paths:
        try:
            samples += _looked_at(Path(path)) if graph is None else _samples(graph, Path(path))
        except InputError as error:
            problems.append(str(error))
    if problems:
        more = len(problems) - SAID
        raise InputError("\n  ".join(problems[:SAID] + [f"and {more} more files of --images"] * (more > 0)))
    return samples


def _looked_at(path: Path) -> list[Inputs]:
    """Refuse a file that can be no network's."""
    if path.suffix.lower() == NUMBERS:
        load_arrays(path)
    else:
        preprocess.load(path, 1)
    return []


def _samples(graph: Graph, path: Path) -> list[Inputs]:
    alone = len(graph.inputs) == 1 and is_picture(graph.inputs[0])
    if path.suffix.lower() == NUMBERS:
        return _from_npz(graph, path)
    if not alone:
        names = ", ".join(node.name for node in graph.inputs)
        raise InputError(f"{path}: the model reads {names}; give --images *.npz files with an array for each")
    return [_fitted(graph.inputs[0], path)]


def _from_npz(graph: Graph, path: Path) -> list[Inputs]:
    arrays = load_arrays(path)
    names = [node.name for node in graph.inputs]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise InputError(f"{path}: no array is called '{missing[0]}'; give one for each of {', '.join(names)}")
    stacks = {node.name: _stack(node, arrays[node.name], path) for node in graph.inputs}
    counts = {len(stack) for stack in stacks.values()}
    if len(counts) != 1:
        raise InputError(f"{path}: its arrays hold different numbers of samples ({sorted(counts)}); give equally many")
    return [{name: stack[index] for name, stack in stacks.items()} for index in range(counts.pop())]


def _stack(node: Node, array: NDArray[Any], path: Path) -> list[NDArray[Any]]:
    """Return the samples of an input in an array."""
    shape = tuple(node.attrs["shape"])
    if is_picture(node):
        grey = shape[2] == 1 and array.ndim == 3 and array.shape[1:] == shape[:2] != array.shape[:2]
        pictures = list(array) if array.ndim == 4 or grey else [array]
        try:
            return [_fitted(node, picture) for picture in pictures]
        except ImageError as error:
            raise InputError(f"{path}: '{node.name}': {error}") from None
    one = in_shape(array, shape)
    if one.shape == shape:
        return [one]
    several = [in_shape(sample, shape) for sample in array] if array.ndim else []
    if several and several[0].shape == shape:
        return several
    raise InputError(
        f"{path}: '{node.name}' has shape {array.shape}; give {shape}, or several samples as (count, *{shape})"
    )


def _fitted(node: Node, source: str | Path | NDArray[Any]) -> NDArray[np.uint8]:
    height, width, channels = node.attrs["shape"]
    if isinstance(source, np.ndarray):
        given = source[..., None] if source.ndim == 2 else source
        if given.dtype == np.uint8 and given.shape == (height, width, channels):
            return given
        if source.shape[2:] == (1,):
            source = source[..., 0]
    return preprocess.load(source, (height, width), fit=node.attrs["fit"], channels=channels).reshape(
        height, width, channels
    )

"""Typical inputs for calibration: image files, or arrays in .npy and .npz files.

All files are read and checked before the compiler runs. Errors name up to ``MOST_NAMED`` files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ImageError, InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.picture import is_picture, picture_range
from glsl_infer.graph.reference import Inputs
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.support.arrays import from_file, load_array, load_arrays

ARRAY, ARRAYS = FILES = (".npy", ".npz")
"""Suffixes of array files."""

MOST_NAMED = 3
"""Largest number of unusable files named in a message. The others are only counted."""


def samples(graph: Graph | None, paths: Sequence[str | Path]) -> list[Inputs]:
    """Return the typical inputs of a network.

    Args:
        graph: the network; None if it could not be imported: files are then only checked.
        paths: images, if the only input is an image. Otherwise ``.npz`` files with an array for each input by name, or
            ``.npy`` files if there is one input: uint8 images (height, width, channels) of any size, float images of
            the input's size, or values of the input's shape. An additional first axis holds several samples.

    Raises:
        InputError: files cannot be used; the message names the first ``MOST_NAMED``.
    """
    samples: list[Inputs] = []
    problems: list[str] = []
    for path in paths:
        try:
            samples += _checked(Path(path)) if graph is None else _samples(graph, Path(path))
        except InputError as error:
            problems.append(str(error))
    if problems:
        more = len(problems) - MOST_NAMED
        raise InputError("\n  ".join(problems[:MOST_NAMED] + [f"and {more} more files of --images"] * (more > 0)))
    return samples


def _checked(path: Path) -> list[Inputs]:
    """Check that a file can be read as an array or image, and return no samples."""
    if path.suffix.lower() == ARRAYS:
        load_arrays(path)
    elif path.suffix.lower() == ARRAY:
        _array(path)
    else:
        preprocess.load(path, 1)
    return []


def _samples(graph: Graph, path: Path) -> list[Inputs]:
    if path.suffix.lower() == ARRAYS:
        return _from_npz(graph, path)
    names = [node.name for node in graph.inputs]
    if path.suffix.lower() == ARRAY and len(names) == 1:
        return [{names[0]: sample} for sample in _stack(graph.inputs[0], _array(path), path)]
    if len(names) == 1 and is_picture(graph.inputs[0]):
        return [_fitted(graph.inputs[0], path)]
    files = "*.npz files with an array for each" if len(names) > 1 else "*.npy files with arrays of its shape"
    raise InputError(f"{path}: the model reads {', '.join(names)}; give --images {files}")


def _array(path: Path) -> NDArray[Any]:
    try:
        return load_array(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, EOFError) as error:
        raise InputError(f"{path}: not a *.npy file of NumPy ({error}); write it with numpy.save") from None


def _from_npz(graph: Graph, path: Path) -> list[Inputs]:
    arrays = load_arrays(path)
    names = [node.name for node in graph.inputs]
    missing = [name for name in names if name not in arrays]
    if missing and len(names) == 1:
        return [{names[0]: sample} for sample in _of_only_input(graph.inputs[0], arrays, path)]
    if missing:
        raise InputError(f"{path}: no array is called '{missing[0]}'; give one for each of {', '.join(names)}")
    stacks = {node.name: _stack(node, arrays[node.name], path) for node in graph.inputs}
    counts = {len(stack) for stack in stacks.values()}
    if len(counts) != 1:
        raise InputError(f"{path}: its arrays hold different numbers of samples ({sorted(counts)}); give equally many")
    return [{name: stack[index] for name, stack in stacks.items()} for index in range(counts.pop())]


def _of_only_input(node: Node, arrays: dict[str, NDArray[Any]], path: Path) -> list[NDArray[Any]]:
    """Return the samples of all arrays that fit the only input, for arrays of other names."""
    samples: list[NDArray[Any]] = []
    problems: list[InputError] = []
    for array in arrays.values():
        try:
            samples += _stack(node, array, path)
        except InputError as error:
            problems.append(error)
    if samples:
        return samples
    if len(problems) == 1:
        raise problems[0]
    raise InputError(
        f"{path}: no array is called '{node.name}', and none of {', '.join(arrays)} fits it; {_description(node)}"
    )


def _description(node: Node) -> str:
    shape = tuple(node.attrs["shape"])
    channels_first = f" or {(shape[-1], *shape[:-1])}" if len(shape) == 3 and shape[-1] > 1 else ""
    return f"give an array of shape {shape}{channels_first}, or several samples along a first axis"


def _stack(node: Node, array: NDArray[Any], path: Path) -> list[NDArray[Any]]:
    """Return the samples of an input in an array."""
    shape = tuple(node.attrs["shape"])
    if is_picture(node):
        grey = shape[2] == 1 and array.ndim == 3 and array.shape[1:] == shape[:2] != array.shape[:2]
        pictures = list(array) if array.ndim == 4 or grey else [array]
        if array.dtype != np.uint8:
            return [_bytes_of(node, picture, path) for picture in pictures]
        try:
            return [_fitted(node, picture) for picture in pictures]
        except ImageError as error:
            raise InputError(f"{path}: '{node.name}': {error}") from None
    sample = from_file(array, shape)
    if sample.shape == shape:
        return [sample]
    several = [from_file(sample, shape) for sample in array] if array.ndim else []
    if several and several[0].shape == shape:
        return several
    raise InputError(f"{path}: an array of shape {array.shape} for '{node.name}'; {_description(node)}")


def _bytes_of(node: Node, array: NDArray[Any], path: Path) -> NDArray[np.uint8]:
    """Return the bytes of an image whose array has the values read by the network.

    Raises:
        InputError: the array has another shape or type, or values outside the range of the bytes.
    """
    shape, advice = tuple(node.attrs["shape"]), "or --fit none if the input does not take images"
    values = from_file(array, shape)
    if values.shape != shape or values.dtype.kind not in "fiub":
        raise InputError(
            f"{path}: an array of shape {array.shape} and type {array.dtype} for '{node.name}'; give uint8 images, "
            f"values of shape {shape}, {advice}"
        )
    scale, zero = (np.asarray(parameters, np.float64) for parameters in picture_range(node))
    stored = values.astype(np.float64) * (255.0 / scale) + zero
    if not (stored.min() > -1.0 and stored.max() < 256.0):  # also true for NaN
        low, high = float(values.min()), float(values.max())
        bounds = sorted((0.0 - float(zero[0] * scale[0]) / 255.0, float((255.0 - zero[0]) * scale[0]) / 255.0))
        raise InputError(
            f"{path}: values from {low:.4g} to {high:.4g} for '{node.name}', whose bytes represent {bounds[0]:.4g} to "
            f"{bounds[1]:.4g}; give --input-range={low:.4g},{high:.4g}, {advice}"
        )
    return np.clip(np.rint(stored), 0, 255).astype(np.uint8)


def _fitted(node: Node, source: str | Path | NDArray[Any]) -> NDArray[np.uint8]:
    height, width, channels = node.attrs["shape"]
    if isinstance(source, np.ndarray):
        pixels = source[..., None] if source.ndim == 2 else source
        if pixels.dtype == np.uint8 and pixels.shape == (height, width, channels):
            return pixels
        if source.shape[2:] == (1,):
            source = source[..., 0]
    return preprocess.load(source, (height, width), fit=node.attrs["fit"], channels=channels).reshape(
        height, width, channels
    )

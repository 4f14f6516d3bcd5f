"""Varied copies of a few calibration images: with more contrast, more colour, darker, or as negatives.

Three photographs seldom include a bright one with deep shadows. The extreme values for such an image are learnt from
copies. The error on held-out images is measured on copies as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges import observed
from glsl_infer.compiler.ranges.observed import Observation
from glsl_infer.graph import Graph, reference
from glsl_infer.graph.picture import is_picture
from glsl_infer.graph.reference import Inputs

FEW = 16
"""Number of images from which on copies are not made: the images vary enough, and copies take time."""

MOST = 1.5
"""Largest ratio of a copy's extremes to those of all images, because some networks explode on unrealistic images."""

CONTRAST, COLOUR, GAMMA, DARKEST = 1.6, 1.8, 0.6, 0.8

Change = Callable[[NDArray[Any]], NDArray[np.uint8]]
"""Function from a picture, uint8 (height, width, channels), to a changed copy."""


def reached(
    graph: Graph, names: Collection[str], images: Sequence[Inputs], shown: Mapping[str, Sequence[Observation]]
) -> dict[str, list[Observation]]:
    """Return observations whose extremes include those of copies; everything else is from the images.

    Args:
        graph: a graph at any stage of compilation.
        names: names of the layers.
        images: calibration images, as for ``reference.run``.
        shown: observations of each image; see ``observed.observe``.
    """
    if len(images) >= FEW or not any(is_picture(node) for node in graph.inputs):
        return {name: list(shown[name]) for name in names}
    brighter = (with_contrast, in_bright_colours)
    ends = [observed.extremes(graph, names, copies(graph, image, brighter)) for image in images]
    result: dict[str, list[Observation]] = {}
    for name in names:
        low, high = (
            MOST * end
            for end in (min(one.low.min() for one in shown[name]), max(one.high.max() for one in shown[name]))
        )
        result[name] = [
            replace(
                one,
                low=np.minimum(one.low, np.maximum(of[name][0], low)),
                high=np.maximum(one.high, np.minimum(of[name][1], high)),
            )
            for one, of in zip(shown[name], ends)
        ]
    return result


def copies(graph: Graph, image: Inputs, changes: Sequence[Change]) -> list[Inputs]:
    """Return the inputs with each change applied to their pictures; none for a network without picture inputs."""
    inputs = reference.by_name(graph, image)
    pictures = [node.name for node in graph.inputs if is_picture(node)]
    return [
        {name: change(array) if name in pictures else array for name, array in inputs.items()}
        for change in (changes if pictures else ())
    ]


def with_contrast(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a picture, uint8 (height, width, channels), with more contrast."""
    values = np.asarray(picture, np.float32)
    return _bytes((values - values.mean()) * np.float32(CONTRAST) + values.mean())


def in_bright_colours(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a brighter picture with stronger colours."""
    values = np.asarray(picture, np.float32)
    grey = values.mean(axis=2, keepdims=True)
    strong = np.clip(grey + (values - grey) * np.float32(COLOUR), 0.0, 255.0)
    return _bytes(255.0 * (strong / np.float32(255.0)) ** np.float32(GAMMA))


def darker(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a darker picture with less contrast in the shadows."""
    return _bytes(255.0 * DARKEST * (np.asarray(picture, np.float32) / np.float32(255.0)) ** (1.0 / GAMMA))


def inverted(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the negative of a picture: dark objects on white become bright ones on black."""
    return np.asarray(255 - np.asarray(picture, np.uint8), np.uint8)


def _bytes(values: NDArray[np.floating]) -> NDArray[np.uint8]:
    clipped: NDArray[np.uint8] = np.clip(np.rint(values), 0.0, 255.0).astype(np.uint8)
    return clipped

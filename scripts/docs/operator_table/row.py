"""The class of a row, and lazily imported Keras names to write models with."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Build = Callable[[Any], Any]
"""From the ``keras.Input`` to the output of a model, to several outputs, or to another model."""

SIZE = 8
"""Side of the rows' images in pixels: small, and even for halving."""

TOLERANCE = 0.52
"""Error bound in stored steps: perfect rounding has 0.5, and a driver's sums differ slightly from float64."""


class _Names:
    """The public names of some modules, imported on first use."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules

    def __getattr__(self, name: str) -> Any:
        for module in self._modules:
            value = getattr(importlib.import_module(module), name, None)
            if value is not None:
                return value
        raise AttributeError(name)


L = _Names("keras.layers", "glsl_infer.importers.keras.layers")
"""Keras' layers and our own."""

K = _Names("keras.ops")
"""Keras' operations."""

KERAS = _Names("keras")
"""Keras itself."""


@dataclass(frozen=True)
class Row:
    """One line of the table: a layer with some options, and a small model in which it is the subject.

    Layers of the model called ``stem...`` feed the subject and do not count; everything else is the subject.

    Attributes:
        layer: its name in Keras.
        options: its options, followed by the sizes of the costs.
        build: builds the model.
        restrictions: restrictions for users.
        without: builds the same model without the subject, if that is fused into another layer: costs are differences.
        into: with ``without``, the layer that the subject is fused into.
        bound: largest error of the entire model's output against float32 Keras, relative to the output's range.
        input_range: see ``importers.keras.to_graph``.
        bytes: values of byte 0 and byte 255 of the image, as the model expects them.
        size: side of the image in pixels.
        channels: number of channels of the image.
    """

    layer: str
    options: str
    build: Build
    restrictions: str = ""
    without: Build | None = None
    into: str = ""
    bound: float = 0.01
    input_range: tuple[float, float] | None = None
    bytes: tuple[float, float] = (0.0, 1.0)
    size: int = SIZE
    channels: int = 3

    @property
    def name(self) -> str:
        """A name for tests and files."""
        return _slug(f"{self.layer} {self.options}")


@dataclass(frozen=True)
class Refusal:
    """A layer or option without support.

    Attributes:
        layer, options: as in a row.
        says: the message after the layer's name, or its beginning.
        build: builds a refused model with a layer called ``subject``.
        shape: shape of the image.
        subject: the layer named in the message; None if the entire model is refused.
        calibrated: whether calibration images are available.
    """

    layer: str
    options: str
    says: str
    build: Build
    shape: tuple[int | None, int | None, int] = (SIZE, SIZE, 3)
    subject: str = "subject"
    calibrated: bool = True
    input_range: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """A name for tests."""
        return _slug(f"{self.layer} {self.options}")


@dataclass(frozen=True)
class Group:
    """A section of the page: its title, text common to all of its rows (how costs grow), and the rows."""

    title: str
    text: str
    rows: tuple[Row, ...]


def stem(x: Any, channels: int = 8, activation: str = "sigmoid", name: str = "stem") -> Any:
    """Return a feature map to feed the subject with: a convolution with values in [0, 1] after its sigmoid."""
    return L.Conv2D(channels, 3, padding="same", activation=activation, name=name)(x)


def vector(x: Any, channels: int = 8) -> Any:
    """Return a vector to feed the subject with."""
    return L.GlobalAveragePooling2D(name="stem-pool")(stem(x, channels))


def _slug(text: str) -> str:
    for sign, word in (("+", "plus"), (" - ", " minus "), ("`-", "minus "), ("*", "times"), ("/", "by")):
        text = text.replace(sign, word)
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")

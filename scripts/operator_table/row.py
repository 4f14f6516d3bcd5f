"""What a row is, and the names that rows write models with: Keras, imported when first used."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Build = Callable[[Any], Any]
"""From the ``keras.Input`` to the output of a model, to several outputs, or to another model."""

SIZE = 8
"""Side of the rows' pictures: even and small, so that halving divides it."""

TOLERANCE = 0.52
"""Of a stored step: 0.5 is perfect rounding, and a driver's sums differ a little from float64."""


class _Names:
    """The public names of some modules, which are imported when the first is asked for."""

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
        layer: as a person writes it in Keras.
        options: which, and in the end the sizes that the costs are for.
        build: makes the model.
        restrictions: what has to be observed.
        without: the same model without the subject, where that becomes part of another layer: costs are differences.
        into: where there is ``without``, what the subject becomes part of.
        bound: largest error of the whole model's output against float32 Keras, as a part of the output's range.
        input_range: see ``importers.keras.to_graph``.
        bytes: values of byte 0 and byte 255 of the picture, as the model expects them.
        size: side of the picture.
        channels: of the picture.
        listed: whether the page has it. Others are tested only: a listed row tells a reader as much.
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
    listed: bool = True

    @property
    def name(self) -> str:
        """A name for tests and files."""
        return _slug(f"{self.layer} {self.options}")


@dataclass(frozen=True)
class Refusal:
    """A layer or an option that is refused.

    Attributes:
        layer, options: as of a row.
        says: what the message says after the layer's name, or its beginning.
        build: makes a model of a layer called ``subject`` that is refused.
        shape: of the picture.
        subject: the layer that the message names; none where the model as a whole is refused.
        calibrated: whether there are pictures to learn ranges from.
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
    """A section of the page: its title, what holds for all of its rows (how costs grow), and the rows."""

    title: str
    text: str
    rows: tuple[Row, ...]


def stem(x: Any, channels: int = 8, activation: str = "sigmoid", name: str = "stem") -> Any:
    """Return a feature map to feed the subject with: a convolution, over [0, 1] by its sigmoid."""
    return L.Conv2D(channels, 3, padding="same", activation=activation, name=name)(x)


def vector(x: Any, channels: int = 8) -> Any:
    """Return a vector to feed the subject with."""
    return L.GlobalAveragePooling2D(name="stem-pool")(stem(x, channels))


def _slug(text: str) -> str:
    for sign, word in (("+", "plus"), (" - ", " minus "), ("`-", "minus "), ("*", "times"), ("/", "by")):
        text = text.replace(sign, word)
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")

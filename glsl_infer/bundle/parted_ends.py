"""Inputs and outputs of a bundle of parts: tensors without a texture in the bundle itself."""

from __future__ import annotations

from collections.abc import Sequence

from glsl_infer.bundle.manifest import Output
from glsl_infer.graph import host_steps
from glsl_infer.graph.node import Shape
from glsl_infer.program.layout import FeatureMap, FixedPoint
from glsl_infer.support.records import dataclass


@dataclass(frozen=True)
class TensorOutput(Output):
    """A result computed from tensors; ``values`` is empty, because the tensors are in textures of parts or on the CPU.

    Attributes:
        tensors: the inputs of the host steps.
        shapes: of these tensors; derived from the parts.
    """

    tensors: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return host_steps.shape_of(self.steps, self.shapes)


def input_value(
    shape: Shape, scales: Sequence[float] = (1.0,), zeros: Sequence[float] = (0.0,)
) -> FeatureMap | FixedPoint:
    """Return the description of an input of a bundle of parts: its shape and the meaning of bytes, without a location.

    Args:
        shape: (length,), or (height, width, channels).
        scales: of a picture; see ``program.layout.Range``.
        zeros: of a picture.
    """
    if len(shape) == 1:
        return FixedPoint("", 0, shape[0], 1.0)
    height, width, channels = shape
    return FeatureMap(height, width, channels, 0, (), tuple(scales), tuple(zeros))

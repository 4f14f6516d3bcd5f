"""The output tail of a model as host steps: the last layers of detectors and masks, which are faster on the CPU.

A detector ends in a reshape of maps to rows, a concatenation of the rows, and a sigmoid or a softmax. A mask ends in an
argmax over channels, and an embedding in a vector of length 1. These layers are not imported: the import starts at
their inputs. Softmax and sigmoid of vectors are left to ``compiler.optimize``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from glsl_infer.graph.host_steps import CONCATENATE, HostStep

Value = TypeVar("Value")
"""A tensor, in the type of the importer."""

MOST_TENSORS = 64
"""Largest number of layers from which an output of a bundle is made."""

NOTHING = HostStep("")
"""The host step of a layer without an effect."""


@dataclass(frozen=True)
class OutputTail(Generic[Value]):
    """The tail of an output: tensors to import, and the host steps after them."""

    tensors: tuple[Value, ...]
    steps: tuple[HostStep, ...]


@dataclass(frozen=True)
class Layers(Generic[Value]):
    """Queries about the layers that compute tensors.

    Attributes:
        step: returns the host step of the layer of a tensor, ``NOTHING``, or None if it is not a host step.
        is_join: returns whether the layer concatenates rows.
        inputs: returns the inputs of the layer, without constants.
    """

    step: Callable[[Value], HostStep | None]
    is_join: Callable[[Value], bool]
    inputs: Callable[[Value], Sequence[Value]]


def split_host_steps(tensor: Value, layers: Layers[Value]) -> OutputTail[Value]:
    """Return the longest output tail that consists of host steps.

    The layers must not form a cycle. The tail has at most ``MOST_TENSORS`` tensors, so that a bundle can name them all.
    """
    reached = OutputTail((tensor,), ())
    while (below := _below(reached, layers)) is not None and len(below.tensors) <= MOST_TENSORS:
        reached = below
    return reached


def _below(end: OutputTail[Value], layers: Layers[Value]) -> OutputTail[Value] | None:
    """Return the tail extended by one layer for all its tensors, or None."""
    joined = _joined(end, layers)
    if joined is not None:
        return joined
    steps = {layers.step(tensor) for tensor in end.tensors}
    step = steps.pop() if len(steps) == 1 else None
    if step is None:
        return None
    below = tuple(read for tensor in end.tensors for read in layers.inputs(tensor))
    return OutputTail(below, end.steps if step == NOTHING else (step, *end.steps))


def _joined(end: OutputTail[Value], layers: Layers[Value]) -> OutputTail[Value] | None:
    """Return the tail before a concatenation of rows, including concatenations inside it."""
    last = end.steps[0].step if end.steps else ""
    if not any(layers.is_join(tensor) for tensor in end.tensors) or (len(end.tensors) > 1 and last != CONCATENATE):
        return None
    below = tuple(
        inner for tensor in end.tensors for inner in (layers.inputs(tensor) if layers.is_join(tensor) else [tensor])
    )
    return OutputTail(below, end.steps if last == CONCATENATE else (HostStep(CONCATENATE), *end.steps))

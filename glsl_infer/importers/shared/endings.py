"""The end of a model as host steps: what detectors and masks do last, and a CPU does better.

A detector ends in a reshape of maps to rows, a concatenation of the rows, and a sigmoid or a softmax; a mask in an
argmax over channels; an embedding in a vector of length 1. These layers are not imported: the walk begins at what they
read. Softmax and sigmoid of vectors are left to ``compiler.optimize.endings``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from glsl_infer.graph.host_steps import CONCATENATE, HostStep

Value = TypeVar("Value")
"""A tensor, as the importer of a kind of file knows it."""

MOST_TENSORS = 64
"""Layers that an output of a bundle may be made of."""

NOTHING = HostStep("")
"""The step that a layer is which changes nothing."""


@dataclass(frozen=True)
class Ending(Generic[Value]):
    """What an output is made of: tensors to import, and host steps."""

    tensors: tuple[Value, ...]
    steps: tuple[HostStep, ...]


@dataclass(frozen=True)
class Layers(Generic[Value]):
    """What is asked of the layers that make tensors.

    Attributes:
        step: the host step that the layer of a tensor is; ``NOTHING``, or None if it is none.
        is_join: whether it joins rows.
        inputs: the tensors that it reads, without constants.
    """

    step: Callable[[Value], HostStep | None]
    is_join: Callable[[Value], bool]
    inputs: Callable[[Value], Sequence[Value]]


def peeled(tensor: Value, layers: Layers[Value]) -> Ending[Value]:
    """Return how an output ends, with as many layers taken off as are host steps.

    The layers must not read in a circle. It ends early where a bundle could not name all the tensors.
    """
    reached = Ending((tensor,), ())
    while (below := _below(reached, layers)) is not None and len(below.tensors) <= MOST_TENSORS:
        reached = below
    return reached


def _below(end: Ending[Value], layers: Layers[Value]) -> Ending[Value] | None:
    """Return the ending with one layer more taken off all its tensors, or None."""
    joined = _joined(end, layers)
    if joined is not None:
        return joined
    steps = {layers.step(tensor) for tensor in end.tensors}
    step = steps.pop() if len(steps) == 1 else None
    if step is None:
        return None
    below = tuple(read for tensor in end.tensors for read in layers.inputs(tensor))
    return Ending(below, end.steps if step == NOTHING else (step, *end.steps))


def _joined(end: Ending[Value], layers: Layers[Value]) -> Ending[Value] | None:
    """Return the ending before a concatenation of rows, and of concatenations in it."""
    last = end.steps[0].step if end.steps else ""
    if not any(layers.is_join(tensor) for tensor in end.tensors) or (len(end.tensors) > 1 and last != CONCATENATE):
        return None
    below = tuple(
        inner for tensor in end.tensors for inner in (layers.inputs(tensor) if layers.is_join(tensor) else [tensor])
    )
    return Ending(below, end.steps if last == CONCATENATE else (HostStep(CONCATENATE), *end.steps))

"""TimeDistributed: a layer or a model on every step of a sequence, with separate nodes for each step.

A sequence of maps (frames, height, width, channels) is an input map with the frames below each other, and shaders slice
the frames from it. The next TimeDistributed reads the steps directly. The concatenation is then unused, and is
removed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node, Shape
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.keras.call import Call

MOST_FRAMES = 64
"""Largest number of steps to unroll."""

_ALONG_CHANNELS = frozenset({"Activation", "Dense", "Dropout", "LeakyReLU", "ReLU", "Softmax"})
"""Layers whose result for a sequence of vectors is the same as for each vector separately."""

Step = Callable[[str, str, Shape], str]
"""Converts one step. Takes a node name, the source node and the result's shape, and returns the output node."""


class Frames:
    """The steps of sequences, by the node that concatenates each sequence.

    Args:
        builder: the graph under construction.
    """

    def __init__(self, builder: GraphBuilder) -> None:
        self._builder = builder
        self._steps: dict[str, tuple[str, ...]] = {}
        self._stacked_maps: dict[str, str] = {}

    def record_stacked(self, sequence: str, stacked_map: str) -> None:
        """Record that a sequence is stored as the map ``stacked_map``, with the frames below each other."""
        self._stacked_maps[sequence] = stacked_map

    def unroll(self, call: Call, step: Step) -> str:
        """Call ``step`` for every frame of a call's input; return the node that concatenates the results.

        Raises:
            ModelError: the sequence has too many frames.
        """
        count = call.shapes[0][0]
        if count > MOST_FRAMES:
            kind = type(call.layer).__name__
            raise call.refused(f"a {kind} over {count} steps", f"give it at most {MOST_FRAMES}")
        steps = tuple(step(f"{call.name}/{index}", self._frame(call, index), call.shape[1:]) for index in range(count))
        nodes = emit.stacked(call.name, steps, (1, *self._builder.shapes[steps[0]]), 0)
        sequence = self._builder.add(nodes)
        self._steps[sequence] = steps
        return sequence

    def _frame(self, call: Call, step_index: int) -> str:
        source, shape = call.inputs[0], call.shapes[0]
        if source in self._steps:
            return self._steps[source][step_index]
        name = self._builder.free_name(f"{call.name}-frame{step_index}")
        if source in self._stacked_maps:
            attrs = {"begin": (step_index * shape[1], 0), "size": (shape[1], shape[2]), "strides": (1, 1)}
            return self._builder.add([Node(name, "spatial_slice", (self._stacked_maps[source],), attrs)])
        begin = (step_index, *(0 for _ in shape[1:]))
        slice_attrs = {"begin": begin, "size": (1, *shape[1:]), "strides": tuple(1 for _ in shape)}
        nodes = [Node(name, "tensor_slice", (source,), slice_attrs)]
        nodes.append(Node(f"{name}-alone", "reshape", (name,), {"shape": shape[1:]}))
        return self._builder.add(nodes)


def along_channels(layer: Any, shape: Shape) -> bool:
    """Return whether an inner layer can process a sequence of vectors at once, with the same result as step by step."""
    kind = type(layer)
    is_known = kind.__name__ in _ALONG_CHANNELS and kind.__module__.partition(".")[0] == "keras"
    return is_known and len(shape) == 2 and getattr(layer, "axis", -1) == -1


def inner_of(call: Call) -> Any:
    """Return the inner layer of a TimeDistributed."""
    inner = getattr(call.layer, "layer", None)
    if inner is None or len(call.inputs) != 1:
        raise ModelError.layer(call.name, "a TimeDistributed of several inputs", "give it one sequence")
    return inner

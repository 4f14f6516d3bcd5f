"""The reference: a network computed in NumPy, either in float32 or exactly as the textures store it.

``stored`` computes every layer in float64 and rounds its output to the bits that its texture holds, so that
a GPU may differ only where a value lies within its own arithmetic error of a rounding boundary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol, Union

import numpy as np

from glsl_infer.errors import InputError
from glsl_infer.graph import host_steps
from glsl_infer.graph.network import Graph
from glsl_infer.graph.node import Array, Node
from glsl_infer.graph.picture import input_values, is_picture
from glsl_infer.support.ndarray import NDArray

MODES = ("stored", "float")

Inputs = Union[NDArray[Any], Mapping[str, NDArray[Any]]]
"""What a network reads: an array for each input by its name, or the array of the only one."""


class HasGraph(Protocol):
    """A bundle, say: whatever knows the network that it was made from."""

    @property
    def graph(self) -> Graph:
        """The network."""


GraphOrBundle = Union[Graph, HasGraph]


def run(model: GraphOrBundle, inputs: Inputs, *, mode: str | None = None) -> Any:
    """Return the outputs of the whole network after their host steps, float32.

    Args:
        model: a bundle, or a graph at any step on its way to one.
        inputs: an array for each input, by name: uint8 (height, width, channels) for a picture, numbers of its shape
            for any other. The array alone where the network has one input.
        mode: ``stored`` or ``float``; by default ``stored`` once the graph has its ranges and scales.

    Returns:
        For inputs by name a dict of outputs by name. For a single array the array of the only output: logits
        (classes,), a map (height, width, channels), or what its host steps make.

    Raises:
        ImageError: a picture has the wrong shape or type.
        InputError: numbers have the wrong shape, inputs are missing or unknown, the network has several outputs and
            the inputs have no names, or ``stored`` was asked of a graph without ranges and scales.
    """
    graph = as_graph(model)
    if not isinstance(inputs, Mapping) and len(graph.outputs) != 1:
        raise InputError(
            f"model '{graph.name}' has {len(graph.outputs)} outputs; give the inputs as a dict, and get one back"
        )
    wanted = set(graph.output_layers)
    values = {name: value for name, value in all_values(graph, inputs, mode=mode, wanted=wanted) if name in wanted}
    results = {
        output.name: host_steps.apply(output.steps, [values[layer] for layer in output.layers])
        for output in graph.outputs
    }
    return results if isinstance(inputs, Mapping) else results[graph.outputs[0].name]


def layers(
    model: GraphOrBundle, inputs: Inputs, *, mode: str | None = None, wanted: Collection[str] | None = None
) -> Iterator[tuple[str, Array]]:
    """Yield (name, output) of every node but the inputs, in order; arguments as for ``all_values``."""
    graph = as_graph(model)
    given = {node.name for node in graph.inputs}
    return ((name, value) for name, value in all_values(graph, inputs, mode=mode, wanted=wanted) if name not in given)


def all_values(
    model: GraphOrBundle, inputs: Inputs, *, mode: str | None = None, wanted: Collection[str] | None = None
) -> Iterator[tuple[str, Array]]:
    """Yield (name, output) of every node, in order; arguments as for ``run``.

    With ``wanted``, names of nodes, only of these and of what they are computed from.
    """
    graph = as_graph(model)
    mode = default_mode(graph) if mode is None else mode
    if mode not in MODES:
        raise InputError(f"mode '{mode}'; choose one of {', '.join(MODES)}")
    if mode == "stored" and default_mode(graph) == "float":
        raise InputError("the graph has no ranges and scales yet; run glsl_infer.compiler.ranges.prepare on it")
    given = by_name(graph, inputs)
    dtype = np.float32 if mode == "float" else np.float64
    values: dict[str, Array] = {}
    needed = _needed(graph, wanted) if wanted is not None else graph.by_name.keys()
    left = {name: sum(reader.name in needed for reader in readers) for name, readers in graph.consumers.items()}
    for node in graph.nodes:
        if node.name not in needed:
            continue
        if node.operator.is_input:
            value = input_values(node, given[node.name])
            # A picture's bytes are exact: rounding them again could only lose what float64 has.
            values[node.name] = (
                value if mode == "float" or is_picture(node) else node.operator.store(node, value)
            ).astype(dtype)
        else:
            # No name for what is read: it would keep the arrays while somebody looks at the layer.
            values[node.name] = layer(node, [values[name] for name in node.inputs], stored=mode == "stored")
            for name in node.inputs:
                left[name] -= 1
                if not left[name]:
                    values.pop(name, None)
        yield node.name, values[node.name]
        if not left[node.name]:
            del values[node.name]


def _needed(graph: Graph, wanted: Collection[str]) -> set[str]:
    """Return the names of nodes and of all that they are computed from."""
    needed = set(wanted)
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    return needed


def by_name(graph: Graph, inputs: Inputs) -> Mapping[str, NDArray[Any]]:
    """Return an array for each input of a graph, by name.

    Raises:
        InputError: one is missing, unknown, or without a name where there are several.
    """
    names = [node.name for node in graph.inputs]
    if not isinstance(inputs, Mapping):
        if len(names) != 1:
            raise InputError(
                f"model '{graph.name}' has the inputs {', '.join(names)}; give a dict with an array for each"
            )
        return {names[0]: inputs}
    wrong = sorted({*names}.symmetric_difference(inputs))
    if wrong:
        what = "is missing" if wrong[0] in names else "is no input"
        raise InputError(f"input '{wrong[0]}' {what}; model '{graph.name}' has: {', '.join(names)}")
    return {name: np.asarray(inputs[name]) for name in names}


def layer(node: Node, inputs: Sequence[Array], *, stored: bool) -> Array:
    """Return the output of one node for given inputs, rounded to its texture's bits when ``stored``."""
    operator = node.operator
    exact = operator.reference(node, inputs)
    return operator.store(node, exact) if stored else exact


def default_mode(graph: Graph) -> str:
    """Return ``stored`` when every output has its range in 8 bits or its scale in 16, else ``float``."""
    unsplit = any(not (node.operator.has_shader or node.operator.on_cpu) for node in graph.nodes)
    unset = any(
        node.attrs[key] is None
        for node in graph.nodes
        for key in ("scale", "scales", "zeros")
        if key in node.operator.attrs
    )
    return "float" if unsplit or unset else "stored"


def as_graph(model: GraphOrBundle) -> Graph:
    """Return the graph of a bundle, or the graph itself."""
    return model if isinstance(model, Graph) else model.graph

"""Reference implementation: compute a network in NumPy, in float32 or exactly as the textures store it.

``stored`` computes each layer in float64 and rounds its output to the bits of its texture. A GPU can only differ from
it by its own arithmetic error, near a rounding boundary.
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
"""Inputs of a network: a dict from input names to arrays, or the array of the only input."""


class HasGraph(Protocol):
    """An object with a graph, such as a bundle."""

    @property
    def graph(self) -> Graph:
        """The network."""


GraphOrBundle = Union[Graph, HasGraph]


def run(model: GraphOrBundle, inputs: Inputs, *, mode: str | None = None) -> Any:
    """Compute the outputs of a network after their host steps, in float32.

    Args:
        model: a bundle, or a graph at any stage of compilation.
        inputs: an array for each input, by name: uint8 (height, width, channels) for an image, numbers of the input's
            shape otherwise. A network with one input also takes the array itself.
        mode: ``stored`` or ``float``; by default ``stored`` if the graph has its ranges and scales.

    Returns:
        A dict of outputs by name if the inputs are a dict. Otherwise the array of the only output: logits (classes,),
        a map (height, width, channels), or the result of its host steps.

    Raises:
        ImageError: an image has the wrong shape or type.
        InputError: numbers have the wrong shape, inputs are missing or unknown, the network has several outputs but
            the inputs have no names, or mode ``stored`` needs ranges that the graph lacks.
    """
    graph = as_graph(model)
    if not isinstance(inputs, Mapping) and len(graph.outputs) != 1:
        raise InputError(
            f"model '{graph.name}' has {len(graph.outputs)} outputs; give the inputs as a dict, and get one back"
        )
    needed_layers = set(graph.output_layers)
    values = {
        name: value
        for name, value in all_values(graph, inputs, mode=mode, names=needed_layers)
        if name in needed_layers
    }
    results = {
        output.name: host_steps.apply(output.steps, [values[layer] for layer in output.layers])
        for output in graph.outputs
    }
    return results if isinstance(inputs, Mapping) else results[graph.outputs[0].name]


def layers(
    model: GraphOrBundle, inputs: Inputs, *, mode: str | None = None, names: Collection[str] | None = None
) -> Iterator[tuple[str, Array]]:
    """Yield (name, output) of each node except the inputs, in order; arguments as for ``all_values``."""
    graph = as_graph(model)
    input_names = {node.name for node in graph.inputs}
    return (
        (name, value) for name, value in all_values(graph, inputs, mode=mode, names=names) if name not in input_names
    )


def all_values(
    model: GraphOrBundle, inputs: Inputs, *, mode: str | None = None, names: Collection[str] | None = None
) -> Iterator[tuple[str, Array]]:
    """Yield (name, output) of each node, in order; arguments as for ``run``.

    ``names`` restricts the computation to these nodes and their ancestors. Memory of outputs without further readers
    is freed during the iteration.
    """
    graph = as_graph(model)
    mode = _checked_mode(graph, mode)
    arrays = by_name(graph, inputs)
    dtype = np.float32 if mode == "float" else np.float64
    values: dict[str, Array] = {}
    unrounded_inputs: dict[str, Array] = {}  # layers on the CPU read the numbers of an input, not its texture
    needed = _with_ancestors(graph, names) if names is not None else graph.by_name.keys()
    readers_left = {name: sum(reader.name in needed for reader in readers) for name, readers in graph.consumers.items()}
    for node in graph.nodes:
        if node.name not in needed:
            continue
        if node.operator.is_input:
            value = input_values(node, arrays[node.name])
            # The bytes of an image are exact. Storing them again could only lose precision of float64.
            is_exact = mode == "float" or is_picture(node)
            values[node.name] = (value if is_exact else node.operator.store(node, value)).astype(dtype)
            if any(reader.operator.on_cpu for reader in graph.consumers[node.name]):
                unrounded_inputs[node.name] = value.astype(dtype)
        else:
            sources = unrounded_inputs if node.operator.on_cpu else {}
            # A variable for the inputs would keep their memory while the caller uses the layer.
            values[node.name] = layer(
                node, [sources.get(name, values[name]) for name in node.inputs], stored=mode == "stored"
            )
            for name in node.inputs:
                readers_left[name] -= 1
                if not readers_left[name]:
                    values.pop(name, None)
        yield node.name, values[node.name]
        if not readers_left[node.name]:
            del values[node.name]


def _checked_mode(graph: Graph, mode: str | None) -> str:
    """Return the mode, by default that of the graph.

    Raises:
        InputError: the mode is unknown, or is ``stored`` for a graph without ranges.
    """
    possible_mode = default_mode(graph)
    if mode is None:
        return possible_mode
    if mode not in MODES:
        raise InputError(f"mode '{mode}'; choose one of {', '.join(MODES)}")
    if mode == "stored" and possible_mode == "float":
        raise InputError("the graph has no ranges and scales yet; run glsl_infer.compiler.ranges.prepare on it")
    return mode


def _with_ancestors(graph: Graph, names: Collection[str]) -> set[str]:
    """Return the names of nodes and of all their ancestors."""
    needed = set(names)
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    return needed


def by_name(graph: Graph, inputs: Inputs) -> Mapping[str, NDArray[Any]]:
    """Return the array of each input by name.

    Raises:
        InputError: an input is missing, unknown, or ambiguous because the network has several.
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
        problem = "is missing" if wrong[0] in names else "is no input"
        raise InputError(f"input '{wrong[0]}' {problem}; model '{graph.name}' has: {', '.join(names)}")
    return {name: np.asarray(inputs[name]) for name in names}


def layer(node: Node, inputs: Sequence[Array], *, stored: bool) -> Array:
    """Return the output of one node, rounded to the values of its texture if ``stored``."""
    operator = node.operator
    exact = operator.reference(node, inputs)
    return operator.store(node, exact) if stored else exact


def default_mode(graph: Graph) -> str:
    """Return ``stored`` if all outputs have their ranges (8 bits) or scales (16 bits), else ``float``."""
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

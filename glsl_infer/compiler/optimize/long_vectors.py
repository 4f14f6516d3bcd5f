"""Optimisation steps for vectors: flattened maps in the layout with the fewest quads, and long vectors in parts.

A texture holds a vector of ``LONGEST`` values. A longer one is stored in parts, each a vector of its own. A dense layer
of parts is the sum of a dense layer of each. Its outputs are parts again if there are more than ``MOST_OUTPUTS``.
The order of a flattened map's values is free if only dense layers read it. Rows of pixels (``flatten_rows``) take one
quad each, but the order of Keras takes one for every two values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph import Graph, GraphOutput, Node, Shape
from glsl_infer.graph.host_steps import CONCATENATE, HostStep
from glsl_infer.lowering.bindings import MAX_TEXTURES
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

LONGEST = 2 * MAX_TEXTURE_SIZE
"""Largest number of values of a vector in one texture."""

MOST_OUTPUTS = MAX_TEXTURE_SIZE
"""Largest number of outputs of a dense layer whose weights are one texture."""

MISSING = -1
"""Index of a padding value, which is 0 and in none of the graph's vectors."""


@dataclass(frozen=True)
class Part:
    """A node with a part of a vector, and the indices of its values in the vector, (length,)."""

    name: str
    indices: NDArray[np.int64]


def long_vectors(graph: Graph) -> Graph:
    """Split long vectors into parts, and order flattened maps for their dense layers.

    Raises:
        ModelError: an operator without support for a vector in parts, by name.
    """
    parts_of: dict[str, tuple[Part, ...]] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _nodes(graph, node, parts_of)
    outputs = tuple(_output(graph, output, parts_of) for output in graph.outputs)
    return Graph(graph.name, nodes, outputs)


def _nodes(graph: Graph, node: Node, parts_of: dict[str, tuple[Part, ...]]) -> Iterator[Node]:
    """Yield the replacement of a node, and add its parts to ``parts_of`` if its output is in parts."""
    shape = graph.shapes[node.name]
    inputs = [parts_of.get(name) for name in node.inputs]
    behaviour = ops.get(node.op).on_parts
    if behaviour == "rows" and len(graph.shapes[node.inputs[0]]) == 3 and _only_in_parts(graph, node):
        yield from _flattened(graph, node, parts_of)
    elif behaviour == "rows" and _is_odd(graph.shapes[node.inputs[0]]) and shape[0] <= LONGEST:
        yield from _in_order(graph, node)
    elif behaviour == "join" and (any(inputs) or shape[0] > LONGEST) and _only_in_parts(graph, node):
        parts_of[node.name] = _concatenated(graph, node, parts_of)
    elif behaviour == "products" and (inputs[0] or shape[0] > MOST_OUTPUTS):
        yield from _dense(graph, node, parts_of)
    elif behaviour == "map" and any(inputs):
        yield replace(
            node,
            inputs=tuple(part.name for name in node.inputs for part in _parts_in_order(graph, name, node, parts_of)),
        )
    elif behaviour == "each" and any(inputs):
        yield from _each_part(graph, node, parts_of)
    elif any(inputs):
        names = [name for name, parts in zip(node.inputs, inputs) if parts]
        length = graph.shapes[names[0]][0]
        advice = f"at most {LONGEST} values are supported, more only from Flatten or Concatenate to Dense; pool more"
        raise ModelError.layer(node.name, f"{with_article(node.op)} of a vector of {length} values", advice)
    else:
        yield node


def _only_in_parts(graph: Graph, node: Node) -> bool:
    """Return whether only dense layers read a vector, directly or through concatenations and activations."""
    if node.name in graph.output_layers or math.prod(graph.shapes[node.inputs[0]][:-1] or (0,)) == 1:
        return False
    readers = [(reader, ops.get(reader.op).on_parts) for reader in graph.consumers[node.name]]
    return bool(readers) and all(
        behaviour == "products"
        or (behaviour == "join" and _only_in_parts(graph, reader))
        or (behaviour == "each" and len(reader.inputs) == 1 and _only_in_parts(graph, reader))
        for reader, behaviour in readers
    )


def _flattened(graph: Graph, node: Node, parts_of: dict[str, tuple[Part, ...]]) -> Iterator[Node]:
    """Yield a flattened map in rows of pixels, in as many parts as it takes, and add these to ``parts_of``."""
    height, width, channels = graph.shapes[node.inputs[0]]
    indices = np.arange(height * width * channels).reshape(height, width, channels)
    missing = np.full((height, width, channels % 2), MISSING)
    pairs = np.concatenate([indices, missing], axis=2).reshape(height, width, -1, 2)
    rows = pairs.transpose(2, 0, 1, 3).reshape(-1, 2 * width)
    part_count = -(-rows.size // LONGEST)
    rows_per_part = min(-(-len(rows) // part_count), LONGEST // (2 * width))
    parts: list[Part] = []
    for first in range(0, len(rows), rows_per_part):
        selected = rows[first : first + rows_per_part]
        name = node.name if len(rows) <= rows_per_part else f"{node.name}-part{len(parts) + 1}"
        yield Node(name, "flatten_rows", node.inputs, {"first": first, "count": len(selected), "scale": None})
        parts.append(Part(name, selected.reshape(-1)))
    parts_of[node.name] = tuple(parts)


def _is_odd(shape: Shape) -> bool:
    """Return whether a map has several pixels and an odd number of channels, so that two pixels share a texel."""
    return len(shape) == 3 and shape[0] * shape[1] > 1 and shape[2] % 2 == 1


def _in_order(graph: Graph, node: Node) -> Iterator[Node]:
    """Yield the rows of a flattened map, and a node to put their values in the order of Keras."""
    rows: dict[str, tuple[Part, ...]] = {}
    yield from _flattened(graph, replace(node, name=f"{node.name}-rows"), rows)
    parts = rows[f"{node.name}-rows"]
    positions = np.argsort(np.concatenate([part.indices for part in parts]), kind="stable")
    indices = tuple(positions[-graph.shapes[node.name][0] :].tolist())  # The padding values sort first.
    yield Node(node.name, "vector_gather", tuple(part.name for part in parts), {"channels": indices})


def _concatenated(graph: Graph, node: Node, parts_of: dict[str, tuple[Part, ...]]) -> tuple[Part, ...]:
    parts: list[Part] = []
    offset = 0
    for name in node.inputs:
        for part in _parts(graph, name, parts_of):
            parts.append(Part(part.name, np.where(part.indices == MISSING, MISSING, part.indices + offset)))
        offset += graph.shapes[name][0]
    return tuple(parts)


def _parts(graph: Graph, name: str, parts_of: dict[str, tuple[Part, ...]]) -> tuple[Part, ...]:
    return parts_of.get(name) or (Part(name, np.arange(graph.shapes[name][0])),)


def _parts_in_order(graph: Graph, name: str, reader: Node, parts_of: dict[str, tuple[Part, ...]]) -> tuple[Part, ...]:
    """Return the parts of a vector, which must contain all its values in order."""
    parts = _parts(graph, name, parts_of)
    if not np.array_equal(np.concatenate([part.indices for part in parts]), np.arange(graph.shapes[name][0])):
        advice = "flatten it twice: once for the Dense layers, once for this one"
        raise ModelError.layer(reader.name, "a vector whose values are stored in the order of Dense layers", advice)
    return parts


def _dense(graph: Graph, node: Node, parts_of: dict[str, tuple[Part, ...]]) -> Iterator[Node]:
    """Yield a dense layer for each part and each group of outputs, and their sums."""
    sources = _parts(graph, node.inputs[0], parts_of)
    kernel, bias = node.weights["kernel"], node.weights["bias"]
    outputs = kernel.shape[1]
    groups = _groups(graph, node, outputs)
    if len(groups) > 1 and node.activation.channels is not None:
        advice = f"give it at most {MOST_OUTPUTS} outputs, or one slope for all of them"
        raise ModelError.layer(node.name, f"'{node.activation.name}' of {outputs} outputs with a slope each", advice)
    parts: list[Part] = []
    for group, (first, last) in enumerate(groups):
        name = node.name if len(groups) == 1 else f"{node.name}-outputs{group + 1}"
        sums = []
        for index, part in enumerate(sources):
            rows: NDArray[np.float32] = np.where(
                (part.indices == MISSING)[:, None], np.float32(0.0), kernel[part.indices, first:last]
            )
            weights = {"kernel": rows, "bias": bias[first:last] * np.float32(index == 0)}
            is_single = len(sources) == 1
            part_name = name if is_single else f"{name}-part{index + 1}"
            attrs = _ending(node) if is_single else {"activation": "linear"}
            yield Node(part_name, "dense", (part.name,), attrs, weights)
            sums.append(part_name)
        if len(sums) > 1:
            yield from _sum(node, name, sums)
        parts.append(Part(name, np.arange(first, last)))
    if len(parts) == 1:
        return
    if outputs <= LONGEST:
        yield Node(node.name, "vector_concat", tuple(part.name for part in parts))
    else:
        parts_of[node.name] = tuple(parts)


def _ending(node: Node) -> dict[str, Any]:
    """Return the attributes of the last replacement of a dense layer."""
    return {key: node.attrs[key] for key in ("activation", "fused") if key in node.attrs}


def _sum(node: Node, name: str, addends: Sequence[str]) -> Iterator[Node]:
    """Yield the activated sum of vectors, in several steps if there are more than one draw can read."""
    remaining, step = list(addends), 0
    while len(remaining) > MAX_TEXTURES:
        step += 1
        totals = []
        for first in range(0, len(remaining), MAX_TEXTURES):
            total_name = f"{name}-total{step}.{first // MAX_TEXTURES + 1}"
            terms = tuple(remaining[first : first + MAX_TEXTURES])
            yield Node(total_name, "vector_sum", terms, {"activation": "linear"})
            totals.append(total_name)
        remaining = totals
    yield Node(name, "vector_sum", tuple(remaining), _ending(node))


def _groups(graph: Graph, node: Node, outputs: int) -> list[tuple[int, int]]:
    """Return the (first, last) output of each group; if maps read them, groups are whole pixels and texels."""
    unit = 2
    for reader in graph.consumers[node.name]:
        if ops.get(reader.op).on_parts == "map":
            unit = math.lcm(unit, graph.shapes[reader.name][2])
    count = -(-outputs // MOST_OUTPUTS)
    size = -(-outputs // count)
    size = min(-(-size // unit) * unit, max(MOST_OUTPUTS // unit * unit, unit))
    if size > MOST_OUTPUTS and outputs > MOST_OUTPUTS:
        size = MOST_OUTPUTS
    return [(first, min(first + size, outputs)) for first in range(0, outputs, size)]


def _each_part(graph: Graph, node: Node, parts_of: dict[str, tuple[Part, ...]]) -> Iterator[Node]:
    """Yield an elementwise operator for each part, if all inputs have the same parts."""
    inputs = [_parts(graph, name, parts_of) for name in node.inputs]
    indices = [[part.indices.tolist() for part in parts] for parts in inputs]
    if any(input_indices != indices[0] for input_indices in indices) or node.activation.channels is not None:
        advice = f"at most {LONGEST} values are supported here"
        raise ModelError.layer(node.name, f"{with_article(node.op)} of {graph.shapes[node.name][0]} values", advice)
    parts: list[Part] = []
    for index, input_parts in enumerate(zip(*inputs)):
        name = f"{node.name}-part{index + 1}"
        yield replace(node, name=name, inputs=tuple(part.name for part in input_parts))
        parts.append(Part(name, input_parts[0].indices))
    parts_of[node.name] = tuple(parts)


def _output(graph: Graph, output: GraphOutput, parts_of: dict[str, tuple[Part, ...]]) -> GraphOutput:
    """Return an output in terms of the parts, which the CPU concatenates."""
    if not any(layer in parts_of for layer in output.layers):
        return output
    layers = tuple(
        part.name for layer in output.layers for part in _parts_in_order(graph, layer, graph.by_name[layer], parts_of)
    )
    concatenates = bool(output.steps) and output.steps[0].step == CONCATENATE
    steps = output.steps if concatenates else (HostStep(CONCATENATE), *output.steps)
    return replace(output, layers=layers, steps=steps)


def maps_of_vectors(graph: Graph) -> Graph:
    """Write reshapes to a map as ``vector_map``, and move the activation of a dense layer before them into the map.

    If the activation of the 16-bit values is a sigmoid, it then implies the range of the 8-bit map.
    """
    without_activation: dict[str, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        rank = len(graph.shapes[node.inputs[0]]) if node.inputs else 0
        if not ops.get(node.op).only_reshapes or len(graph.shapes[node.name]) != 3 or rank not in (1, 3):
            nodes.append(node)  # Tensors of other ranks are computed on the CPU, and so is their reshape to a map.
            continue
        producer = graph.by_name[node.inputs[0]]
        attrs = {"shape": graph.shapes[node.name], "activation": "linear"}
        if len(graph.shapes[producer.name]) != 1:
            flattened = Node(f"{node.name}-flat", "flatten", node.inputs, {"scale": None})
            nodes += [flattened, Node(node.name, "vector_map", (flattened.name,), attrs)]
            continue
        is_only_reader = len(graph.consumers[producer.name]) == 1 and producer.name not in graph.output_layers
        if is_only_reader and "activation" in producer.attrs and producer.activation.channels is None:
            attrs["activation"] = producer.attrs["activation"]
            without_activation[producer.name] = producer.with_attrs(activation="linear")
        nodes.append(Node(node.name, "vector_map", node.inputs, attrs))
    return graph.rebuilt([without_activation.get(node.name, node) for node in nodes])

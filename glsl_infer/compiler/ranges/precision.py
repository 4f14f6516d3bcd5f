"""Bits of each feature map, 8 or 16.

A map of 16 bits has the range of the same map in 8 bits and 256 times its steps. It is written by two draws for each
slice and read by two fetches for each texel (``lowering.sixteen_bit``). ``assign`` accepts any choice of bits: by a
rule, by the user or by a search.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from glsl_infer import ops
from glsl_infer.compiler.gutters import gutters
from glsl_infer.compiler.ranges.constraints import mixed_precision_joins, shown_by
from glsl_infer.errors import InputError, together
from glsl_infer.graph import Graph, Node, host_steps
from glsl_infer.graph.purposes import IMAGE, MASK
from glsl_infer.lowering.sixteen_bit import ONE_DRAW
from glsl_infer.ops.operator import CopyOperator
from glsl_infer.support.near_names import choices, did_you_mean

PRECISIONS = AUTO, EIGHT, SIXTEEN = ("auto", "8", "16")
"""Choices of ``precision``: ``auto``, or 8 or 16 bits for all maps.

``auto`` stores outputs of plain values, and their inputs, in 16 bits. With calibration images, it adds the maps with
the largest gain for their time (``sensitivity``).
"""

BITS = (8, 16)

BY_RULE, BEFORE, BY_NAME, WITH_OTHERS = "an output of numbers", "read by one", "asked for", "joined with one"
FROM_FILE = "as the file of ranges says"
"""Reasons why a map has 16 bits: the rule, the user's choice, concatenation with such a map, or a file of ranges."""

PER_NUMBER = 8
"""Operations for each value of a layer without a kernel."""

MOST_ADDED = 0.1
"""Largest share of a network's work added by 16 bits, for the inputs of the last layers to have them as well.

``added`` is an estimate. Mesa's vc4 compiler needed up to half as much again.
"""


@dataclass(frozen=True)
class PrecisionChoice:
    """A feature map in 16 bits; one line of the export report.

    Attributes:
        layer: its name.
        why: ``BY_RULE``, ``BEFORE``, ``BY_NAME``, ``WITH_OTHERS`` or ``FROM_FILE``, or the reason of a search.
        added: estimated additional work, as a share of the network's work in 8 bits.
    """

    layer: str
    why: str
    added: float = 0.0


def choose(
    graph: Graph, precision: str, precision_for: Mapping[str, int], numbers: Collection[str] | None = None
) -> dict[str, PrecisionChoice | None]:
    """Return the choice for each layer in 16 bits, and None for layers requested in 8.

    Args:
        graph: a graph with ranges.
        precision: one of ``PRECISIONS``.
        precision_for: 8 or 16 for single layers by name, which override ``precision``.
        numbers: layers of outputs to which ``auto`` applies; default: all.

    Raises:
        InputError: an unknown precision, or a layer without support for its bits.
    """
    for value in (precision, *map(str, precision_for.values())):
        if value not in (PRECISIONS if value == precision else (EIGHT, SIXTEEN)):
            raise InputError(f"precision '{value}'; choose one of {', '.join(PRECISIONS)}")
    possible = possible_layers(graph)
    problems = [
        InputError(f"layer '{name}' cannot be stored in 16 bits: {_why_not(graph, graph.by_name[name])}")
        for name, bits in precision_for.items()
        if bits == 16 and name not in possible
    ]
    if problems:
        raise together(problems)
    chosen: dict[str, PrecisionChoice | None] = {}
    if precision == AUTO:
        chosen = {name: PrecisionChoice(name, why) for name, why in _of_numbers(graph, possible, numbers).items()}
    elif precision == SIXTEEN:
        chosen = {name: PrecisionChoice(name, BY_NAME) for name in possible}
    for name, bits in precision_for.items():
        chosen[name] = PrecisionChoice(name, BY_NAME) if bits == 16 else None
    return chosen


def stored(
    graph: Graph, sixteen: Collection[str], precision_for: Mapping[str, int]
) -> dict[str, PrecisionChoice | None]:
    """Return the choice for layers stored in 16 bits before; the user's choice ``precision_for`` has priority."""
    possible = possible_layers(graph)
    before = {name: PrecisionChoice(name, FROM_FILE) for name in sixteen if name in possible}
    return {**before, **choose(graph, EIGHT, precision_for)}


def assign(graph: Graph, chosen: Mapping[str, PrecisionChoice | None]) -> tuple[Graph, tuple[PrecisionChoice, ...]]:
    """Set ``bits`` of every layer as chosen.

    Layers that copy, or pool in their input's range, have the bits of the input. Concatenated layers have the same
    bits: 16 if all of them support it. If such a map is padded, its layers also need one zero point.

    Args:
        graph: a graph with ranges.
        chosen: see ``choose``; layers without an entry have 8 bits.

    Returns:
        The graph, and a choice for each layer of 16 bits.
    """
    possible, fixed = possible_layers(graph), dict(chosen)
    while True:
        bits = _bits(graph, fixed)
        mixed = next((node for node in graph.nodes if _joins(node) and len({bits[i] for i in node.inputs}) > 1), None)
        if mixed is None:
            apart = mixed_precision_joins(graph, bits)
            if apart is None:
                break
            fixed.update(dict.fromkeys(_with_wider_inputs(graph, _makers(graph, apart), bits)))
            continue
        makers = list(dict.fromkeys(maker for name in mixed.inputs for maker in _makers(graph, name)))
        rises = all(maker in possible and fixed.get(maker, "") is not None for maker in makers)
        if rises:
            fixed.update({maker: fixed.get(maker) or PrecisionChoice(maker, WITH_OTHERS) for maker in makers})
        else:
            fixed.update(dict.fromkeys(_with_wider_inputs(graph, makers, bits)))
    nodes, choices = [], []
    whole = work(graph)
    for node in graph.nodes:
        has_bits = "bits" in node.operator.attrs
        nodes.append(node.with_attrs(bits=bits[node.name]) if has_bits else node)
        if has_bits and bits[node.name] == 16:
            choice = fixed.get(node.name) or PrecisionChoice(node.name, WITH_OTHERS)
            choices.append(replace(choice, added=added(graph, node) / whole))
    return graph.rebuilt(nodes), tuple(choices)


def joined_layers(graph: Graph) -> dict[str, frozenset[str]]:
    """Return for each layer the group of layers concatenated with it, including itself. A group has the same bits."""
    groups = {node.name: frozenset([node.name]) for node in graph.nodes}
    for node in graph.nodes:
        if _joins(node):
            group = frozenset().union(*(groups[maker] for name in node.inputs for maker in _makers(graph, name)))
            groups.update(dict.fromkeys(group, group))
    return groups


def followers(graph: Graph, name: str) -> list[Node]:
    """Return, in order, the layers such as pools that have a layer's range and therefore its bits."""
    same, result = {name}, []
    for node in graph.nodes:
        operator = ops.get(node.op)
        if same & {*node.inputs} and operator.keeps_range and len(graph.shapes[node.name]) == 3:
            same.add(node.name)
            result += [] if isinstance(operator, CopyOperator) else [node]
    return result


def possible_layers(graph: Graph) -> dict[str, Node]:
    """Return the layers with support for 16 bits, by name, in order."""
    around, images = gutters(graph), shown_by(graph)
    return {
        node.name: node
        for node in graph.nodes
        if _stores(graph, node)
        and node.name not in images
        and not (around[node.name] and node.attrs["zeros"] is not None and len({*node.attrs["zeros"]}) > 1)
    }


def require_known(graph: Graph, names: Mapping[str, int]) -> None:
    """Refuse names, unless they are layers of an optimised graph with a choice of bits.

    Raises:
        InputError: with all wrong names and all layers with a choice.
    """
    there = [node.name for node in graph.nodes if _stores(graph, node)]
    unknown = [name for name in names if name not in there]
    if unknown:
        wrong = ", ".join(f"'{name}'" for name in unknown)
        meant = did_you_mean(unknown[0], there)
        raise InputError(f"no layer {wrong} has a precision to choose{meant}; there are: {choices(there)}")


def _stores(graph: Graph, node: Node) -> bool:
    """Return whether a node computes a feature map with a choice of bits."""
    operator = ops.get(node.op)
    return "bits" in operator.attrs and len(graph.shapes[node.name]) == 3 and not isinstance(operator, CopyOperator)


def _why_not(graph: Graph, node: Node) -> str:
    if node.name in shown_by(graph):
        return "it is an image, of which runners show 8; give --purpose OUTPUT=values"
    if _stores(graph, node):
        return "its channels have several zero points, and a reader pads it"
    return "it copies what others store, or stores no feature map in a range"


def _bits(graph: Graph, chosen: Mapping[str, PrecisionChoice | None]) -> dict[str, int]:
    bits: dict[str, int] = {}
    for node in graph.nodes:
        operator = ops.get(node.op)
        is_finer = chosen.get(node.name) is not None and not isinstance(operator, CopyOperator)
        # In the range of a map in 16 bits, which has headroom, steps of 8 bits would be coarse.
        in_input_range = operator.keeps_range and len(graph.shapes[node.name]) == 3
        bits[node.name] = 16 if is_finer or (in_input_range and any(bits[name] == 16 for name in node.inputs)) else 8
    return bits


def _joins(node: Node) -> bool:
    return isinstance(node.operator, CopyOperator) and len(node.inputs) > 1


def _makers(graph: Graph, name: str) -> Iterator[str]:
    """Yield the layers from which a value is copied."""
    node = graph.by_name[name]
    if isinstance(node.operator, CopyOperator):
        for source in node.inputs:
            yield from _makers(graph, source)
    else:
        yield name


def _with_wider_inputs(graph: Graph, layers: Iterable[str], bits: Mapping[str, int]) -> Iterator[str]:
    """Yield the layers, and those in 16 bits whose range they have, because 8 bits need the range of 8 bits."""
    for name in layers:
        yield name
        node = graph.by_name[name]
        if ops.get(node.op).keeps_range and node.inputs:
            makers = [maker for source in node.inputs for maker in _makers(graph, source)]
            yield from _with_wider_inputs(graph, [maker for maker in makers if bits[maker] == 16], bits)


def _of_numbers(graph: Graph, possible: Mapping[str, Node], numbers: Collection[str] | None) -> dict[str, str]:
    """Return the reason for 16 bits by layer: outputs of plain values, and their inputs that add little work.

    An output is plain values unless it is an image or a mask, or host steps turn it into probabilities or a class. Then
    every step is significant. Bytes of a sigmoid are probabilities as well.
    """
    ends: dict[str, None] = {}
    for output in graph.outputs:
        kinds = {step.step for step in output.steps}
        if graph.purpose(output) in (IMAGE, MASK) or kinds & {*host_steps.PROBABLE, host_steps.ARGMAX}:
            continue
        for layer in output.layers if numbers is None else [layer for layer in output.layers if layer in numbers]:
            for maker in _makers(graph, layer):
                if maker in possible and not _is_probable(graph.by_name[maker]):
                    ends[maker] = None
    whole = work(graph)
    left = MOST_ADDED * whole - sum(added(graph, graph.by_name[end]) for end in ends)
    before: dict[str, None] = {}
    for end in ends:
        for name in graph.by_name[end].inputs:
            makers = [maker for maker in _makers(graph, name) if maker not in ends and maker not in before]
            if not all(maker in possible for maker in makers):  # for example vectors, which always have 16 bits
                continue
            more = sum(added(graph, graph.by_name[maker]) for maker in makers)
            if more <= left:
                left -= more
                before.update(dict.fromkeys(makers))
    return {name: BY_RULE if name in ends else BEFORE for name in possible if name in ends or name in before}


def _is_probable(node: Node) -> bool:
    """Return whether a layer's function has a fixed range without clipping, as a sigmoid has."""
    return node.activation.bounded and not node.activation.clips


def work(graph: Graph, nodes: Iterable[Node] | None = None) -> float:
    """Return the estimated operations of some layers, or of all."""
    return sum(_work(graph, node) for node in (graph.nodes if nodes is None else nodes))


def _work(graph: Graph, node: Node) -> float:
    """Return the estimated operations of a layer: products, and some for each fetch and each stored value."""
    shape = graph.shapes[node.name]
    stored = math.prod(shape)
    kernel = node.weights.get("kernel")
    if kernel is None or len(shape) != 3:
        return float(stored * PER_NUMBER)
    each = math.prod(kernel.shape[:3])
    return float(shape[0] * shape[1] * shape[2] * (each + 3 + each / 4))


def added(graph: Graph, node: Node) -> float:
    """Return the estimated additional operations of a layer in 16 bits: it is drawn twice, and read by two fetches.

    The shares were read off the output of Mesa's vc4 compiler.
    """
    height, width, _ = graph.shapes[node.name]
    readers = sum(_work(graph, reader) * 0.5 for reader in graph.consumers[node.name])
    kernel = node.weights.get("kernel")
    if kernel is None or kernel.ndim != 4:  # not a convolution
        own = 2.5
    elif kernel.shape[2] == 1:  # a fetch for each product, so both draws can share little else
        own = 6.0 if height * width <= ONE_DRAW else 1.4
    else:
        own = 1.0
    return _work(graph, node) * own + readers

"""Compiles a network that may not be exportable, without pictures, to find all that stops it.

The stages of the compiler stop at the first layer that they cannot do. Here an input takes that layer's place, and they
begin again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.delegate.choose import cpu_layers
from glsl_infer.compiler.ranges import eight_bits, inputs, prepare
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.network import VALUES
from glsl_infer.graph.reference import Inputs

ASSUMED = (-1.0, 1.0)
"""Lowest and highest value of layers that only pictures could tell."""

_BYTES = {"scales": (2.0,), "zeros": (128.0,)}
_SPAN = dict(zip(("low", "high"), ASSUMED))


@dataclass(frozen=True)
class Trial:
    """What became of a network.

    Attributes:
        graph: optimised.
        problems: one for each layer that nothing can do, in the order in which they were met.
        on_cpu: the nodes that the CPU computes.
        unranged: what an export without typical pictures or numbers would say of layers whose ranges they tell.
    """

    graph: Graph
    problems: tuple[ModelError, ...]
    on_cpu: frozenset[str]
    unranged: tuple[ModelError, ...]


def compile_on_trial(
    graph: Graph,
    *,
    layout: str = "atlas",
    samples: Sequence[Inputs] = (),
    percentile: float = 100.0,
    guessed: Collection[str] = (),
    delegate: bool = False,
) -> Trial:
    """Optimise, range and lower an imported graph as ``build`` does, as far as it goes.

    Args:
        graph: from an importer.
        layout: see ``lower.to_program``.
        samples: see ``prepare``; without any, open ranges are assumed.
        percentile: see ``prepare``.
        guessed: inputs that stand for layers of which it is known already that they cannot be done.
        delegate: whether the CPU computes what no shader can, as ``compiler.delegate`` does.

    Raises:
        ModelError: the graph cannot even be optimised.
    """
    small, problems = optimize.optimize(graph), list[ModelError]()
    on_cpu = set(cpu_layers(small)) if delegate else set[str]()
    current = _without(small, on_cpu)
    guesses, samples = {*guessed, *on_cpu}, () if on_cpu else samples
    while current is not None:
        try:
            ranged = current if samples else _with_ranges(current)
            assumed = None if samples else ASSUMED
            prepared = prepare(ranged, samples, percentile=percentile, layout=layout, assumed=assumed)
            lower.to_program(prepared.graph, layout=layout, memory="naive")
        except ModelError as error:
            name = _node_of(current, error)
            if name in guesses:  # the end of the network, which an input cannot be
                break
            known = name is not None and not current.by_name[name].operator.is_input
            if known and delegate and error.refused:
                on_cpu.add(str(name))
            else:
                problems.append(error)
            if not known:
                break
            guesses.add(str(name))
            current, samples = _without(current, {str(name)}), ()  # samples know nothing of the new input
        else:
            break
    return Trial(small, tuple(problems), frozenset(on_cpu), _unranged(small))


def _unranged(graph: Graph) -> tuple[ModelError, ...]:
    layers = eight_bits.open_refusal(graph)
    return (*map(inputs.open_refusal, inputs.open_inputs(graph)), *(() if layers is None else (layers,)))


def _with_ranges(graph: Graph) -> Graph:
    """Give inputs of numbers a range."""
    known = {
        node.name: node.with_attrs(**(_BYTES if "scales" in node.attrs else _SPAN))
        for node in inputs.open_inputs(graph)
    }
    return graph.rebuilt([known.get(node.name, node) for node in graph.nodes])


def _node_of(graph: Graph, error: ModelError) -> str | None:
    """Return the node that an error is about: a prepared graph may have made several of it."""
    name = error.name or ""
    while name and name not in graph.by_name:
        name = name.rpartition("-")[0]
    return name or None


def _without(graph: Graph, names: Collection[str]) -> Graph | None:
    """Put inputs in the place of nodes; leave out what no texture holds, and what reads it. None: nothing is left."""
    gone: set[str] = set()
    nodes = []
    for node in graph.nodes:
        shape = graph.shapes[node.name]
        if node.name in names and len(shape) in (1, 3):
            kind, attrs = ("input_fixed", _SPAN) if len(shape) == 1 else ("input", {"fit": None, **_BYTES})
            nodes.append(Node(node.name, kind, (), {"shape": shape, **attrs}))
        elif node.name in names or gone & set(node.inputs):
            gone.add(node.name)
        else:
            nodes.append(node)
    outputs = [output for output in graph.outputs if not gone & set(output.layers)]
    if gone:  # what stood before the gap is to be drawn all the same
        read = {name for node in nodes for name in node.inputs} | {name for end in outputs for name in end.layers}
        ends = [node.name for node in nodes if node.name not in read and not node.operator.is_input]
        outputs += [GraphOutput(f"before:{name}", (name,), (), VALUES) for name in ends]
    return Graph(graph.name, nodes, outputs) if outputs else None

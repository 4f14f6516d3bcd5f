"""Compiles a network that may not be exportable, without pictures, to find all that stops it.

The stages of the compiler stop at the first layer that they cannot do. Here an input takes that layer's place, and they
begin again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.delegate.build import gpu_graph
from glsl_infer.compiler.place import place
from glsl_infer.compiler.ranges import eight_bits, inputs, prepare
from glsl_infer.compiler.sharing import NAIVE
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs

ASSUMED = (-1.0, 1.0)
"""Lowest and highest value of layers that only pictures could tell."""

_BYTES = {"scales": (2.0,), "zeros": (128.0,)}
_SPAN = dict(zip(("low", "high"), ASSUMED))


@dataclass(frozen=True)
class Trial:
    """What became of a network.

    Attributes:
        graph: optimised, with an input in place of each layer that cannot be done.
        problems: one for each such layer, in the order in which they were met.
        on_cpu: layers of it that the CPU computes, because no shader can.
        unranged: what an export without typical pictures or numbers would say of layers whose ranges they tell.
    """

    graph: Graph
    problems: tuple[ModelError, ...]
    unranged: tuple[ModelError, ...]
    on_cpu: frozenset[str] = frozenset()


def compile_on_trial(
    graph: Graph,
    *,
    layout: str = "atlas",
    samples: Sequence[Inputs] = (),
    percentile: float = 100.0,
    guessed: Collection[str] = (),
    delegate: bool = True,
) -> Trial:
    """Optimise, range and lower an imported graph as ``build`` does, as far as it goes.

    Args:
        graph: from an importer.
        layout: see ``lower.to_program``.
        samples: see ``prepare``; without any, open ranges are assumed.
        percentile: see ``prepare``.
        guessed: inputs that stand for layers of which it is known already that they cannot be done.
        delegate: whether the CPU may compute what no shader can.

    Raises:
        ModelError: the graph cannot even be optimised.
    """
    small = optimize.optimize(graph)
    refused: set[str] = set()
    while True:
        parts = place(small, refused, delegate=delegate)
        on_cpu = {name for part in parts if part.on_cpu for name in part.nodes}
        gpu = [part for part in parts if not part.on_cpu]
        wholes = [gpu_graph(small, part, {}, calibrated=True) for part in gpu] if on_cpu else [small]
        problems = [
            problem
            for whole in wholes
            for problem in _problems(whole, () if on_cpu else samples, percentile, layout, guessed)
        ]
        more = {problem.refused for problem in problems if problem.refused in small.by_name} - on_cpu
        if not delegate or not more:
            return Trial(small, tuple(problems), _unranged(small), frozenset(on_cpu))
        refused.update(name for name in more if name is not None)


def _problems(
    small: Graph, samples: Sequence[Inputs], percentile: float, layout: str, guessed: Collection[str]
) -> list[ModelError]:
    """Return all that stops a network, or a part of it for the GPU."""
    problems = list[ModelError]()
    guesses, current = set(guessed), small if samples else _with_ranges(small)
    while True:
        try:
            assumed = None if samples else ASSUMED
            prepared = prepare(current, samples, percentile=percentile, layout=layout, assumed=assumed)
            lower.to_program(prepared.graph, layout=layout, memory=NAIVE)
        except ModelError as error:
            name = _node_of(current, error)
            if name in guesses:  # the end of the network, which an input cannot be
                break
            problems.append(error)
            if name is None or current.by_name[name].operator.is_input:
                break
            if len(current.shapes[name]) not in (1, 3):  # which no input has: what is behind it stays unknown
                break
            guesses.add(name)
            current, samples = _with_ranges(_cut(current, name)), ()  # samples know nothing of the new input
        else:
            break
    return problems


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


def _cut(graph: Graph, name: str) -> Graph:
    """Put an input in the place of a node."""
    shape = graph.shapes[name]
    kind, attrs = ("input_fixed", _SPAN) if len(shape) == 1 else ("input", {"fit": None, **_BYTES})
    given = Node(name, kind, (), {"shape": shape, **attrs})
    return graph.rebuilt([given if node.name == name else node for node in graph.nodes])

"""Dry run of the compiler without calibration images, to find all problems of a network.

The stages of the compiler stop at the first unsupported layer. The dry run replaces this layer by an input and begins
again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.delegate.build import gpu_graph
from glsl_infer.compiler.place import place
from glsl_infer.compiler.ranges import Calibration, eight_bits, inputs, prepare
from glsl_infer.compiler.sharing import NAIVE
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering.target import Target

ASSUMED = (-1.0, 1.0)
"""Assumed lowest and highest value of layers whose ranges require calibration images."""

_BYTES = {"scales": (2.0,), "zeros": (128.0,)}
_SPAN = dict(zip(("low", "high"), ASSUMED))


@dataclass(frozen=True)
class Trial:
    """Result of a dry run.

    Attributes:
        graph: the optimised graph.
        problems: an error for each unsupported layer, in the order of the search.
        unranged: errors of an export without calibration images or input ranges, for the inputs and layers concerned.
        on_cpu: layers without a shader, which the CPU computes.
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
    """Optimise, range and lower an imported graph as ``build`` does, and collect its problems.

    Args:
        graph: a graph from an importer.
        layout: see ``lower.to_program``.
        samples: calibration images, see ``prepare``; without any, open ranges are assumed.
        percentile: see ``prepare``.
        guessed: inputs that replace layers already known to be unsupported.
        delegate: whether the CPU may compute layers without a shader.

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
    """Return all problems of a network, or of a GPU part."""
    problems = list[ModelError]()
    guesses, current = set(guessed), small if samples else _with_ranges(small)
    while True:
        try:
            assumed = None if samples else ASSUMED
            prepared = prepare(
                current, Calibration(samples, percentile=percentile, assumed=assumed), target=Target(layout=layout)
            )
            lower.to_program(prepared.graph, layout=layout, memory=NAIVE)
        except ModelError as error:
            name = _node_of(current, error)
            if name in guesses:  # It is the end of the network, which an input cannot replace.
                break
            problems.append(error)
            if name is None or current.by_name[name].operator.is_input:
                break
            if len(current.shapes[name]) not in (1, 3):  # no input has this rank, so later layers stay unchecked
                break
            guesses.add(name)
            current, samples = _with_ranges(_cut(current, name)), ()  # The samples have no values for the new input.
        else:
            break
    return problems


def _unranged(graph: Graph) -> tuple[ModelError, ...]:
    layers = eight_bits.open_refusal(graph)
    return (*map(inputs.open_refusal, inputs.open_inputs(graph)), *(() if layers is None else (layers,)))


def _with_ranges(graph: Graph) -> Graph:
    """Give a range to inputs without a declared one."""
    known = {
        node.name: node.with_attrs(**(_BYTES if "scales" in node.attrs else _SPAN))
        for node in inputs.open_inputs(graph)
    }
    return graph.rebuilt([known.get(node.name, node) for node in graph.nodes])


def _node_of(graph: Graph, error: ModelError) -> str | None:
    """Return the node of an error; a prepared graph may have split it into several nodes."""
    name = error.name or ""
    while name and name not in graph.by_name:
        name = name.rpartition("-")[0]
    return name or None


def _cut(graph: Graph, name: str) -> Graph:
    """Replace a node by an input."""
    shape = graph.shapes[name]
    kind, attrs = ("input_fixed", _SPAN) if len(shape) == 1 else ("input", {"fit": None, **_BYTES})
    given = Node(name, kind, (), {"shape": shape, **attrs})
    return graph.rebuilt([given if node.name == name else node for node in graph.nodes])

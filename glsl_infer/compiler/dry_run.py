"""Dry run of the compiler without calibration images, to find all problems of a network.

The stages of the compiler stop at the first unsupported layer. The dry run replaces this layer by an input and begins
again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from glsl_infer.compiler import lower
from glsl_infer.compiler.delegate.build import gpu_graph
from glsl_infer.compiler.place import place
from glsl_infer.compiler.ranges import Calibration, eight_bits, inputs, prepare
from glsl_infer.compiler.sharing import NAIVE
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.target import Target
from glsl_infer.program.layout import TEXTURE_RANKS

ASSUMED = (-1.0, 1.0)
"""Assumed lowest and highest value of layers whose ranges require calibration images."""

_BYTES = {"scales": (2.0,), "zeros": (128.0,)}
_SPAN = dict(zip(("low", "high"), ASSUMED))


@dataclass(frozen=True)
class DryRun:
    """Result of a dry run.

    Attributes:
        problems: an error for each unsupported layer, in the order of the search.
        unranged: errors of an export without calibration images or input ranges, for the inputs and layers concerned.
        on_cpu: layers without a shader, which the CPU computes.
    """

    problems: tuple[ModelError, ...]
    unranged: tuple[ModelError, ...]
    on_cpu: frozenset[str] = frozenset()


def dry_run(
    graph: Graph,
    target: Target | None = None,
    calibration: Calibration | None = None,
    *,
    placeholders: Collection[str] = (),
    delegate: bool = True,
) -> DryRun:
    """Place, range and lower an optimised graph as ``build`` does, and collect its problems.

    Args:
        graph: an optimised graph.
        target: options of code generation; default: ``Target()``. Weights and memory are not planned.
        calibration: calibration images; without any, open ranges are assumed.
        placeholders: inputs that replace layers already known to be unsupported.
        delegate: whether the CPU may compute layers without a shader.
    """
    target = Target(layout=(target or Target()).layout, memory=NAIVE)
    calibration = calibration or Calibration()
    refused: set[str] = set()
    while True:
        parts = place(graph, refused, delegate=delegate)
        on_cpu = {name for part in parts if part.on_cpu for name in part.nodes}
        gpu = [part for part in parts if not part.on_cpu]
        graphs = [gpu_graph(graph, part, {}, calibrated=True) for part in gpu] if on_cpu else [graph]
        images = Calibration(() if on_cpu else calibration.images, percentile=calibration.percentile)
        problems = [problem for part in graphs for problem in _problems(part, target, images, placeholders)]
        newly_refused = {problem.refused for problem in problems if problem.refused in graph.by_name} - on_cpu
        if not delegate or not newly_refused:
            return DryRun(tuple(problems), _unranged(graph), frozenset(on_cpu))
        refused.update(name for name in newly_refused if name is not None)


def _problems(
    graph: Graph, target: Target, calibration: Calibration, placeholders: Collection[str]
) -> list[ModelError]:
    """Return all problems of a network, or of a GPU part."""
    problems = list[ModelError]()
    inputs_added = set(placeholders)
    while True:
        try:
            if not calibration.images:
                graph, calibration = assume_input_ranges(graph), replace(calibration, assumed=ASSUMED)
            lower.require_lowerable(prepare(graph, calibration, target=target).graph, target)
        except ModelError as error:
            name = _node_of(graph, error)
            if name in inputs_added:  # It is the end of the network, which an input cannot replace.
                break
            problems.append(error)
            if name is None or graph.by_name[name].operator.is_input:
                break
            if len(graph.shapes[name]) not in TEXTURE_RANKS:  # no input has it, so later layers stay unchecked
                break
            inputs_added.add(name)
            graph = _with_placeholder(graph, name)
            calibration = replace(calibration, images=())  # The images have no values for the new input.
        else:
            break
    return problems


def _unranged(graph: Graph) -> tuple[ModelError, ...]:
    layers = eight_bits.open_refusal(graph)
    return (*map(inputs.open_refusal, inputs.open_inputs(graph)), *(() if layers is None else (layers,)))


def assume_input_ranges(graph: Graph) -> Graph:
    """Return the graph with the range ``ASSUMED`` for inputs without a declared one."""
    replaced = {
        node.name: node.with_attrs(**(_BYTES if "scales" in node.attrs else _SPAN))
        for node in inputs.open_inputs(graph)
    }
    return graph.rebuilt([replaced.get(node.name, node) for node in graph.nodes])


def _node_of(graph: Graph, error: ModelError) -> str | None:
    """Return the node of an error; a prepared graph may have split it into several nodes."""
    name = error.name or ""
    while name and name not in graph.by_name:
        name = name.rpartition("-")[0]
    return name or None


def _with_placeholder(graph: Graph, name: str) -> Graph:
    """Replace a node by an input."""
    shape = graph.shapes[name]
    op, attrs = ("input_fixed", _SPAN) if len(shape) == 1 else ("input", {"fit": None, **_BYTES})
    placeholder = Node(name, op, (), {"shape": shape, **attrs})
    return graph.rebuilt([placeholder if node.name == name else node for node in graph.nodes])

"""Compilation of a graph to a bundle of one GPU program, or of GPU and CPU parts if some layers have no shader."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.parts import CpuPart
from glsl_infer.compiler import build as gpu
from glsl_infer.compiler import optimize
from glsl_infer.compiler.assemble import parts_to_bundle
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import crossing
from glsl_infer.compiler.place import Part, anchored, described, makes, move_to_cpu, named_layers, place, reads
from glsl_infer.compiler.ranges import PreparedGraph, precision
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, GraphOutput
from glsl_infer.graph.purposes import VALUES
from glsl_infer.graph.reference import Inputs
from glsl_infer.program import CompiledNetwork
from glsl_infer.program.layout import FeatureMap, Range
from glsl_infer.support.progress import ProgressCallback, no_progress


@dataclass(frozen=True)
class BuiltPart:
    """A GPU part: its bundle, its program, its graph with ranges, and its calibration inputs."""

    bundle: Bundle
    program: CompiledNetwork
    prepared: PreparedGraph
    images: Sequence[Inputs]


@dataclass(frozen=True)
class Built:
    """Result of compiling a graph.

    Attributes:
        bundle: bundle of the entire network.
        gpu: the GPU parts in order; for a bundle without parts, the entire network.
        graph: the optimised graph, in which constants read an input if there are parts.
        parts: all parts in order; none if the GPU computes everything.
    """

    bundle: Bundle
    gpu: tuple[BuiltPart, ...]
    graph: Graph
    parts: tuple[Part, ...] = ()


def build(
    graph: Graph,
    labels: Sequence[str],
    *,
    options: Options | None = None,
    calibration: Sequence[Inputs] = (),
    progress: ProgressCallback = no_progress,
) -> Built:
    """Optimise an imported graph, and compile it as ``from_optimized`` does."""
    return from_optimized(optimize.optimize(graph), labels, options=options, calibration=calibration, progress=progress)


def from_optimized(
    graph: Graph,
    labels: Sequence[str],
    *,
    options: Options | None = None,
    calibration: Sequence[Inputs] = (),
    progress: ProgressCallback = no_progress,
) -> Built:
    """Turn an optimised graph into a bundle in memory; layers without a shader run on the CPU if the options allow it.

    Args:
        graph: an optimised graph.
        labels: as for ``compiler.build.build``.
        options: options of the export; default: ``Options()``.
        calibration: calibration images, as for ``compiler.build.build``.
        progress: called with a progress message at every step.

    Raises:
        ModelError: an unsupported layer, by name.
        InputError: labels or options do not fit the network.
    """
    options = options or Options()
    precision.require_known(graph, options.precision_for)
    chosen = set(named_layers(graph, options.delegate_for))
    while True:
        try:
            parts = place(graph, chosen, delegate=options.delegate)
            if not any(part.on_cpu for part in parts):
                result = gpu.from_optimized(graph, labels, options=options, calibration=calibration, progress=progress)
                return Built(result[0], (BuiltPart(*result, calibration),), graph)
            return _in_parts(graph, parts, labels, options, calibration, progress)
        except ModelError as refusal:
            layer = graph.by_name.get(refusal.refused or "")
            if not options.delegate or layer is None or layer.operator.is_input or layer.name in chosen:
                raise
            chosen.add(layer.name)


def _in_parts(
    graph: Graph,
    parts: tuple[Part, ...],
    labels: Sequence[str],
    options: Options,
    calibration: Sequence[Inputs],
    progress: ProgressCallback,
) -> Built:
    """Compile the parts in order, and assemble their bundle; for the arguments see ``from_optimized``."""
    graph = anchored(graph)
    _require_gpu_part(graph, parts, options)
    cpu_nodes = {name for part in parts if part.on_cpu for name in part.nodes}
    uploaded = {name for part in parts for name in reads(graph, part) if not part.on_cpu}
    images = crossing.values_of(graph, uploaded, calibration)
    stored_ranges: dict[str, Range] = {}
    bundles: list[Bundle | CpuPart] = []
    gpu_parts: list[BuiltPart] = []
    for index, part in enumerate(parts):
        if part.on_cpu:
            nodes = tuple(move_to_cpu(graph.by_name[name]) for name in part.nodes)
            bundles.append(CpuPart(reads(graph, part), makes(graph, part), nodes))
            continue

        def report(step: str, index: int = index) -> None:
            progress(f"part {index + 1} of {len(parts)}: {step}")

        part_graph = gpu_graph(graph, part, stored_ranges, calibrated=bool(calibration))
        input_names = [node.name for node in part_graph.inputs]
        part_images = [{name: image[name] for name in input_names} for image in images]
        final_values = [name for name in makes(graph, part) if not _comes_back(graph, name, part.nodes, cpu_nodes)]
        optimized = optimize.optimize(part_graph)  # again, because the ends of a part can be host steps
        bundle, program, prepared = gpu.from_optimized(
            optimized, (), options=options, calibration=part_images, progress=report, numbers=final_values
        )
        gpu_parts.append(BuiltPart(bundle, program, prepared, part_images))
        bundles.append(bundle)
        stored_ranges.update(_stored_ranges(bundle))
    return Built(parts_to_bundle(graph, labels, bundles), tuple(gpu_parts), graph, parts)


def _require_gpu_part(graph: Graph, parts: Sequence[Part], options: Options) -> None:
    """Refuse a network that the CPU computes alone, and limits of a search that need the entire network on the GPU.

    Raises:
        ModelError: the GPU would compute nothing.
        InputError: the options have a tolerance or a budget.
    """
    if all(part.on_cpu for part in parts):
        layers = described(graph, set(graph.by_name) - {node.name for node in graph.inputs})
        raise ModelError(
            f"model '{graph.name}' has no layer that shaders compute: {layers}; give a model with a convolution, a "
            "pooling or a Dense layer of a vector, or run this one in its own framework, because the GPU would compute "
            "nothing"
        )
    if options.tolerance is not None or options.budget is not None:
        raise InputError(
            f"--tolerance and --budget need a model that runs entirely on the GPU, but the CPU computes a part of "
            f"'{graph.name}'; use --precision-for LAYER=16"
        )


def _comes_back(graph: Graph, name: str, part: Collection[str], on_cpu: Collection[str]) -> bool:
    """Return whether another GPU part reads a tensor, directly or through CPU nodes: it is then uploaded in 8 bits."""
    return any(
        _comes_back(graph, node.name, (), on_cpu) if node.name in on_cpu else node.name not in part
        for node in graph.consumers[name]
    )


def gpu_graph(graph: Graph, part: Part, stored_ranges: dict[str, Range], *, calibrated: bool) -> Graph:
    """Return a GPU part as a graph of its own, with the tensors for other parts as outputs.

    Args:
        graph: the entire graph.
        part: a GPU part.
        stored_ranges: ranges of maps stored by earlier GPU parts; see ``crossing.input_node``.
        calibrated: whether there are calibration images to learn ranges from.

    Raises:
        ModelError: the range of an input is unknown and cannot be learnt.
    """
    inputs = [crossing.input_node(graph, name, stored_ranges, calibrated=calibrated) for name in reads(graph, part)]
    unread = [name for name in part.nodes if not graph.consumers[name]]  # In a dry run, a refused layer follows.
    outputs = [GraphOutput(name, (name,), (), VALUES) for name in makes(graph, part) or unread]
    return Graph(graph.name, (*inputs, *(graph.by_name[name] for name in part.nodes)), outputs)


def _stored_ranges(bundle: Bundle) -> dict[str, Range]:
    """Return the ranges of a part's outputs suitable for an uploaded texture with a gutter: maps with one zero point.

    Ranges of maps in 16 bits are left out, because they are too wide for the 8 bits of an upload.
    """
    ranges = {}
    for output in bundle.manifest.outputs:
        value = output.values[0]
        if not output.steps and isinstance(value, FeatureMap) and len(value.zeros) == 1:
            ranges[output.name] = value.range
    return ranges

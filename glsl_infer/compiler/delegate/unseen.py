"""Error of a built network on calibration images that its ranges have not seen, from its inputs to its outputs."""

from __future__ import annotations

from collections.abc import Sequence

from glsl_infer.compiler.delegate.build import Built
from glsl_infer.compiler.ranges.unseen import OnGpu, Runs, Store, of_graph, outputs_of
from glsl_infer.graph import Array, reference
from glsl_infer.graph.picture import input_values
from glsl_infer.graph.reference import Inputs


def runs_of(built: Built, images: Sequence[Inputs]) -> Runs:
    """Return the runs of the float network of ``built`` for calibration images, of which there is at least one."""
    first = built.gpu[0].prepared
    if not built.parts and first.runs is not None:
        return first.runs
    folds = max((len(part.prepared.folds) for part in built.gpu), default=0)
    clipped = [max(of_image) for of_image in zip(*(part.prepared.clipped for part in built.gpu))]
    return of_graph(built.graph, images, folds, clipped).with_clipped()


class BuiltNetwork:
    """The GPU parts of a built network as their graphs, and the CPU layers between them."""

    def __init__(self, built: Built) -> None:
        self._built = built
        self._on_gpu = [OnGpu(part.program.graph, part.prepared.folds) for part in built.gpu]

    def run(self, image: Inputs, fold: int | None, store: Store) -> dict[str, Array]:
        """Return the outputs of the network by name."""
        if not self._built.parts:
            return self._on_gpu[0].run(image, fold, store)
        graph = self._built.graph
        inputs = dict(reference.by_name(graph, image))
        values: dict[str, Array] = {node.name: input_values(node, inputs[node.name]) for node in graph.inputs}
        on_gpu = iter(self._on_gpu)
        for part in self._built.parts:
            if part.on_cpu:
                for name in part.nodes:
                    node = graph.by_name[name]
                    values[name] = reference.layer(node, [values[source] for source in node.inputs], stored=False)
            else:
                gpu_part = next(on_gpu)
                part_inputs = {node.name: inputs.get(node.name, values[node.name]) for node in gpu_part.graph.inputs}
                values.update(gpu_part.run(part_inputs, fold, store))
        return outputs_of(graph, values)

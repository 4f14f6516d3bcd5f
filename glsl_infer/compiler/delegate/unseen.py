"""Error of a network in parts on calibration images that its ranges have not seen, from its inputs to its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glsl_infer.compiler.delegate.build import Built
from glsl_infer.compiler.ranges import precision
from glsl_infer.compiler.ranges.unseen_error import UnseenError
from glsl_infer.compiler.ranges.unseen_runs import (
    Change,
    OnGpu,
    Runs,
    Store,
    as_it_is,
    in_sixteen_bits,
    outputs_of,
    run,
)
from glsl_infer.graph import Array, Graph, reference
from glsl_infer.graph.picture import input_values
from glsl_infer.graph.reference import Inputs


def measure(built: Built, images: Sequence[Inputs]) -> UnseenError:
    """Measure a network in parts; see ``ranges.unseen_runs.measure``.

    Args:
        built: the network.
        images: the calibration images, at least one.
    """
    drawn = [part.program.graph for part in built.gpu]
    floats = [part.prepared.graph for part in built.gpu]
    folds = {len(part.prepared.folds) for part in built.gpu if part.prepared.folds}
    work = sum(map(precision.work, floats))

    def changes() -> Iterator[Change]:
        yield Change("--weights uniform", _Parts(built, floats))
        finer = list(map(in_sixteen_bits, floats))
        if any(more for _, more in finer):
            added = sum(more for _, more in finer)
            yield Change("--precision 16", _Parts(built, [graph for graph, _ in finer]), work=1.0 + added / work)

    runs = Runs(
        built.graph,
        lambda image: outputs_of(built.graph, run(built.graph, image, as_it_is)),
        images,
        max(folds, default=0),
    )
    return runs.measure(_Parts(built, drawn), changes)


class _Parts:
    """The GPU parts of a network as their graphs, and the CPU layers between them."""

    def __init__(self, built: Built, graphs: Sequence[Graph]) -> None:
        self._built = built
        self._on_gpu = [OnGpu(graph, part.prepared.folds) for graph, part in zip(graphs, built.gpu)]
        self.ends = {name: ends for part in self._on_gpu for name, ends in part.ends.items()}

    def run(self, image: Inputs, fold: int | None, store: Store) -> dict[str, Array]:
        """Return the outputs of the network by name."""
        graph = self._built.graph
        inputs = dict(reference.by_name(graph, image))
        values: dict[str, Array] = {node.name: input_values(node, inputs[node.name]) for node in graph.inputs}
        on_gpu = iter(self._on_gpu)
        for part in self._built.parts:
            if part.on_cpu:
                for name in part.nodes:
                    node = graph.by_name[name]
                    values[name] = reference.layer(node, [values[read] for read in node.inputs], stored=False)
            else:
                inner = next(on_gpu)
                read = {node.name: inputs.get(node.name, values[node.name]) for node in inner.graph.inputs}
                values.update(inner.run(read, fold, store))
        return outputs_of(graph, values)

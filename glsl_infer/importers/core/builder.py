"""The graph under construction in an importer: nodes with unique names, their shapes, and the unsupported layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from glsl_infer import ops
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, GraphOutput, Node, Shape
from glsl_infer.graph.purposes import VALUES
from glsl_infer.importers.core import limits
from glsl_infer.importers.core.io_options import IoOptions, with_io_options
from glsl_infer.importers.core.output_tail import with_host_steps_marked, with_steps
from glsl_infer.importers.core.patterns import fused
from glsl_infer.importers.core.report import DROPPED, ImportReport, LayerStatus, guess, runs


class GraphBuilder:
    """The nodes so far, in topological order, with unique names and shapes, and the unsupported layers.

    Attributes:
        rows: report row of each layer, by name.
        refusals: errors of the unsupported layers.
        guessed: names of the placeholder inputs for unsupported layers.
        unknown: names of unsupported layers without a placeholder, and of all layers after them.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.shapes: dict[str, Shape] = {}
        self.rows: dict[str, LayerStatus] = {}
        self.refusals: list[ModelError] = []
        self.guessed: set[str] = set()
        self.unknown: set[str] = set()
        self._used_names: set[str] = set()
        self._last_suffix: dict[str, int] = {}
        self._weights = limits.Weights("the model")

    def free_name(self, plain_name: str) -> str:
        """Reserve and return a name, with the suffix ``~1``, ``~2`` ... if it is in use: layers may be reused."""
        name = plain_name
        while name in self._used_names:
            self._last_suffix[plain_name] = self._last_suffix.get(plain_name, 0) + 1
            name = f"{plain_name}~{self._last_suffix[plain_name]}"
        self._used_names.add(name)
        return name

    def refuse(self, refusal: ModelError, name: str, inputs: tuple[str, ...], shape: Sequence[int | None]) -> str:
        """Record an unsupported layer, and continue with a placeholder of the shape in the file."""
        self.refusals.append(refusal)
        return self.placeholder(name, shape)

    def placeholder(self, name: str, shape: Sequence[int | None]) -> str:
        """Add an input as the placeholder for an output of an unsupported layer; return its name."""
        sizes = tuple(size for size in shape if size is not None)
        attrs = guess(sizes) if len(sizes) == len(shape) else None
        if attrs is None:
            self.unknown.add(name)
        else:
            self.nodes.append(Node(name, "input" if len(sizes) == 3 else "input_fixed", (), attrs))
            self.guessed.add(name)
            self.shapes[name] = sizes
        return name

    def refused(self, *more: ModelError) -> ModelError:
        """Return one error with the messages of all refusals."""
        return ModelError("\n  ".join(str(refusal) for refusal in (*self.refusals, *more)))

    def add(self, nodes: Sequence[Node]) -> str:
        """Add the nodes of one layer; return the name of the last. The name of the first is already reserved."""
        for original in nodes:
            limits.check_finite(original.name, original.weights)
            self._weights.add(sum(array.nbytes for array in original.weights.values()), original.name)
        before, renamed = len(self.nodes), {nodes[0].name: nodes[0].name}
        try:
            for original in nodes:
                name = renamed[original.name] = renamed.get(original.name) or self.free_name(original.name)
                node = replace(original, name=name, inputs=tuple(renamed.get(read, read) for read in original.inputs))
                # The shapes are computed here, because a Keras model inside another may have only None as its sizes.
                self.shapes[name] = ops.get(node.op).shape(node, [self.shapes[read] for read in node.inputs])
                self.nodes.append(node)
        except ModelError:
            del self.nodes[before:]  # a placeholder may replace the entire layer
            raise
        return renamed[nodes[-1].name]

    def report(
        self,
        name: str,
        nodes: Sequence[tuple[str, str]],
        options: Callable[[Graph], IoOptions],
        *,
        shapes: Mapping[str, Shape] | None = None,
        problems: Sequence[InputError] = (),
        complete: bool = True,
        warnings: Sequence[str] = (),
    ) -> ImportReport:
        """Return the import report of the graph under construction.

        Args:
            name: of the model.
            nodes: (name, node) of each output, as far as they are known.
            options: returns the options for the inputs and outputs of the graph.
            shapes: (rows, columns) of results that a node stores as a map of one row.
            problems: in addition to the refusals.
            complete: whether ``nodes`` has all outputs.
            warnings: parts of the file that were ignored.
        """
        known_outputs = [(output, node) for output, node in nodes if node not in self.unknown]
        outputs = [with_steps(output, node, self.nodes, self.shapes, shapes) for output, node in known_outputs]
        output_nodes = [node for _, node in known_outputs]
        rows = dict(zip(self.rows, with_host_steps_marked(self.rows, self.nodes, output_nodes, outputs)))
        all_problems = [*self.refusals, *problems]
        if len(known_outputs) < len(nodes) or not complete:  # the nodes before an unknown tensor can still be inspected
            graph_nodes = self.nodes
            outputs += self._unread_nodes(outputs)
        else:
            graph_nodes = needed(self.nodes, outputs)
        graph = None
        try:
            graph = fused(Graph(name, graph_nodes, outputs)) if outputs else None
            rows = rows if graph is None else _with_fusions(rows, graph_nodes, graph)
            if graph is not None and not all_problems:
                _require_inputs_read(graph)
            graph = with_io_options(graph, options(graph)) if graph is not None else None
        except InputError as error:
            all_problems.append(error)
        return ImportReport(tuple(rows.values()), graph, frozenset(self.guessed), tuple(all_problems), tuple(warnings))

    def _unread_nodes(self, outputs: Sequence[GraphOutput]) -> list[GraphOutput]:
        """Return an output for each node that neither another node nor an output reads, except placeholders."""
        read = {source for node in self.nodes for source in node.inputs}
        read |= {layer for output in outputs for layer in output.layers} | self.guessed
        unread = [node.name for node in self.nodes if node.name not in read]
        return [GraphOutput(f"before:{layer}", (layer,), (), VALUES) for layer in unread]


def _with_fusions(rows: Mapping[str, LayerStatus], nodes: Sequence[Node], graph: Graph) -> dict[str, LayerStatus]:
    """Return the rows of a report, with the operators of the graph in which decomposed functions are fused.

    Args:
        rows: by the layer's name, which its first node has.
        nodes: before the fusion, layer by layer.
        graph: after it.
    """
    layers: dict[str, str] = {}
    for node in nodes:
        layers[node.name] = node.name if node.name in rows or not layers else layers[next(reversed(layers))]
    before = {node.name: node for node in nodes}
    nodes_of_layer: dict[str, list[Node]] = {layer: [] for layer in layers.values()}
    for node in graph.nodes:
        nodes_of_layer[layers[node.name if node.name in layers else node.name.rpartition("~")[0]]].append(node)
    result = dict(rows)
    for layer, remaining in nodes_of_layer.items():
        fused_nodes = [node for node in remaining if node.name in before and node.inputs != before[node.name].inputs]
        if layer in rows and fused_nodes:
            operators = tuple(node.op for node in remaining)
            note = f"{fused_nodes[-1].attrs.get('function', fused_nodes[-1].op)} in pieces"
            result[layer] = replace(rows[layer], runs=runs(operators), operators=operators, note=note)
        elif layer in rows and not remaining:
            result[layer] = replace(rows[layer], runs=DROPPED, operators=(), note="a piece of a later operator")
    return result


def needed(nodes: Sequence[Node], outputs: Sequence[GraphOutput]) -> list[Node]:
    """Return the nodes needed for the outputs, and all inputs."""
    read, result = {layer for output in outputs for layer in output.layers}, list[Node]()
    for node in reversed(nodes):
        if node.name in read or node.operator.is_input:
            read.update(node.inputs)
            result.append(node)
    return result[::-1]


def _require_inputs_read(graph: Graph) -> None:
    unread = [node.name for node in graph.inputs if not graph.consumers[node.name]]
    if unread and not set(unread) & set(graph.output_layers):
        raise ModelError.layer(unread[0], "an input that no output depends on", "build the model without it")

"""A network as data: nodes with their inputs, and the inferred shapes.

A graph defines the computation without textures, shaders or limits of a GPU. An importer creates one,
``optimize`` simplifies it, and ``lowering`` turns the result into passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from types import MappingProxyType

from glsl_infer.errors import ModelError
from glsl_infer.graph import host_steps
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.node import Node, Shape
from glsl_infer.graph.purposes import CLASSES, IMAGE, MASK, VALUES


@dataclass(frozen=True)
class GraphOutput:
    """An output of a network.

    Attributes:
        name: unique among the outputs.
        layers: names of the nodes whose values the first host step reads.
        steps: host steps, which reduce these values to one array.
        purpose: one of ``PURPOSES``; None to derive it from the shape and the steps (``Graph.purpose``).
    """

    name: str
    layers: tuple[str, ...]
    steps: tuple[HostStep, ...] = ()
    purpose: str | None = None


@dataclass(frozen=True, init=False)
class Graph:
    """Nodes in topological order, and the outputs.

    Attributes missing in a node get the defaults of its operator.

    Args:
        name: name of the model.
        nodes: each after its inputs.
        outputs: the outputs, or the name of the only output node.

    Raises:
        ModelError: a name is missing or not unique, an operator is unknown, or shapes, weights and host steps do not
            fit together.
    """

    name: str
    nodes: tuple[Node, ...]
    outputs: tuple[GraphOutput, ...]

    def __init__(self, name: str, nodes: Iterable[Node], outputs: Sequence[GraphOutput] | str) -> None:
        output_tuple = (GraphOutput(outputs, (outputs,)),) if isinstance(outputs, str) else tuple(outputs)
        for field, value in {
            "name": name,
            "nodes": tuple(node.complete() for node in nodes),
            "outputs": output_tuple,
        }.items():
            object.__setattr__(self, field, value)
        earlier: set[str] = set()
        for node in self.nodes:
            if node.name in earlier:
                raise ModelError.layer(node.name, "the name is used twice", "give every layer its own name")
            missing = [name for name in node.inputs if name not in earlier]
            if missing:
                raise ModelError.layer(
                    node.name, f"reads {missing}, which no earlier layer computes", "check the order"
                )
            earlier.add(node.name)
        self._check_outputs()

    def _check_outputs(self) -> None:
        """Refuse missing or duplicate outputs, and host steps unfit for their layers."""
        names = [output.name for output in self.outputs]
        if not names or len(set(names)) != len(names):
            raise ModelError(f"model '{self.name}' has the outputs {names}; give at least one, each with its own name")
        for output in self.outputs:
            missing = [layer for layer in output.layers if layer not in self.by_name]
            if missing or not output.layers:
                raise ModelError(f"model '{self.name}': no layer is named '{(*missing, '')[0]}', the output")
            try:
                self.shape_of(output)
            except ValueError as error:
                raise ModelError(f"model '{self.name}', output '{output.name}': {error}") from None

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """Nodes by name."""
        return MappingProxyType({node.name: node for node in self.nodes})

    @cached_property
    def shapes(self) -> Mapping[str, Shape]:
        """Output shape of every node, inferred in order."""
        shapes: dict[str, Shape] = {}
        for node in self.nodes:
            shapes[node.name] = node.shape([shapes[name] for name in node.inputs])
        return MappingProxyType(shapes)

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Node, ...]]:
        """Readers of each node's output; a node with the same input twice is listed twice."""
        readers: dict[str, list[Node]] = {node.name: [] for node in self.nodes}
        for node in self.nodes:
            for name in node.inputs:
                readers[name].append(node)
        return MappingProxyType({name: tuple(reading) for name, reading in readers.items()})

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """Input nodes, for images and for arrays, in order."""
        return tuple(node for node in self.nodes if node.operator.is_input)

    @property
    def input(self) -> Node:
        """The only input node.

        Raises:
            ModelError: the model has several inputs, or none.
        """
        if len(self.inputs) != 1:
            raise ModelError(f"model '{self.name}' has {len(self.inputs)} inputs; this needs a model with exactly one")
        return self.inputs[0]

    @cached_property
    def output_layers(self) -> tuple[str, ...]:
        """Names of the nodes read by the outputs, without duplicates."""
        return tuple(dict.fromkeys(layer for output in self.outputs for layer in output.layers))

    @property
    def output(self) -> str:
        """Name of the only output node.

        Raises:
            ModelError: the model has several output nodes.
        """
        if len(self.outputs) != 1 or len(self.outputs[0].layers) != 1:
            raise ModelError(f"model '{self.name}' ends in {len(self.output_layers)} layers; this needs exactly one")
        return self.outputs[0].layers[0]

    def shape_of(self, output: GraphOutput) -> Shape:
        """Return the shape of an output after its host steps.

        Raises:
            ValueError: the steps do not fit the layers' shapes.
        """
        return host_steps.shape_of(output.steps, [self.shapes[layer] for layer in output.layers])

    def purpose(self, output: GraphOutput) -> str:
        """Return the purpose of an output: the declared one, or one derived from its shape and its steps.

        A single output is for classes if it is a vector, and an image if it is a map without host steps. Among several
        outputs, the only vector with a softmax at its end is for classes. An argmax over the channels of a map makes a
        mask.
        """
        if output.purpose is not None:
            return output.purpose
        shape, last = self.shape_of(output), output.steps[-1].step if output.steps else ""
        if len(shape) == 2 and last == host_steps.ARGMAX:
            return MASK
        if len(self.outputs) == 1 and len(shape) == 1 and last != host_steps.NORMALIZE:
            return CLASSES
        if len(self.outputs) == 1 and not output.steps and len(shape) == 3:
            return IMAGE
        return CLASSES if self._softmax_vectors == (output.name,) else VALUES

    @cached_property
    def _softmax_vectors(self) -> tuple[str, ...]:
        """Names of the vector outputs with a softmax as their last step."""
        return tuple(
            output.name
            for output in self.outputs
            if len(self.shape_of(output)) == 1 and output.steps and output.steps[-1].step == host_steps.SOFTMAX
        )

    def rebuilt(self, nodes: Iterable[Node], renamed: Mapping[str, str] | None = None) -> Graph:
        """Return a graph of other nodes. Inputs and outputs follow ``renamed``, from old names to new ones."""
        renamed = renamed or {}

        def follow(name: str) -> str:
            while name in renamed:
                name = renamed[name]
            return name

        def with_new_inputs(node: Node) -> Node:
            reads_renamed = any(name in renamed for name in node.inputs)
            return replace(node, inputs=tuple(follow(name) for name in node.inputs)) if reads_renamed else node

        new_nodes = [with_new_inputs(node) for node in nodes]
        if not renamed and len(new_nodes) == len(self.nodes) and all(map(is_, new_nodes, self.nodes)):
            return self  # with its shapes, which take longest
        return Graph(self.name, new_nodes, self.outputs_renamed(follow))

    def outputs_renamed(self, follow: Callable[[str], str]) -> tuple[GraphOutput, ...]:
        """Return the outputs with the names of their layers mapped by ``follow``."""
        return tuple(replace(output, layers=tuple(follow(layer) for layer in output.layers)) for output in self.outputs)

    def __str__(self) -> str:
        lines = [f"{self.name} -> {', '.join(output.name for output in self.outputs)}"]
        for node in self.nodes:
            shape = "x".join(map(str, self.shapes[node.name]))
            attrs = " ".join(f"{key}={value}" for key, value in node.attrs.items())
            lines.append(f"  {node.name:24} {node.op:20} {shape:>12}  {', '.join(node.inputs)}  {attrs}".rstrip())
        return "\n".join(lines)

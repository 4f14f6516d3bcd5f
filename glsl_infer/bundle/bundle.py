"""The bundle file, ``.glslnn``: a zip with manifest.json, passes.bin, graph.json, shaders/*, weights/* and labels.txt.

docs/reference/bundle-format.md specifies it. GLSL is the only code in a bundle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Union

import numpy as np

from glsl_infer.bundle.container import parse
from glsl_infer.bundle.manifest import CLASSES, Manifest, Output
from glsl_infer.bundle.manifest_check import GRAPH, LABELS
from glsl_infer.bundle.rules import named, one_line
from glsl_infer.errors import BundleError, InputError, ModelError
from glsl_infer.program.layout import Value
from glsl_infer.program.texels import shape_of
from glsl_infer.support.records import dataclass

# Imports for graph.json and bundles of parts are made when these are read, to keep other starts fast.
if TYPE_CHECKING:
    from glsl_infer.bundle.network import Layer, Network
    from glsl_infer.bundle.parts import CpuPart
    from glsl_infer.graph import Graph, Node


@dataclass(frozen=True)
class Bundle:
    """A bundle in memory: its manifest and the bytes of every member but manifest.json.

    Attributes:
        path: the file of the bundle.
        digest: sha256 of the file's manifest.json, which has the hash of every member; None for a bundle made in
            memory.
        nested: the parts of a bundle of several parts, whose manifest has inputs, outputs and limits, and neither
            textures nor passes. Empty for a bundle that is one part for the GPU: use ``parts``.
    """

    manifest: Manifest
    members: Mapping[str, bytes]
    path: Path | None = None
    digest: str | None = None
    nested: tuple[Union[Bundle, CpuPart], ...] = ()

    def _compared(self) -> tuple[object, ...]:
        """Return everything but the digest."""
        return self.manifest, self.members, self.path, self.nested

    def __eq__(self, other: object) -> bool:
        return self._compared() == other._compared() if isinstance(other, Bundle) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._compared())

    @property
    def parts(self) -> tuple[Union[Bundle, CpuPart], ...]:
        """The parts in the order in which they run: a bundle for each GPU part, and the CPU parts."""
        return self.nested or (self,)

    @property
    def gpu_parts(self) -> tuple[Bundle, ...]:
        """The parts for the GPU."""
        return tuple(part for part in self.parts if isinstance(part, Bundle))

    @property
    def cpu_operators(self) -> tuple[str, ...]:
        """The names of the operators of CPU parts, each once."""
        names = [name for part in self.nested if not isinstance(part, Bundle) for name in part.operators]
        return tuple(dict.fromkeys(names))

    @property
    def custom_operators(self) -> tuple[str, ...]:
        """The names of the functions of custom operators."""
        nodes = [node for part in self.nested if not isinstance(part, Bundle) for node in part.nodes]
        return tuple(dict.fromkeys(str(node.attrs["calls"]) for node in nodes if "calls" in node.attrs))

    def require_one_part(self, feature: str) -> None:
        """Refuse a bundle of several parts; ``feature`` needs a model that the GPU computes alone.

        Raises:
            InputError: the bundle has several parts; names the operators of its CPU parts.
        """
        if self.nested:
            raise InputError(
                f"{self.path or self.manifest.name} runs in {len(self.nested)} parts, some of them on the CPU "
                f"({', '.join(self.cpu_operators)}); {feature} needs a model that the GPU computes alone"
            )

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The lines of labels.txt, verbatim."""
        return split_labels(self.members[LABELS].decode("utf-8"))

    @cached_property
    def network(self) -> Network:
        """The layers and their meaning, from graph.json.

        Raises:
            BundleError: it does not follow the format, or contradicts the manifest.
        """
        from glsl_infer.bundle import network as network_member

        self.require_one_part("graph.json")
        try:
            network = network_member.from_json(parse(self.members[GRAPH], GRAPH))
            network_member.check(network, self.manifest, {name: len(data) for name, data in self.members.items()})
        except BundleError as error:
            raise BundleError(f"{self.path or 'bundle'}: {one_line(error)}{named(error.rule)}", error.rule) from None
        return network

    @cached_property
    def graph(self) -> Graph:
        """The network for the reference, with the weights as the shaders use them.

        Raises:
            BundleError: layers and weights do not fit together.
        """
        from glsl_infer.graph import Graph, GraphOutput

        if self.nested:
            return self._graph_of_parts()

        network = self.network
        try:
            with np.errstate(all="ignore"):  # invalid values become an error or an infinity, never a warning
                nodes = [self._node(layer) for layer in network.layers]
            outputs = tuple(
                GraphOutput(output.name, output.layers, output.steps, entry.purpose)
                for output, entry in zip(network.outputs, self.manifest.outputs)
            )
            graph = Graph(self.manifest.name, tuple(nodes), outputs)
            for name, shape in graph.shapes.items():
                if shape_of(self.values[name]) != shape:
                    raise ValueError(f"the output of layer '{name}' is {shape}, not {shape_of(self.values[name])}")
            return graph
        except (
            ModelError,
            LookupError,
            ValueError,
            TypeError,
            AttributeError,
            ArithmeticError,
            MemoryError,
            RuntimeError,
        ) as error:
            raise BundleError(
                f"{self.path or 'bundle'}: its layers do not fit together ({one_line(error)})", "graph"
            ) from error

    def _graph_of_parts(self) -> Graph:
        from glsl_infer.bundle.parts import graph_of

        try:
            graph = graph_of(self)
            _ = graph.shapes
        except (ModelError, LookupError, ValueError, TypeError, RuntimeError) as error:
            raise BundleError(
                f"{self.path or 'bundle'}: its parts do not fit together ({one_line(error)})", "parts"
            ) from error
        return graph

    @cached_property
    def values(self) -> dict[str, Value]:
        """Location of each layer's output in the textures of its part, by layer name."""
        if self.nested:
            return {name: value for part in self.gpu_parts for name, value in part.values.items()}
        return {layer.name: layer.output for layer in self.network.layers}

    def _node(self, layer: Layer) -> Node:
        from dataclasses import replace

        from glsl_infer.graph import Node

        node = Node(layer.name, layer.op, layer.inputs, layer.attrs)
        if not node.activation.fits(shape_of(layer.output)[-1]):
            raise ValueError(f"layer '{layer.name}' has an activation for other channels than its own")
        members = [self.members[name] for name in layer.members]
        inputs = [self.values[name] for name in layer.inputs]
        return replace(node, weights=node.operator.read_weights(node, layer.weights, members, inputs))


def split_labels(text: str) -> tuple[str, ...]:
    """Return the lines of a labels file. Lines end only with a line feed (or CR LF), optional after the last line."""
    lines = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
    return tuple(lines[:-1] if lines and not lines[-1] else lines)


def classes_of(outputs: Sequence[Output]) -> int:
    """Return the number of labels of a model with these outputs: 0 without an output for classes."""
    return next((output.shape[0] for output in outputs if output.purpose == CLASSES), 0)

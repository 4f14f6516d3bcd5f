"""The memory planner compared with Table 3 of Lee et al., "On-Device Neural Net Inference with Mobile GPUs" (2019).

There the intermediate tensors are slices of four channels in 16-bit floats. Convolutions include their batch norm and
activation, and additions are separate layers, as in TensorFlow Lite. Input and result are not counted.
"""

from __future__ import annotations

from functools import cache
from math import prod

import keras
import pytest

from glsl_infer.compiler import memory
from glsl_infer.compiler.optimize import STEPS, fuse_residual
from glsl_infer.importers.keras import to_graph
from glsl_infer.program.layout import slices_of

NETWORKS = {"v1": keras.applications.MobileNet, "v2": keras.applications.MobileNetV2}
MIB = 2**20

Tensors = tuple[list[int], list[tuple[int, int]]]


@cache
def tensors(network: str) -> Tensors:
    """Return the bytes and lifetimes of the intermediate tensors of a network for 224 x 224 pixels."""
    graph = to_graph(NETWORKS[network](weights=None, classifier_activation=None), (-1.0, 1.0))
    for step in STEPS:
        graph = graph if step is fuse_residual else step(graph)
    order = {node.name: index for index, node in enumerate(graph.nodes)}
    inner = [node.name for node in graph.nodes if node.op != "input" and node.name != graph.output]
    sizes = [8 * prod(graph.shapes[name][:-1]) * slices_of(graph.shapes[name][-1]) for name in inner]
    return sizes, [(order[name], max(order[reader.name] for reader in graph.consumers[name])) for name in inner]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "network, method, published",
    [("v1", "naive", 9.6), ("v1", "greedy", 2.3), ("v2", "naive", 13.2), ("v2", "greedy", 4.0)],
)
def test_naive_and_greedy_are_the_published_ones(network: str, method: str, published: float) -> None:
    total = memory.plan(*tensors(network), method).total
    assert round(total / MIB, 1) == published


def test_by_size_has_the_published_memory_of_mobilenet_v2() -> None:
    """From Pisarchyk and Lee, 2020, not from the table."""
    assert round(memory.plan(*tensors("v2"), "by-size").total / MIB, 2) == 3.49

"""Files of ranges: what calibration found makes the same network again, and no other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node

from glsl_infer.compiler import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.compiler.ranges.stored import StoredRanges, fingerprint, learnt
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.tools import ranges_file

PICTURES = [np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8) for seed in range(3)]


def network(seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    body = [input_node(8)]
    for index, function in enumerate(("relu", "linear", "relu(6)", "sigmoid")):
        source, channels = (body[-1].name, 3 if index == 0 else 5)
        body.append(conv_node(rng, f"conv{index}", (source,), channels, 5, activation=function))
    return optimize.optimize(classifier(rng, body, 5))


def calibrated(graph: Graph) -> StoredRanges:
    return StoredRanges(graph.name, fingerprint(graph), learnt([prepare(graph, PICTURES)]))


def written(folder: Path, stored: StoredRanges) -> Path:
    ranges_file.write(stored, folder / "ranges.json")
    return folder / "ranges.json"


def attributes(nodes: tuple[Node, ...]) -> list[dict[str, object]]:
    return [dict(node.attrs) for node in nodes]


@pytest.mark.parametrize("precision", ["8", "auto", "16"])
def test_they_are_those_of_the_pictures(tmp_path: Path, precision: str) -> None:
    graph = network()
    read = ranges_file.read(written(tmp_path, calibrated(graph)))
    assert set(read.known.maps) == {"conv0", "conv1", "conv2"}
    again = prepare(graph, known_ranges=read.of(graph, "file"), precision=precision)
    assert attributes(again.graph.nodes) == attributes(prepare(graph, PICTURES, precision=precision).graph.nodes)
    assert {choice.by for choice in again.ranges} <= {"ranges", "function", "maximum"}


def test_of_another_network_they_are_refused(tmp_path: Path) -> None:
    stored = calibrated(network())
    with pytest.raises(InputError, match=r"r.json: ranges of another network, 'test'; of 'test' its layers or weights"):
        stored.of(network(1), "r.json")
    other = optimize.optimize(
        classifier(
            np.random.default_rng(0), [input_node(8), conv_node(np.random.default_rng(0), "a", ("image",), 3, 5)], 5
        )
    )
    with pytest.raises(InputError, match="it has no 'conv0', 'conv1', 'conv2'; give the model"):
        stored.of(other, "r.json")


def test_all_layers_without_a_range_are_named(tmp_path: Path) -> None:
    graph = network()
    path = written(tmp_path, calibrated(graph))
    data = json.loads(path.read_text("utf-8"))
    for name in ("conv0", "conv1"):
        del data["maps"][name]
    path.write_text(json.dumps(data), "utf-8")
    read = ranges_file.read(path)
    with pytest.raises(InputError, match="no range for 'conv0', 'conv1'; give pictures with --calibrate DIR, too"):
        read.of(graph, "r.json")
    prepare(graph, PICTURES, known_ranges=read.of(graph, "r.json", calibrated=True))


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("maps", [], "'maps' is no object"),
        ("maps", {"a": {"scales": [1.0]}}, "'a' has no lists of numbers"),
        ("maps", {"a": {"scales": [0.0], "zeros": [0]}}, "'a' has a scale that is not above 0"),
        ("fine", {"a": {"scales": [1.0], "zeros": [0.5]}}, "'a' has a zero point that is no whole number"),
        ("scales", {"a": 3.0}, "the scale of 'a' is no power of two"),
        ("model", 1, "'model' is no text"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, key: str, value: object, what: str) -> None:
    path = written(tmp_path, calibrated(network()))
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), key: value}), "utf-8")
    with pytest.raises(InputError, match=f"damaged: {what}.*give the .json file that 'glsl-infer calibrate' wrote"):
        ranges_file.read(path)

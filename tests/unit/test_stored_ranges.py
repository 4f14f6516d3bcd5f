"""Range files: stored calibration results reproduce the same network, and fit no other."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node

from glsl_infer import importers
from glsl_infer.compiler import optimize
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.compiler.delegate.build import BuiltPart
from glsl_infer.compiler.ranges import Calibration, Precision, prepare
from glsl_infer.compiler.ranges.precision import PrecisionChoice
from glsl_infer.compiler.ranges.request import KnownRanges
from glsl_infer.compiler.ranges.stored import StoredRanges, fingerprint, learnt
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.tools import ranges_file
from glsl_infer.tools.get import catalogue, exporting

PICTURES = [np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8) for seed in range(3)]


def network(seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    body = [input_node(8)]
    for index, function in enumerate(("relu", "linear", "relu(6)", "sigmoid")):
        source, channels = (body[-1].name, 3 if index == 0 else 5)
        body.append(conv_node(rng, f"conv{index}", (source,), channels, 5, activation=function))
    return optimize.optimize(classifier(rng, body, 5))


def calibrated(graph: Graph) -> StoredRanges:
    return StoredRanges(graph.name, fingerprint(graph), learnt([prepare(graph, Calibration(PICTURES))]))


def write_ranges(folder: Path, stored: StoredRanges) -> Path:
    ranges_file.write(stored, folder / "ranges.json")
    return folder / "ranges.json"


def attributes(nodes: tuple[Node, ...]) -> list[dict[str, object]]:
    return [dict(node.attrs) for node in nodes]


@pytest.mark.parametrize("precision", ["8", "auto", "16"])
def test_stored_ranges_equal_those_of_the_images(tmp_path: Path, precision: str) -> None:
    graph = network()
    read = ranges_file.read(write_ranges(tmp_path, calibrated(graph)))
    assert set(read.known.maps) == {"conv0", "conv1", "conv2"}
    reproduced = prepare(graph, Calibration(known=read.of(graph, "file")), precision=Precision(precision))
    assert attributes(reproduced.graph.nodes) == attributes(
        prepare(graph, Calibration(PICTURES), precision=Precision(precision)).graph.nodes
    )
    assert {choice.by for choice in reproduced.ranges} <= {"ranges", "function", "maximum"}


def test_an_unwritable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file/r\.json"):
        ranges_file.write(calibrated(network()), tmp_path / "file/r.json")


def test_ranges_of_another_network_are_refused(tmp_path: Path) -> None:
    stored = calibrated(network())
    with pytest.raises(InputError, match="'test'"):
        stored.of(network(1), "r.json")
    other = optimize.optimize(
        classifier(
            np.random.default_rng(0), [input_node(8), conv_node(np.random.default_rng(0), "a", ("image",), 3, 5)], 5
        )
    )
    with pytest.raises(InputError, match="'conv0'"):
        stored.of(other, "r.json")


def test_all_layers_without_a_range_are_named(tmp_path: Path) -> None:
    graph = network()
    path = write_ranges(tmp_path, calibrated(graph))
    data = json.loads(path.read_text("utf-8"))
    for name in ("conv0", "conv1"):
        del data["maps"][name]
    path.write_text(json.dumps(data), "utf-8")
    read = ranges_file.read(path)
    with pytest.raises(InputError, match="'conv0'"):
        read.of(graph, "r.json")
    prepare(graph, Calibration(PICTURES, known=read.of(graph, "r.json", calibrated=True)))


def exported(graph: Graph, pictures: Sequence[np.ndarray], ranges: KnownRanges | None = None) -> BuiltPart:
    built = build(
        graph, ["label"] * 3, options=Options(ranges=ranges or KnownRanges(), weights="texture"), calibration=pictures
    )
    return built.gpu[0]


def test_stored_ranges_give_the_same_bytes_without_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    body = [input_node(12), conv_node(rng, "a", ("image",), 3, 12), conv_node(rng, "b", ("a",), 12, 8)]
    graph = classifier(rng, [*body, conv_node(rng, "c", ("b",), 8, 8, activation="linear")], 8)
    pictures = [np.random.default_rng(seed).integers(0, 256, (12, 12, 3), np.uint8) for seed in range(4)]
    result = exported(graph, pictures)
    learned = learnt([replace(result.prepared, precision=(PrecisionChoice("b", "asked for"),))], [result.program])
    assert {"a rounded", "a moved", "b rounded", "c moved"} <= {*learned.calibration_data}
    assert any(arrays[0].any() for key, arrays in learned.calibration_data.items() if key.endswith("rounded"))
    path = write_ranges(tmp_path, StoredRanges("test", fingerprint(optimize.optimize(graph)), learned))
    with_16_bits = ranges_file.read(path).known
    assert exported(graph, (), with_16_bits).program.graph.by_name["b"].attrs["bits"] == 16
    ranges = replace(with_16_bits, sixteen=())
    assert exported(graph, (), ranges).bundle.members == result.bundle.members
    assert exported(graph, (), replace(ranges, calibration_data={})).bundle.members != result.bundle.members


def test_stored_results_of_other_weights_are_measured_again() -> None:
    result = (np.array([1.0]),)
    maps = CalibrationMaps(dict, stored={"a": result})
    assert maps.has_images
    assert maps.cached("a", lambda: (np.array([2.0]),), lambda arrays: arrays[0].shape == (2,))[0] == 2.0
    assert CalibrationMaps(dict, stored={"a": result}).cached("a", lambda: (np.array([2.0]),))[0] == 1.0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"type": "<i8"}, "no array"),
        ({"shape": [3]}, "another size"),
        ({"shape": [-1]}, "without a shape"),
        ({"shape": [1 << 26, 1 << 26]}, "all arrays may have"),
        ({"bytes": "AAAA"}, "cannot be unpacked"),
        ({"bytes": "?"}, "cannot be unpacked"),
        ({"bytes": base64.b64encode(zlib.compress(bytes(1000))).decode()}, "another size"),
        ({"bytes": base64.b64encode(zlib.compress(b"\xff" * 8)).decode()}, "not finite"),
    ],
)
def test_damaged_findings_are_refused(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    stored = calibrated(network())
    fewer = replace(stored.known, calibration_data={"a": (np.ones(2, np.float32),)})
    path = write_ranges(tmp_path, replace(stored, known=fewer))
    assert ranges_file.read(path).known.calibration_data["a"][0].tolist() == [1.0, 1.0]
    data = json.loads(path.read_text("utf-8"))
    data["findings"]["a"][0].update(change)
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(InputError, match=f"the finding 'a' has .*{problem}"):
        ranges_file.read(path)


@pytest.mark.parametrize("name", [model.name for model in catalogue.read().values() if not model.weights_of])
def test_the_catalogues_ranges_are_those_of_its_networks(name: str) -> None:
    model = catalogue.read()[name]
    stored = ranges_file.read(exporting.ranges_of(model))
    assert stored.known.sixteen is not None and stored.known.calibration_data
    if not exporting.stored_file(model).is_file():
        pytest.skip(f"not fetched: glsl-infer get {name}")
    source, io_options = exporting.source_of(model), exporting.io_options_of(model)
    graph = source if isinstance(source, Graph) else importers.survey(source, io_options=io_options).whole()
    stored.of(optimize.optimize(graph), name)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("maps", [], "'maps' is not an object"),
        ("maps", {"a": {"scales": [1.0]}}, "'a' has no lists of numbers"),
        ("maps", {"a": {"scales": [0.0], "zeros": [0]}}, "'a' has a scale that is not from 1e-30"),
        ("fine", {"a": {"scales": [1.0], "zeros": [0.5]}}, "'a' has a zero point that is not a whole number"),
        ("scales", {"a": 3.0}, "the scale of 'a' is not a power of two"),
        ("model", 1, "'model' is not a text"),
        ("sixteen", [1], "'sixteen' is not a list of layers"),
        ("findings", {"a": []}, "the finding 'a' is not a list of arrays"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, key: str, value: object, problem: str) -> None:
    path = write_ranges(tmp_path, calibrated(network()))
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), key: value}), "utf-8")
    with pytest.raises(InputError, match=f"damaged: {problem}.*give the .json file that 'glsl-infer calibrate' wrote"):
        ranges_file.read(path)


ZEROS = {"type": "<f4", "shape": [4 << 20], "bytes": base64.b64encode(zlib.compress(bytes(16 << 20), 9)).decode()}


@pytest.mark.parametrize(
    ("key", "changed", "message"),
    [
        ("scales", 1e-45, "a scale that is not from 1e-30 to 1e"),
        ("scales", 1e300, "a scale that is not from 1e-30 to 1e"),
        ("findings", {str(index): [ZEROS] for index in range(100)}, "all arrays may have 67,108,864"),
    ],
)
def test_files_with_hostile_values_are_refused(tmp_path: Path, key: str, changed: object, message: str) -> None:
    """Values outside the range of shaders, and arrays of 100 kB that unpack to gigabytes, are refused."""
    path = write_ranges(tmp_path, calibrated(network()))
    data = json.loads(path.read_text("utf-8"))
    if key == "scales":
        data["maps"]["conv0"]["scales"][0] = changed
    else:
        data[key] = changed
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(InputError, match=message):
        ranges_file.read(path)


@pytest.mark.parametrize("kind", ["maps", "fine"])
def test_ranges_of_more_channels_than_a_layer_has_are_refused(tmp_path: Path, kind: str) -> None:
    graph = network()
    path = write_ranges(tmp_path, calibrated(graph))
    data = json.loads(path.read_text("utf-8"))
    data[kind]["conv0"] = {"scales": [1.0] * 7, "zeros": [0.0] * 7}
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(InputError, match="'conv0'"):
        ranges_file.read(path).of(graph, str(path))

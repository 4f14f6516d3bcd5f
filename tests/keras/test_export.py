"""Export of a saved Keras model, by function and by command, also split between shaders and the CPU."""

from __future__ import annotations

import json
import re
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers as L
from PIL import Image
from planted_modules import executed, plant

from glsl_infer import bundle
from glsl_infer import bundle as bundles
from glsl_infer.cli import main
from glsl_infer.compiler import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.graph import reference
from glsl_infer.importers.keras import load, to_graph
from glsl_infer.program.layout import FeatureMap, textures_of
from glsl_infer.tools.videocore import foresight
from training.models import x22


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    keras.utils.set_random_seed(3)
    x22(33, 4, stages=2, width=1).save(folder / "model.keras")
    (folder / "labels.txt").write_text("one\ntwo words\n drei \nvier\n", "utf-8")
    return folder


def arguments(saved: Path, out: Path, *more: str) -> list[str]:
    arguments = [str(saved / "model.keras"), "-o", str(out), "--labels", str(saved / "labels.txt")]
    return ["export", "--verify", "0", *arguments, *more]  # tests/vc4 compile shaders


def test_the_same_model_gives_the_same_bytes(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(saved, tmp_path / "a.glslnn")) == 0
    assert main(arguments(saved, tmp_path / "b.glslnn")) == 0
    assert (tmp_path / "a.glslnn").read_bytes() == (tmp_path / "b.glslnn").read_bytes()
    printed = capsys.readouterr().out
    assert "passes in" in printed and "accuracy: not measured; give --images DIR" in printed
    assert len(printed.splitlines()) <= 2 * 10
    assert re.search(r"^Pi Zero W: about \S+ ms a frame, estimated without its compiler: .*longest: '", printed, re.M)
    assert bundle.read(tmp_path / "a.glslnn").labels == ("one", "two words", " drei ", "vier")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("weights", ["baked", "uniform", "texture", "auto"])
def test_the_reference_of_the_file_is_keras_within_its_rounding(saved: Path, tmp_path: Path, weights: str) -> None:
    out = tmp_path / "m.glslnn"
    assert main(arguments(saved, out, "--weights", weights)) == 0
    network = bundle.read(out)
    model = keras.saving.load_model(saved / "model.keras")
    picture = np.random.default_rng(0).integers(0, 256, (33, 33, 3), np.uint8)
    expected = np.asarray(model(picture[None].astype(np.float32) / 255.0))[0]
    np.testing.assert_allclose(reference.run(network, picture, mode="float"), expected, atol=1e-3)
    np.testing.assert_allclose(reference.run(network, picture), expected, atol=0.1)


def test_the_graph_of_the_file_is_the_graph_that_went_in(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.glslnn"
    assert main(arguments(saved, out, "--weights", "uniform")) == 0
    prepared = prepare(optimize.optimize(load(saved / "model.keras"))).graph
    read = bundle.read(out).graph
    assert [node.name for node in read.nodes] == [node.name for node in prepared.nodes]
    for node, other in zip(read.nodes, prepared.nodes):
        assert (node.op, node.inputs, dict(node.attrs)) == (other.op, other.inputs, dict(other.attrs))
        assert set(node.weights) == set(other.weights)
        for key in node.weights:  # folded into the units of the shaders and back, both in float32
            np.testing.assert_allclose(node.weights[key], other.weights[key], rtol=2e-7, atol=1e-6)


def test_the_wrong_number_of_labels(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "three.txt").write_text("a\nb\nc\n")
    argv = arguments(saved, tmp_path / "m.glslnn")
    assert main([*argv[:-1], str(tmp_path / "three.txt")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path / 'three.txt'}: 3 labels for the 4 classes of {saved / 'model.keras'}; ")
    assert error.count("\n") == 1


def test_report_as_json(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(saved, tmp_path / "m.glslnn", "--json")) == 0
    report = json.loads(capsys.readouterr().out)
    assert {layer["layer"] for layer in report["layers"]} >= {"b0-conv", "b3-conv", "pool", "Dense"}
    assert report["totals"]["passes"] == sum(layer["passes"] for layer in report["layers"])
    assert [scale["by"] for scale in report["scales"]] == ["bound"] * 2


def test_a_frame_time_absurd_on_a_pi_is_a_warning_with_its_layer(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foresight, "ABSURD_MS", 0.001)
    assert main(arguments(saved, tmp_path / "m.glslnn", "--json")) == 0
    printed = capsys.readouterr()
    board = json.loads(printed.out)["board"]
    longest = max(board["layers"], key=lambda layer: layer["milliseconds"])
    (warning,) = (line for line in printed.err.splitlines() if "on a Pi Zero W" in line)
    assert warning.startswith("warning: a frame takes about ") and f"'{longest['layer']}' ({longest['op']}, " in warning


def test_calibration_refines_scales_of_heavy_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    model = x22(17, 2, stages=1)
    kernel, bias = model.get_layer("Dense").get_weights()
    model.get_layer("Dense").set_weights([np.sign(kernel) * 65.0, bias])
    model.save(tmp_path / "model.keras")
    (tmp_path / "labels.txt").write_text("a\nb\n")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    rng = np.random.default_rng(0)
    for index in range(3):
        Image.fromarray(rng.integers(0, 256, (20, 20, 3), np.uint8)).save(pictures / f"{index}.png")
    assert main(arguments(tmp_path, tmp_path / "m.glslnn")) == 0
    assert "give --images" in capsys.readouterr().err
    assert main(arguments(tmp_path, tmp_path / "m.glslnn", "--images", str(pictures), "--json")) == 0
    report = json.loads(capsys.readouterr().out)
    by = {scale["layer"]: scale for scale in report["scales"]}
    assert by["Dense"]["by"] == "calibration"
    assert by["Dense"]["scale"] * 128 >= 2 * by["Dense"]["calibrated"]
    assert not report["warnings"]


def test_a_layer_that_amplifies_is_warned_of_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = keras.Input((9, 9, 3))
    difference = keras.layers.Conv2D(4, 1, activation=keras.layers.ReLU(1.0), name="difference")
    outputs = keras.layers.Dense(4)(keras.layers.GlobalAveragePooling2D()(difference(inputs)))
    kernel = np.zeros((1, 1, 3, 4), np.float32)
    kernel[0, 0, 0], kernel[0, 0, 1] = 2000.0, -2000.0
    difference.set_weights([kernel, np.zeros(4, np.float32)])
    keras.Model(inputs, outputs).save(tmp_path / "model.keras")
    (tmp_path / "labels.txt").write_text("a\nb\nc\nd\n")
    assert main(arguments(tmp_path, tmp_path / "m.glslnn", "--json")) == 0
    printed = capsys.readouterr()
    (warning,) = json.loads(printed.out)["warnings"]
    assert warning.startswith("layer 'difference': a step in what it reads may be 4000 steps of its output")
    assert printed.err == f"warning: {warning}\n"
    (layer,) = (layer for layer in json.loads(printed.out)["layers"] if layer["layer"] == "difference")
    assert layer["gain"] == pytest.approx(4000.0, rel=1e-4)
    assert 0.0 <= layer["error"] < 1.0


def test_optimised_x22_has_one_node_a_convolution() -> None:
    graph = optimize.optimize(to_graph(x22()))
    kinds = [node.op for node in graph.nodes]
    assert kinds.count("conv2d") == 41
    assert set(kinds) == {"input", "conv2d", "channel_shuffle", "global_average_pool", "dense"}
    assert kinds.count("channel_shuffle") == 3 + 4 + 5
    last = graph.by_name["b5-stage5-dw"]
    assert last.inputs == ("b5-stage5-pw", "b5-stage4-dw")
    assert last.attrs["fused"] == ("b5-stage5-dw-bn", "b5-stage5-add", "b5-stage5-dw-act")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small vision transformer, its labels and images."""
    folder = tmp_path_factory.mktemp("vit")
    keras.utils.set_random_seed(0)
    x = keras.Input((16, 16, 3), name="picture")
    y = L.Reshape((16, 8), name="rows")(L.Conv2D(8, 4, strides=4, activation="relu", name="stem")(x))
    y = L.Add()([y, L.MultiHeadAttention(2, 4, name="heads")(y, y)])
    y = L.Conv2D(4, 3, activation="relu", name="behind")(L.Reshape((4, 4, 8))(y))
    keras.Model(x, L.Dense(2)(L.GlobalAveragePooling2D()(y))).save(folder / "m.keras")
    (folder / "labels.txt").write_text("a\nb\n")
    for index in range(2):
        pixels = np.random.default_rng(index).integers(0, 256, (16, 16, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{index}.png")
    return folder


def export(model: Path, out: Path, *more: str) -> int:
    labels, pictures = str(model / "labels.txt"), str(model / "0.png")
    arguments = ["export", str(model / "m.keras"), "-o", str(out), "--labels", labels, "--calibrate", pictures]
    return main([*arguments, "--verify", "0", *more])


def test_export_reports_the_parts(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "m.glslnn"
    assert export(model, out) == 0
    output = capsys.readouterr().out
    (line,) = [line for line in output.splitlines() if line.startswith("on the CPU: ")]
    assert "4 linear, 1 attention" in line and "3 parts, 1 of them on the CPU; a frame uploads" in line, line
    assert line.endswith("--no-delegate refuses instead")
    assert {"tensor_reshape", "linear", "attention"} < set(bundles.read(out).cpu_operators)
    assert export(model, out, "--delegate-for", "behind", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    kinds = ["gpu", "cpu", "gpu"]
    assert [part["kind"] for part in report["parts"]] == kinds and "behind" in report["parts"][1]["layers"]
    drawn = [layer["layer"] for layer in report["layers"]]
    assert drawn[0] == "stem" and "behind" not in drawn
    assert main(["inspect", str(out), "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert [part["kind"] for part in described["parts"]] == kinds
    assert [row["layer"] for row in described["layers"]].count("heads") == 1


def test_no_delegate(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(model, tmp_path / "m.glslnn", "--no-delegate") == 2
    assert "layer 'rows': a reshape in this place has no shader" in capsys.readouterr().err
    assert not (tmp_path / "m.glslnn").exists()


def test_layers_that_are_not_there(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(model, tmp_path / "m.glslnn", "--delegate-for", "nobody") == 2
    assert "--delegate-for nobody: no layer of that name computes" in capsys.readouterr().err
    assert export(model, tmp_path / "m.glslnn", "--operator", "nowhere:f") == 2
    assert "--operator nowhere:f: the module cannot be imported" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_a_keras_model_is_exported_with_its_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plant(tmp_path))
    keras.utils.set_random_seed(3)
    x22(33, 2, stages=2, width=1).save(tmp_path / "m.keras")
    (tmp_path / "labels.txt").write_text("a\nb\n")
    options = "weights: uniform, layout: planar, input_size: 33"
    text = f"models:\n  - {{name: m, source: m.keras, labels: labels.txt, {options}}}\n"
    (tmp_path / "d.yml").write_text(text)
    assert main(["deploy", str(tmp_path / "d.yml"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert executed(tmp_path) == []  # modules next to the model are not executed
    network = bundle.read(tmp_path / "d/models/m.glslnn")
    assert network.labels == ("a", "b")
    assert report["models"][0]["passes"] == len(network.manifest.passes)
    first = network.values["b0-conv"]
    assert isinstance(first, FeatureMap)
    assert len(textures_of(first)) == len(first.views) > 1  # planar: a texture for each slice
    (tmp_path / "labels.txt").write_text("a\n")
    assert main(["deploy", str(tmp_path / "d.yml")]) == 2
    assert capsys.readouterr().err.startswith("error: model 'm': ")

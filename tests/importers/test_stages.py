"""``glsl-infer inspect --stage``: the network after each stage of the compiler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from onnx_networks import File, onnx

from glsl_infer.cli import main


def model(folder: Path) -> Path:
    """Write a convolution with a ReLU, a sum along rows, which has no shader, and a convolution."""
    file = File(3)
    y = file.op("Relu", [file.conv(file.input((1, 3, 8, 6)), 4)], (1, 4, 8, 6))
    file.output(file.conv(file.op("CumSum", [y, file.constant(2, "int64")], (1, 4, 8, 6)), 4))
    path = folder / "m.onnx"
    onnx.save(file.model(), path)
    return path


@pytest.mark.parametrize(
    ("stage", "operators", "parts"),
    [
        ("imported", ["input", "conv2d", "activation", "cumulative_sum", "conv2d"], [""]),
        ("optimized", ["input", "conv2d", "cumulative_sum", "conv2d"], [""]),
        ("placed", ["input", "conv2d", "cumulative_sum", "conv2d"], ["", "1 gpu", "2 cpu", "3 gpu"]),
        ("with-ranges", ["input", "conv2d", "cumulative_sum", "input", "conv2d"], ["1 gpu", "2 cpu", "3 gpu"]),
        ("planned", ["input", "conv2d", "cumulative_sum", "input", "conv2d"], ["1 gpu", "2 cpu", "3 gpu"]),
    ],
)
def test_inspect_prints_the_operators_of_a_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stage: str, operators: list[str], parts: list[str]
) -> None:
    path = model(tmp_path)
    assert main(["inspect", str(path), "--stage", stage, "--json"]) == 0
    nodes = json.loads(capsys.readouterr().out)["nodes"]
    assert [node["op"] for node in nodes] == operators
    assert list(dict.fromkeys(node["part"] for node in nodes)) == parts
    assert main(["inspect", str(path), "--stage", stage]) == 0
    printed = capsys.readouterr().out
    assert printed.count("part ") == len([part for part in parts if part]) and "cumulative_sum" in printed


def test_ranges_textures_and_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ReLU's range is assumed, [0, 1]; each convolution is one draw into a texture of its part."""
    path = model(tmp_path)
    nodes = {}
    for stage in ("with-ranges", "planned", "program"):
        assert main(["inspect", str(path), "--stage", stage, "--json"]) == 0
        nodes[stage] = json.loads(capsys.readouterr().out)["nodes"]
    assert nodes["with-ranges"][1]["attrs"]["scales"] == [1.0]
    assert [node["attrs"].get("draws") for node in nodes["planned"]] == [None, 1, None, None, 1]
    drawn = [node for node in nodes["program"] if node["part"] != "2 cpu"]
    assert [node["name"] for node in drawn] == [node["name"] for node in nodes["planned"] if node["attrs"].get("draws")]
    assert all(node["attrs"]["target"] and node["attrs"]["clear"] and node["attrs"]["quads"] == 1 for node in drawn)


def test_a_stage_of_a_model_that_cannot_be_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = File(3)
    file.output(file.op("Odd", [file.conv(file.input((1, 3, 8, 6)), 4)], (1, 4, 8, 6), domain="own"))
    onnx.save(file.model(), tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx"), "--stage", "placed"]) != 0
    assert "cannot be imported" in capsys.readouterr().err

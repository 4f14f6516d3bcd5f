"""The matrix of docs/reference/operators.md and the list of docs/reference/graph-format.md have every operator once."""

from __future__ import annotations

import re

import pytest
from operator_table import videocore
from operator_table.names import FORMATS, NAMES, PARTS_OF_OTHERS
from operator_table.page import with_names
from pages import ROOT

from glsl_infer import cpu, ops
from glsl_infer.ops.operator import CopyOperator, ViewOperator

COMMON_ATTRIBUTES = {"scales", "zeros", "bits", "scale"}
"""Attributes of many operators, which the page describes once, before its list of operators."""


def test_every_operator_is_in_the_matrix() -> None:
    named = {name for line in NAMES for name in line.each}
    assert named | set(PARTS_OF_OTHERS) == {*ops.names(), *cpu.KERNELS}, "see scripts/docs/operator_table/names.py"
    assert not named & set(PARTS_OF_OTHERS)


def test_the_page_has_every_operator_of_a_file() -> None:
    text = (ROOT / "docs/reference/operators.md").read_text("utf-8")
    assert with_names(text) == text, "run: python scripts/docs/operators.py --names"
    section = text.partition("\n## TensorFlow Lite and ONNX\n")[2].partition("\nMade of these")[0]
    assert not {name for names in FORMATS.values() for name in names} - set(re.findall(r"\w+", section))


@pytest.mark.parametrize("title", FORMATS)
def test_the_matrix_has_no_other_names(title: str) -> None:
    cells = ", ".join(line.tflite if title == "TensorFlow Lite" else line.onnx for line in NAMES)
    names = {name.partition(":")[0] for name in cells.split(", ") if name}
    assert names - FORMATS[title] <= {"smoothed", "cropped"}  # kinds of Resize


def test_places_and_exactness() -> None:
    places = {line.operators: (line.runs(), line.exactness()) for line in NAMES}
    assert places["conv2d"] == ("shader", "0.52")
    assert places["max_pool"] == ("shader", "bytes")
    assert places["reshape, batch_norm, rescaling, identity, softmax, local_response_norm"] == ("folded", "-")
    assert places["non_max_suppression, class_suppression, detections"] == ("CPU", "float32")


def test_every_shader_has_its_instructions_on_a_videocore() -> None:
    measured = videocore.written()
    shaders = {name for line in NAMES if line.runs() == "shader" for name in line.each if ops.get(name).has_shader}
    views = {name for name in shaders if isinstance(ops.get(name), ViewOperator)}  # without a pass
    internal = {name for name in PARTS_OF_OTHERS if not name.startswith("input") and name != "channel_view"}
    missing = (shaders | internal) - views - set(measured)
    assert not missing, "scripts/vc4/build.sh builds VideoCore IV's driver; then run scripts/docs/operators.py"
    staged_names = {name for line in NAMES for name in line.each if name in ops.names() and ops.get(name).staged}
    assert staged_names == set(videocore.STAGES), "the page has no floor of these"
    assert all(row["instructions"] >= row["floor"] for row in measured.values())
    assert {row["threads"] for row in measured.values()} == {2}


def test_the_graph_format_lists_every_operator_of_a_bundle() -> None:
    text = (ROOT / "docs/reference/graph-format.md").read_text("utf-8")
    section = text.partition("\n## Operators\n")[2].partition("\n*Kept*")[0]
    lines = {item.split("`")[1]: item for item in re.split(r"\n(?=\* `)", section)[1:]}
    drawn = {name: ops.get(name) for name in ops.names() if ops.get(name).has_shader or ops.get(name).is_input}
    assert set(lines) == set(drawn)
    for name, operator in drawn.items():
        line = lines[name]
        assert not [key for key in operator.attrs if key not in COMMON_ATTRIBUTES and f"`{key}`" not in line], name
        assert isinstance(operator, CopyOperator) == line.rstrip().endswith("(kept)"), name
        assert isinstance(operator, ViewOperator) == ("no pass" in line), name

"""The matrix of docs/reference/operators.md lists every operator once, with its processor."""

from __future__ import annotations

from operator_table import videocore
from operator_table.names import NAMES, PARTS_OF_OTHERS

from glsl_infer import cpu, ops
from glsl_infer.ops.operator import ViewOperator


def test_every_operator_is_in_the_matrix() -> None:
    named = {name for line in NAMES for name in line.each}
    assert named | set(PARTS_OF_OTHERS) == {*ops.names(), *cpu.KERNELS}
    assert not named & set(PARTS_OF_OTHERS)


def test_places_and_exactness() -> None:
    places = {line.operators: (line.runs(), line.exactness()) for line in NAMES}
    assert places["conv2d"] == ("shader", "0.52")
    assert places["max_pool"] == ("shader", "bytes")
    assert places["reshape, batch_norm, rescaling, identity, softmax, local_response_norm"] == ("folded", "-")
    assert places["non_max_suppression, class_suppression, detections"] == ("CPU", "float32")


def test_what_operators_take_on_a_videocore() -> None:
    numbers = videocore.written()
    shaders = {name for line in NAMES if line.runs() == "shader" for name in line.each if ops.get(name).has_shader}
    moved = {name for name in shaders if isinstance(ops.get(name), ViewOperator)}  # these operators draw nothing
    internal = {name for name in PARTS_OF_OTHERS if not name.startswith("input") and name != "channel_view"}
    assert (shaders | internal) - moved <= set(numbers), "run scripts/docs/operators.py with VideoCore IV's driver"
    staged_names = {name for line in NAMES for name in line.each if name in ops.names() and ops.get(name).staged}
    assert staged_names == set(videocore.STAGES), "the page has no floor of these"
    assert all(number["instructions"] >= number["floor"] for number in numbers.values())
    assert {number["threads"] for number in numbers.values()} == {2}

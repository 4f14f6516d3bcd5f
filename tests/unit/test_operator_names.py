"""The matrix of docs/operators.md has every operator once, and says where it runs."""

from __future__ import annotations

from operator_table.names import NAMES, PARTS_OF_OTHERS

from glsl_infer import cpu, ops


def test_every_operator_is_in_the_matrix() -> None:
    named = {name for line in NAMES for name in line.each}
    assert named | set(PARTS_OF_OTHERS) == {*ops.names(), *cpu.KERNELS}
    assert not named & set(PARTS_OF_OTHERS)


def test_places_and_exactness() -> None:
    places = {line.operators: (line.runs(), line.exactness()) for line in NAMES}
    assert places["conv2d"] == ("shader", "0.52")
    assert places["max_pool"] == ("shader", "bytes")
    assert places["reshape"] == ("folded", "-")
    assert places["non_max_suppression, class_suppression, detections"] == ("CPU", "float32")

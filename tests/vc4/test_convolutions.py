"""A sample of scripts/vc4/convolutions.py: no convolution runs out of registers, and each has two threads."""

from __future__ import annotations

from pathlib import Path

import pytest
from convolutions import Case, compiled

from glsl_infer.tools.videocore import Driver

SAMPLE = {
    "uniform": [
        Case(1, 64, "plain", "uniform", "relu(6)"),
        Case(1, 9, "residual", "uniform", "sigmoid"),
        Case(3, 16, "groups", "uniform", "linear"),
        Case(3, 24, "strided", "uniform", "piecewise_linear_sigmoid"),
        Case(5, 12, "residual", "uniform", "relu(6)"),
        Case(9, 1, "plain", "uniform", "relu(6)"),
        Case(9, 4, "strided", "uniform", "linear"),
        Case(3, 1, "depthwise", "uniform", "relu(6)"),
        Case(3, 8, "dilated", "uniform", "relu(6)"),
        Case(3, 24, "dilated", "uniform", "linear"),
    ],
    "baked": [
        Case(1, 48, "strided", "baked", "relu(6)"),
        Case(3, 12, "residual", "baked", "linear"),
        Case(7, 6, "plain", "baked", "relu(6)"),
        Case(2, 8, "groups", "baked", "relu(6)"),
        Case(3, 6, "dilated", "baked", "relu"),
    ],
    "texture": [
        Case(1, 24, "residual", "texture", "relu(6)"),
        Case(3, 8, "plain", "texture", "linear"),
        Case(3, 9, "groups", "texture", "relu(6)"),
    ],
    "texture, windows": [
        Case(3, 16, "strided", "texture", "relu(6)"),
        Case(3, 1, "depthwise", "texture", "relu(6)"),
        Case(3, 12, "dilated", "texture", "relu(6)"),
    ],
    "texture-16": [
        Case(1, 12, "residual", "texture-16", "hard_sigmoid"),
        Case(3, 6, "plain", "texture-16", "relu(6)"),
    ],
    "texture-16, dilated": [Case(3, 6, "dilated", "texture-16", "relu(6)")],
}


@pytest.mark.parametrize("some", SAMPLE.values(), ids=SAMPLE)
def test_convolutions_of_many_shapes_compile(driver: Driver, tmp_path: Path, some: list[Case]) -> None:
    found = compiled(some, driver, 3500, tmp_path)
    assert {one.case.name: one.failure or one.threads for one in found} == {one.name: 2 for one in some}
    assert {one.case.name: one.taken for one in found} == {one.name: one.weights.removesuffix("-16") for one in some}


def test_partial_sums_of_a_block_of_many_slices_compile(driver: Driver, tmp_path: Path) -> None:
    some = [Case(3, 24, "plain", "auto", "relu(6)")]
    (found,) = compiled(some, driver, 120, tmp_path)
    assert (found.taken, found.failure, found.threads) == ("partial sums", "", 2)

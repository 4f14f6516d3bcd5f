"""X22 at 385x385 with weights in uniforms: the limit for the shaders of convolutions, all layers together."""

from __future__ import annotations

from pathlib import Path

from x22 import x22

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import Driver

MOST = 630e6
"""Largest number of instructions times pixels of a frame; Beatmup's shaders take 738.8 million by the same compiler."""


def test_a_frame_stays_below_the_limit(driver: Driver, tmp_path: Path) -> None:
    labels = [f"class {index}" for index in range(120)]
    bundle, _, _ = build(x22(385, 120), labels, options=Options(weights="uniform"))
    bundles.write(bundle, tmp_path / "x22.glslnn")
    result = vc4.report(*vc4.measure(tmp_path / "x22.glslnn", driver), "x22")
    assert result.total <= MOST
    assert result.totals["jobs"] <= 48
    assert [problem.layer for problem in result.problems if problem.fatal] == []

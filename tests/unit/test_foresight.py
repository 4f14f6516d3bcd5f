"""Export's estimate of a frame on a Pi Zero W without a driver: one line, and warnings that name layers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tiny import tiny_bundle

from glsl_infer import bundle as bundles
from glsl_infer.support.child_process import ROOT
from glsl_infer.tools.videocore import foresight
from glsl_infer.tools.videocore.foresight import Foresight, LayerTime
from glsl_infer.tools.videocore.transcript import Shader


def test_a_line_for_people() -> None:
    made = bundles.read(ROOT / "models/superres-x2-96.glslnn")
    found = foresight.foresee(made, {})
    assert (found.draws, found.jobs) == (len(made.manifest.passes), made.manifest.jobs)
    assert [layer.layer for layer in found.layers] == list(dict.fromkeys(one.layer for one in made.manifest.passes))
    assert sum(layer.milliseconds for layer in found.layers) == pytest.approx(found.milliseconds, rel=0.05)
    assert str(found).startswith("Pi Zero W: about 20 ms a frame, an estimate without its compiler: 15 ms computing")
    assert "longest: 'conv2' 6.0 ms, " in str(found)
    assert found.warnings == ()


def test_what_the_compiler_says_counts() -> None:
    made = tiny_bundle()
    shader = Shader(1200, 1200, 2, 0, 0, 0, 9)
    (one, *_), names = made.manifest.passes, {entry.program for entry in made.manifest.passes}
    found = foresight.foresee(made, {name: shader for name in names})
    groups = sum(-(-quad.width * quad.height // 16) for entry in made.manifest.passes for quad in entry.quads)
    assert found.computing == pytest.approx(1e3 * 1200 * groups * 4 / 12 / 250e6)
    assert found.compiled == 1.0 and "an estimate by its compiler" in str(found)
    some = foresight.foresee(made, {one.program: shader})
    assert 0.0 < some.compiled < 1.0 and "% of it by its compiler" in str(some)
    assert foresight.together([found]) == found
    assert foresight.together([found, some]).draws == 2 * found.draws


def test_what_is_absurd_names_the_layer() -> None:
    layers = (LayerTime("stem", "conv2d", 700.0, 8, 8), LayerTime("huge", "conv2d", 9000.0, 600, 590))
    found = Foresight(9700.0, 9500.0, 608, 2, 598, 0.0, layers)
    slow, many = found.warnings
    assert "about 9.7 s on a Pi Zero W, most of it in layer 'huge' (conv2d, 9.0 s): give smaller" in slow
    assert "598 programs are compiled before the first frame, 590 of them for layer 'huge' (conv2d)" in many
    assert replace(found, milliseconds=900.0, programs=300).warnings == ()

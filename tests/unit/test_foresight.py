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


def test_the_estimate_is_one_line() -> None:
    bundle = bundles.read(ROOT / "models/superres-x2-96.glslnn")
    forecast = foresight.foresee(bundle, {})
    assert (forecast.draws, forecast.jobs) == (len(bundle.manifest.passes), bundle.manifest.jobs)
    assert [layer.layer for layer in forecast.layers] == list(
        dict.fromkeys(draw.layer for draw in bundle.manifest.passes)
    )
    assert sum(layer.milliseconds for layer in forecast.layers) == pytest.approx(forecast.milliseconds, rel=0.05)
    assert str(forecast).startswith("Pi Zero W: about 20 ms a frame, estimated without its compiler: 15 ms computing")
    assert "longest: 'conv2' 6.0 ms, " in str(forecast)
    assert forecast.warnings == ()


def test_long_names_are_shortened() -> None:
    name = "wrapper/Net/torch.nn.modules.container.Sequential_stem/torch.nn.modules.conv.Conv2d_0;1"
    forecast = Foresight(1.0, 1.0, 1, 1, 1, 1.0, (LayerTime(name, "conv2d", 1.0, 1, 1),))
    assert str(forecast).endswith("longest: 'wrapper/Net/...tem/torch.nn.modules.conv.Conv2d_0;1' 1.0 ms")


def test_counts_of_the_compiler_replace_the_estimate() -> None:
    bundle = tiny_bundle()
    shader = Shader(1200, 1200, 2, 0, 0, 0, 9)
    (first_pass, *_), names = bundle.manifest.passes, {entry.program for entry in bundle.manifest.passes}
    forecast = foresight.foresee(bundle, {name: shader for name in names})
    groups = sum(-(-quad.width * quad.height // 16) for entry in bundle.manifest.passes for quad in entry.quads)
    assert forecast.computing == pytest.approx(1e3 * 1200 * groups * 4 / 12 / 250e6)
    assert forecast.compiled == 1.0 and "estimated with its compiler" in str(forecast)
    partial = foresight.foresee(bundle, {first_pass.program: shader})
    assert 0.0 < partial.compiled < 1.0 and "% of it with its compiler" in str(partial)
    assert foresight.together([forecast]) == forecast
    assert foresight.together([forecast, partial]).draws == 2 * forecast.draws


def test_absurd_estimates_name_the_layer() -> None:
    layers = (LayerTime("stem", "conv2d", 700.0, 8, 8), LayerTime("huge", "conv2d", 9000.0, 600, 590))
    result = Foresight(9700.0, 9500.0, 608, 2, 598, 0.0, layers)
    slow, many = result.warnings
    assert "about 9.7 s on a Pi Zero W, most of it in layer 'huge' (conv2d, 9.0 s): give smaller" in slow
    assert "598 programs are compiled before the first frame, 590 of them for layer 'huge' (conv2d)" in many
    assert replace(result, milliseconds=900.0, programs=300).warnings == ()

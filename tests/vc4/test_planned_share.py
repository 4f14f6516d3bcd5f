"""The plan's cost of 16-bit maps, which limits ``auto``, is close to the cost by Mesa's vc4 compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.planned_cost import planned
from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.measure import measure
from glsl_infer.tools.videocore.report import report

FINE = {"spread": 16, "sum": 16}


def test_maps_of_16_bits_add_the_planned_share(driver: Driver, tmp_path: Path) -> None:
    """A depthwise layer and a sum with a 16-bit residual cost the share of the plan if both store two bytes."""
    rng = np.random.default_rng(5)
    body = [input_node(32), conv_node(rng, "feed", ("image",), 3, 16, activation="relu")]
    body.append(conv_node(rng, "spread", ("feed",), 16, 16, kernel=(3, 3), groups=16, padding=(1, 1, 1, 1)))
    body.append(conv_node(rng, "sum", ("spread", "spread"), 16, 16))
    graph = classifier(rng, body, 16)
    pictures = [{"image": rng.integers(0, 256, (32, 32, 3), np.uint8)} for _ in range(2)]
    plans, counts = [], []
    for bits in ({}, FINE):
        options = Options(precision="8", precision_for=bits)
        bundle, _, prepared = build(graph, ("a", "b", "c"), options=options, calibration=pictures)
        bundles.write(bundle, tmp_path / "model.glslnn")
        rows = report(*measure(tmp_path / "model.glslnn", driver), "model").rows
        counts.append(sum(row.total for row in rows if row.layer in ("feed", *FINE)))
        plans.append(planned(prepared.graph, calibrated=True).work)
    assert counts[1] > 1.5 * counts[0]
    assert plans[1] / plans[0] == pytest.approx(counts[1] / counts[0], rel=0.12)

"""The probe: its image, its records, its tolerances."""

from __future__ import annotations

import numpy as np
from tiny import tiny_bundle

from glsl_infer.bundle import probe
from glsl_infer.graph import reference
from glsl_infer.program import quantize
from glsl_infer.program.layout import FixedPoint


def test_the_picture_is_the_documented_formula() -> None:
    picture = probe.picture(50)
    assert picture.shape == (50, 50, 3)
    assert picture.dtype == np.uint8
    for x, y, c in ((0, 0, 0), (0, 0, 2), (7, 3, 1), (49, 49, 2)):
        assert picture[y, x, c] == ((3 * x * x + 5 * y * y + 7 * x * y) // 8 + 89 * c) % 256
    assert len(np.unique(picture)) > 200


def test_records_are_the_references_bytes() -> None:
    bundle = tiny_bundle()
    records = np.frombuffer(bundle.members[bundle.manifest.probe.member], probe.RECORD)
    outputs = dict(reference.layers(bundle, probe.picture(bundle.manifest.input.size)))
    for layer in bundle.manifest.probe.layers:
        value = bundle.values[layer.layer]
        mine = records[layer.offset : layer.offset + layer.count]
        if isinstance(value, FixedPoint):
            continue
        stored = quantize.to_bytes(outputs[layer.layer])
        slices = set()
        for record in mine:
            x, y = int(record["x"]), int(record["y"])
            (index,) = [
                i
                for i, view in enumerate(value.views)
                if view.x <= x < view.x + value.width and view.y <= y < view.y + value.height
            ]
            slices.add(index)
            view = value.views[index]
            texel = stored[y - view.y, x - view.x, 4 * index : 4 * index + 4]
            assert record["value"][: len(texel)].tolist() == texel.tolist()
        assert slices == set(range(len(value.views))), "every slice is looked at"
    (expected,) = bundle.manifest.probe.outputs
    np.testing.assert_allclose(expected.numbers, outputs["dense"])


def test_every_layer_that_draws_is_in_the_probe() -> None:
    bundle = tiny_bundle()
    assert [layer.layer for layer in bundle.manifest.probe.layers] == list(
        dict.fromkeys(draw.layer for draw in bundle.manifest.passes)
    )
    for layer in bundle.manifest.probe.layers:
        assert layer.max_error >= 1
        assert layer.mean_error > 0

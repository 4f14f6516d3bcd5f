"""The number of images whose maps are kept for simulated sums: fewer if maps are large."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node
from image_models import SIZE

from glsl_infer.compiler import build, calibration_maps, lower
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.graph import Graph, GraphOutput
from glsl_infer.lowering import calibration_maps as lowering_maps
from glsl_infer.lowering import truncation
from glsl_infer.lowering.calibration_maps import PICTURES, CalibrationMaps, Texels
from glsl_infer.lowering.target import Target
from glsl_infer.program.layout import FeatureMap, View

OF_ONE = 4 * SIZE * SIZE * 3
"""Bytes of the image, which the convolution reads."""


@pytest.mark.parametrize(
    "limit, count", [(1 << 20, PICTURES), (3 * OF_ONE, 3), (0, calibration_maps.FEWEST)], ids=["small", "large", "huge"]
)
def test_large_maps_are_computed_for_fewer_images(monkeypatch: pytest.MonkeyPatch, limit: int, count: int) -> None:
    conv = conv_node(np.random.default_rng(3), "conv", ("image",), 3, 4)
    graph = prepare(optimize(Graph("one", [input_node(SIZE), conv], [GraphOutput("end", ("conv",))]))).graph
    monkeypatch.setattr(calibration_maps, "MOST_BYTES", limit)
    rng = np.random.default_rng(4)
    samples = [rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8) for _ in range(20)]
    for images in (samples, ()):
        maps = calibration_maps.compute_maps(graph, images)
        assert {len(map) for map in maps.values()} == {count}
        assert len({result.tobytes() for result in next(iter(maps.values()))}) == count, "they are different pictures"


@pytest.mark.parametrize("modes", [("baked", "uniform"), ("texture", "uniform"), ("texture", "baked")])
def test_simulated_sums_of_another_weights_mode_are_not_used(
    monkeypatch: pytest.MonkeyPatch, modes: tuple[str, str]
) -> None:
    """A program rebuilt with another weights mode, as when uniform arrays grow, does not use the old simulated sums."""
    monkeypatch.setattr(truncation, "MOST_UNEVEN", 0.0)  # only slices of baked weights then have no offset
    rng = np.random.default_rng(3)
    nodes = [input_node(SIZE), conv_node(rng, "a", ("image",), 3, 8, activation="relu(1)")]
    nodes.append(conv_node(rng, "b", ("a", "a"), 8, 8, activation="relu(1)"))  # adds unscaled texels
    graph = prepare(optimize(Graph("two", nodes, [GraphOutput("end", ("b",))]))).graph
    shared = lower.CalibrationMaps(lambda: calibration_maps.compute_maps(graph, ()))
    later = [lower.to_program(graph, Target(weights=mode), maps=shared) for mode in modes][-1]
    alone = lower.to_program(graph, Target(weights=modes[-1]))
    assert later.passes == alone.passes
    assert later.members == alone.members
    build.to_bundle(later, ())


def test_stored_starts_of_older_versions_are_used() -> None:
    """Stored ranges with lower starts of sums, from an older version of ordered fetches, are used without images."""
    conv = conv_node(np.random.default_rng(3), "a", ("image",), 3, 8, kernel=(2, 2), activation="relu(1)")
    graph = prepare(optimize(Graph("one", [input_node(SIZE), conv], [GraphOutput("end", ("a",))]))).graph
    before = (np.full((2, 4), 0.25, np.float32), np.full(2, 3.0, np.float32))
    for stored, line in (({}, "#define UNIT "), ({"a apart": before}, "#define LATE 3")):
        shared = lower.CalibrationMaps(lambda: calibration_maps.compute_maps(graph, ()), stored=stored)
        compiled = lower.to_program(graph, Target(weights="baked"), maps=shared)
        texts = [
            compiled.members[program.fragment].decode()
            for program in compiled.programs
            if program.name.startswith("a.")
        ]
        assert [line in text for text in texts] == [True, True]


@pytest.mark.parametrize("half", [0, 9], ids=["8 bits", "16 bits"])
@pytest.mark.parametrize("alpha", [False, True])
def test_texels_computed_in_batches_equal_those_at_once(
    monkeypatch: pytest.MonkeyPatch, half: int, *, alpha: bool
) -> None:
    rng = np.random.default_rng(7)
    maps = rng.normal(0.0, 1.0, (3, 6, 5, 6)).astype(np.float32)
    views = tuple(View("map", 0, 0, half) for _ in range(2))
    value = FeatureMap(6, 5, 6, 1, views, tuple(rng.uniform(1.0, 3.0, 6)), (7.0,))
    texels = Texels(maps, value, (1, 1, 1, 1), alpha=alpha)
    index_arrays = rng.integers(0, PICTURES, (40, 1)), rng.integers(0, 8, (40, 9)), rng.integers(0, 7, (40, 9))
    at_once = texels.at(*index_arrays)
    assert at_once.shape == (40, 9, 8)
    monkeypatch.setattr(lowering_maps, "AT_A_TIME", 50)
    assert np.array_equal(texels.at(*index_arrays), at_once)
    picture, row, column = (int(np.broadcast_to(indices, (40, 9))[3, 4]) for indices in index_arrays)
    inside = 0 < row < 7 and 0 < column < 6
    zero = 0.0 if alpha else 7.0 / 255.0
    stored = np.full(6, zero)
    if inside:
        steps = 256.0 if half else 1.0
        exact = maps[picture * 3 // PICTURES, row - 1, column - 1] * (255.0 / value.scale_of) + 7.0
        stored = np.clip(np.floor(exact * steps + 0.5) / steps, 0.0, 255.0) / 255.0
    assert at_once[3, 4] == pytest.approx([*stored, *[float(alpha and inside)] * 2], abs=1e-7)


@pytest.mark.parametrize(
    ("shapes", "fits"),
    [
        ([(2, 4)], True),
        ([(2, 4), (2,)], True),
        ([(2, 4), (3,)], False),
        ([(2, 4), (2, 4)], False),
        ([(3, 4), (2,)], False),
        ([(2,)], False),
        ([(2, 4), (2,), (2,)], False),
    ],
)
def test_stored_starts_of_another_layout_are_computed_again(shapes: list[tuple[int, ...]], fits: bool) -> None:
    maps = CalibrationMaps(dict, stored={"a apart": tuple(np.ones(shape, np.float32) for shape in shapes)})
    new = truncation.Starts(np.zeros((2, 4), np.float32), np.zeros(2, np.float32))
    result = truncation.Starts.cached(maps, "a apart", 2, lambda: new)
    assert bool(result.truncated.all()) == fits
    assert (result.fetch_offsets is None) == (shapes == [(2, 4)])


def test_results_of_layers_whose_weights_change_are_forgotten() -> None:
    maps = CalibrationMaps(dict)
    keys = ["a rounded", "a in a texture", "ab rounded", "b rounded"]
    for key in keys:
        maps.cached(key, lambda: (np.zeros(1),))
    maps.forget({"a"})
    assert list(maps.calibration_data) == keys[2:]

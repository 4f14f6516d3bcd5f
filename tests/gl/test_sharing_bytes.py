"""Layers that share textures compute the same bytes as layers with separate textures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import ranged
import tiny
from plain_runner import PlainRunner
from random_networks import KINDS, network, pick

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import classes_of, to_bundle
from glsl_infer.compiler.calibration_maps import compute_maps
from glsl_infer.compiler.memory import METHODS
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.lowering.target import Target
from glsl_infer.program.layout import LAYOUTS
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.session import Session

MODELS = Path(__file__).resolve().parents[2] / "models"
SHARED = [method for method in METHODS if method != "naive"]


class Maker:
    """Bundles of one graph with different texture sharing; its calibration maps are computed once."""

    def __init__(self, graph: Graph, layout: str = "atlas") -> None:
        self._graph, self._layout = graph, layout
        self._maps = CalibrationMaps(lambda: compute_maps(graph, ()))

    def __call__(self, memory: str) -> Bundle:
        program = lower.to_program(
            self._graph, Target(weights="uniform", layout=self._layout, memory=memory), maps=self._maps
        )
        return to_bundle(program, [f"class {index}" for index in range(classes_of(self._graph))])


def outputs(context: Context, bundle: Bundle) -> dict[str, bytes]:
    """Return the bytes of every layer for an image, of a frame of another, and of a frame of the first again."""
    size = bundle.manifest.input.size
    first, second = np.random.default_rng(5).integers(0, 256, (2, size, size, 3), np.uint8)
    with Session(bundle, context=context, selfcheck=True) as session:
        results = {name: output.tobytes() for name, output in session.layers(first)}
        return {**results, "another": session.run(second).tobytes(), "frame": session.run(first).tobytes()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["grocery-x22-385", "trashnet-x22-129", "superres-x2-96"])
def test_shipped_models(context: Context, name: str) -> None:
    """X22 at its largest and smallest size; those in between share textures in the same way."""
    graph = bundles.read(MODELS / f"{name}.glslnn").graph
    maker = Maker(graph)
    expected = outputs(context, maker("naive"))
    for method in SHARED:
        assert outputs(context, maker(method)) == expected, method


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "seeds",
    [pytest.param((0,), marks=pytest.mark.drivers("all")), pytest.param((1, 2), marks=pytest.mark.exhaustive)],
    ids=["one", "more"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_random_networks(context: Context, kind: str, seeds: tuple[int, ...]) -> None:
    for seed in seeds:
        rng = np.random.default_rng([seed, list(KINDS).index(kind)])
        graph, layout = network(kind, rng), pick(rng, LAYOUTS)
        size = graph.input.attrs["shape"][0]
        pictures = [rng.integers(0, 256, (size, size, 3), np.uint8) for _ in range(3)]
        prepared = prepare(graph, Calibration(pictures), target=Target(layout=layout)).graph
        maker = Maker(prepared, layout)
        expected = outputs(context, maker("naive"))
        for method in SHARED:
            assert outputs(context, maker(method)) == expected, (seed, method)


@pytest.mark.drivers("all")
@pytest.mark.parametrize("layer", ["unit-pw", "unit-dw", "dense"])
def test_a_layer_alone_has_clean_gutters_after_another_used_its_texture(context: Context, layer: str) -> None:
    results = []
    for method in ("naive", "by-size"):
        with Session(tiny.tiny_bundle(memory=method), context=context) as session:
            session.run(tiny.tiny_picture(1))  # leaves the last layer's texels in every shared texture
            rng = np.random.default_rng(0)
            shapes = session.bundle.graph.shapes
            inputs = [rng.uniform(0, 1, shapes[name]) for name in session.bundle.graph.by_name[layer].inputs]
            results.append(session.run_layer(layer, inputs))
    assert np.array_equal(*results)


@pytest.mark.drivers("all")
def test_the_plain_runner_draws_shared_textures(tmp_path: Path) -> None:
    picture = tiny.tiny_picture(3)
    bundle = tiny.tiny_bundle(memory="by-size")
    bundles.write(bundle, tmp_path / "shared.glslnn")
    with Session(tiny.tiny_bundle(memory="naive")) as session:
        expected = session.run(picture)
    with Context() as context:
        runner = PlainRunner(tmp_path / "shared.glslnn", context.gl, driver_of(context).device_lines)
        assert len(list(runner.layers({"image": picture.tobytes()}))) == 6
        ((_, numbers),) = runner.results().values()
        np.testing.assert_allclose(numbers, expected, rtol=3e-7)


@pytest.mark.drivers("all")
def test_clear_colours_are_those_of_the_layers(context: Context) -> None:
    """Clear colours match the layers if gutters with and without 0 are in one network."""
    graph = prepare(ranged.ranged_graph(), Calibration([ranged.ranged_picture(seed) for seed in range(3)])).graph
    maker = Maker(graph)
    expected = outputs(context, maker("naive"))
    for method in SHARED:
        assert outputs(context, maker(method)) == expected, method

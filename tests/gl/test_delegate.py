"""CPU layers between GPU parts: every layer in turn, and operators that only the CPU computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import parted
import pytest
from numpy.typing import NDArray
from ranged import ranged_graph, ranged_picture
from several import SEVERAL, several_inputs

from glsl_infer import Classifier
from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import InputError, RunError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.host_steps import ARGMAX
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

InputArrays = Mapping[str, NDArray[Any]]

NETWORKS: dict[str, tuple[Graph, Sequence[InputArrays]]] = {
    "logits": (ranged_graph(), [{"image": ranged_picture(seed)} for seed in range(2)]),
    "image": (ranged_graph("image"), [{"image": ranged_picture(seed)} for seed in range(2)]),
    **{name: (make(), [several_inputs(make(), seed) for seed in range(2)]) for name, make in SEVERAL.items()},
}


def layers() -> list[tuple[str, str]]:
    return [
        (name, node.name)
        for name, (graph, _) in NETWORKS.items()
        for node in optimize(graph).nodes
        if not node.operator.is_input
    ]


def labels(graph: Graph) -> tuple[str, ...]:
    return tuple("abcdefgh"[: classes_of(optimize(graph))])


@pytest.mark.parametrize("name, layer", layers())
def test_every_layer_in_turn(context: Context, name: str, layer: str) -> None:
    graph, samples = NETWORKS[name]
    options = Options(delegate_for=(layer,), weights="uniform")
    built = build(graph, labels(graph), options=options, calibration=samples)
    assert any(layer in part.nodes for part in built.parts if part.on_cpu)
    with Session(built.bundle, context=context, cache=False, selfcheck=True) as session:
        results, values = session.run(samples[0]), session.output_values()
    expected = reference.run(built.bundle, samples[0])
    for output in built.bundle.manifest.outputs:
        if any(step.step == ARGMAX for step in output.steps):
            assert (results[output.name] != expected[output.name]).mean() < 0.02
            continue
        largest = max(1.0, float(np.abs(np.concatenate([x.ravel() for x in values[output.name]])).max()))
        assert np.abs(results[output.name] - expected[output.name]).max() <= 0.03 * largest, output.name


def test_attention_between_shaders(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "m.glslnn"
    bundles.write(parted.parted_bundle(), path, read_back=True)
    picture = np.random.default_rng(0).integers(0, 256, (11, 11, 3), np.uint8)
    exact = reference.run(parted.attentive(), picture, mode="float")
    with Session(path, context=context, selfcheck=True) as session:
        outputs = session.run(picture)
        kinds = [(run.kind, run.uploaded > 0, run.read_back > 0) for run in session.part_runs]
        assert kinds == [("gpu", True, True), ("cpu", False, False), ("gpu", True, True)]
        assert [name for name, _ in session.layers(picture)][:4] == ["a", "rows", "query", "mixed"]
        assert session.run_async(picture).result().tolist() == outputs.tolist()
        assert [result.tolist() for result in session.stream([picture] * 2)] == [outputs.tolist()] * 2
        assert (session.input_pixels() == picture).all()
        assert session.statistics().passes == sum(len(part.manifest.passes) for part in session.bundle.gpu_parts)
    assert np.abs(outputs - reference.run(bundles.read(path), picture)).max() <= 0.02
    assert np.abs(outputs - exact).max() <= 0.2
    with Classifier(path, context=context) as classifier:
        best = classifier.classify(np.zeros((20, 30, 3), np.uint8), top=1)[0]
        assert best.label in parted.LABELS


def test_a_detector_runs_in_two_parts(context: Context) -> None:
    built = build(parted.detector(), ())
    picture = np.random.default_rng(1).integers(0, 256, (13, 13, 3), np.uint8)
    with Session(built.bundle, context=context, cache=False) as session:
        results = session.run({"image": picture})
    expected = reference.run(built.bundle, {"image": picture})
    assert [part.on_cpu for part in built.parts] == [False, True]
    assert {name: array.shape for name, array in results.items()} == {"boxes": (6, 4), "best": (6, 2)}
    assert np.abs(results["boxes"] - expected["boxes"]).max() <= 0.2
    assert (results["best"] == expected["best"]).mean() >= 0.8


def test_a_picture_that_the_cpu_reads(context: Context) -> None:
    """A CPU part reads the image first, and a GPU part reads both."""
    rng = np.random.default_rng(2)
    body = [
        parted.input_node(8).with_attrs(scales=(2.0,), zeros=(127.5,)),
        Node("flipped", "tensor_softmax", ("image",), {"axis": 0}),
        Node("both", "concat", ("image", "flipped")),
        parted.conv_node(rng, "a", ("both",), 6, 4, kernel=(3, 3)),
        parted.pool_node("pool", "a"),
        parted.dense_node(rng, "dense", "pool", 4, 3),
    ]
    built = build(Graph("m", body, "dense"), parted.LABELS)
    picture = rng.integers(0, 256, (8, 8, 3), np.uint8)
    with Session(built.bundle, context=context, cache=False) as session:
        outputs = session.run(picture)
        larger = session.run(picture.repeat(2, 0).repeat(2, 1))
    assert np.abs(outputs - reference.run(built.bundle, picture)).max() <= 0.02
    assert np.abs(outputs - larger).max() <= 0.2


def own(x: NDArray[Any], *, factor: float) -> NDArray[Any]:
    return x * factor


def custom_bundle() -> Bundle:
    """Return a bundle with a custom operator on the CPU."""
    rng = np.random.default_rng(3)
    settings = {"calls": "mine:own", "shape": (6, 6, 4), "settings": '{"factor": 0.5}'}
    body = [
        parted.input_node(6),
        parted.conv_node(rng, "a", ("image",), 3, 4),
        Node("half", "custom", ("a",), settings),
    ]
    graph = Graph("m", body, "half")
    return build(graph, ()).bundle


def test_custom_operators_are_passed_in_and_never_loaded(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "m.glslnn"
    bundles.write(custom_bundle(), path, read_back=True)
    picture = np.random.default_rng(0).integers(0, 256, (6, 6, 3), np.uint8)
    with pytest.raises(InputError, match="'mine:own'"):
        Session(path, context=context)
    with Session(path, context=context, operators={"mine:own": own}) as session:
        a, half = dict(session.layers(picture)).values()
        assert (half == a * np.float32(0.5)).all() and (session.run(picture) == half).all()
    wrong = {"mine:own": lambda x, factor: x[:1]}
    with (
        Session(path, context=context, operators=wrong) as session,
        pytest.raises(
            InputError, match=r"returned float32 \(1, 6, 4\); the model expects numbers of shape \(6, 6, 4\)"
        ),
    ):
        session.run(picture)


def test_tools_for_one_gpu_program_refuse_parts(context: Context) -> None:
    with Session(parted.parted_bundle(), context=context, cache=False) as session:
        with pytest.raises(InputError, match=r"runs in 3 parts, some of them on the CPU \(.*attention.*\)"):
            _ = session.bundle.network
        for call in (session.draw_layer, session.read_texture):
            with pytest.raises(InputError, match="the model runs in parts"):
                call("a")
        with pytest.raises(InputError, match="'image'"):
            session.run({})


def test_invalid_attributes_are_reported(context: Context) -> None:
    body = [
        parted.input_node(6),
        parted.conv_node(np.random.default_rng(0), "a", ("image",), 3, 4),
        Node("n", "tensor_norm", ("a",), {"epsilon": "x"}),
    ]
    built = build(Graph("m", body, "n"), ())
    with Session(built.bundle, context=context, cache=False) as session, pytest.raises(RunError, match="layer 'n'"):
        session.run(np.zeros((6, 6, 3), np.uint8))

"""Several inputs and outputs in a session: every layer, every output, and error messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from graphs import conv_node, dense_node, pool_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import each_of
from several import SEVERAL, several_bundle, several_inputs

from glsl_infer import Classifier, TexturePicture, ops
from glsl_infer.bundle import Bundle
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import classes_of, to_bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.errors import ImageError, InputError
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.graph.host_steps import ARGMAX, HostStep
from glsl_infer.graph.picture import FITS
from glsl_infer.lowering.target import Target
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program.layout import SixteenBitMap
from glsl_infer.program.texels import in_steps
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session


def random_ends(seed: int) -> Graph:
    """Return a network of one to three images, maps and vectors, with one to four outputs."""
    rng = np.random.default_rng(seed)
    height, width = (int(rng.integers(5, 15)) for _ in range(2))
    nodes: list[Node] = []
    maps: list[tuple[str, int]] = []
    vectors: list[tuple[str, int]] = []
    for index in range(int(rng.integers(1, 4))):
        _input(rng, index, nodes, maps, vectors, height, width)
    if not maps:
        channels = int(rng.choice([1, 3]))
        nodes.append(Node("shown", "input", (), {"shape": (height, width, channels)}))
        maps.append(("shown", channels))
    trunk = []
    for index, (name, channels) in enumerate(maps):
        filters = int(rng.integers(1, 10))
        around = (1, 1, 1, 1)
        nodes.append(
            conv_node(rng, f"conv{index}", (name,), channels, filters, kernel=(3, 3), padding=around, strides=(2, 2))
        )
        trunk.append((f"conv{index}", filters))
    concatenated, channels = trunk[0]
    if len(trunk) > 1:
        nodes.append(Node("joined", "concat", tuple(name for name, _ in trunk)))
        concatenated, channels = "joined", sum(count for _, count in trunk)
    nodes.append(pool_node("pool", concatenated))
    vectors.append(("pool", channels))
    vector, length = vectors[0]
    if len(vectors) > 1:
        nodes.append(Node("all", "concat", tuple(name for name, _ in vectors)))
        vector, length = "all", sum(count for _, count in vectors)
    return Graph(f"random{seed}", nodes, _outputs(rng, nodes, concatenated, channels, vector, length))


def _input(
    rng: np.random.Generator,
    index: int,
    nodes: list[Node],
    maps: list[tuple[str, int]],
    vectors: list[tuple[str, int]],
    height: int,
    width: int,
) -> None:
    """Add an input of a random kind."""
    name, kind = f"in{index}", int(rng.integers(3))
    if kind == 0:
        channels, fit = int(rng.choice([1, 3, 4])), str(rng.choice(list(FITS)))
        ranged = {"scales": (2.0,), "zeros": (127.5,)} if channels != 4 and rng.random() < 0.5 else {}
        nodes.append(Node(name, "input", (), {"shape": (height, width, channels), "fit": fit, **ranged}))
        maps.append((name, channels))
    elif kind == 1:
        channels = int(rng.integers(1, 9))
        attrs = {
            "shape": (height, width, channels),
            "fit": None,
            "scales": (1.5,),
            "zeros": (float(rng.integers(256)),),
        }
        nodes.append(Node(name, "input", (), attrs))
        maps.append((name, channels))
    else:
        length = int(rng.integers(1, 12))
        nodes.append(Node(name, "input_fixed", (), {"shape": (length,), "low": -3.0, "high": 2.0}))
        vectors.append((name, length))


def _outputs(
    rng: np.random.Generator, nodes: list[Node], concatenated: str, channels: int, vector: str, length: int
) -> list[GraphOutput]:
    """Add the heads, and return the outputs."""
    outputs: list[GraphOutput] = []
    if rng.random() < 0.6:
        nodes.append(conv_node(rng, "mask", (concatenated,), channels, int(rng.integers(2, 7))))
        outputs.append(GraphOutput("mask", ("mask",), (HostStep("argmax"),)))
    if rng.random() < 0.6:
        nodes += [conv_node(rng, f"rows{index}", (concatenated,), channels, 6 + 3 * index) for index in range(2)]
        steps = (HostStep("rows", 3), HostStep("concatenate"), HostStep("sigmoid"))
        outputs.append(GraphOutput("rows", ("rows0", "rows1"), steps))
    if rng.random() < 0.6:
        nodes.append(dense_node(rng, "vector", vector, length, 5))
        outputs.append(GraphOutput("vector", ("vector",), (HostStep("l2-normalize"),)))
    if not outputs or rng.random() < 0.5:
        nodes.append(dense_node(rng, "first", vector, length, 7, activation="relu"))
        nodes.append(dense_node(rng, "second", vector, length, 7))
        nodes.append(Node("summed", "add", ("first", "second"), {"activation": "relu"}))
        nodes.append(Node("likely", "softmax", ("summed",)))
        outputs.append(GraphOutput("likely", ("likely",)))
    # A layer that no output reads would be drawn in vain, and an input must have a reader.
    read = {layer for output in outputs for layer in output.layers}
    for node in reversed(nodes):
        if node.name in read:
            read.update(node.inputs)
    nodes[:] = [node for node in nodes if node.name in read]
    return outputs


NAMES = ("several", "alpha", "numbers")
OFF = 2
"""Largest error of a pixel scaled by shaders, in steps of 1/255."""


@pytest.fixture(scope="module")
def sessions(context: Context) -> Iterator[dict[str, Session]]:
    opened = {name: Session(several_bundle(name), context=context) for name in NAMES}
    yield opened
    for session in opened.values():
        session.close()


def inputs(name: str, seed: int = 0) -> dict[str, Any]:
    return several_inputs(several_bundle(name).graph, seed)


def same(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert list(left) == list(right)
    for name, array in left.items():
        np.testing.assert_array_equal(array, right[name])


def photograph(height: int, width: int, channels: int) -> np.ndarray:
    """Return an image with both smooth parts and noise."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    smooth = 127 + 90 * np.sin(x / (7 + c) + y / (11 - c))
    return np.clip(smooth + np.random.default_rng(1).normal(0, 40, smooth.shape), 0, 255).astype(np.uint8)


def close(left: np.ndarray, right: np.ndarray) -> None:
    assert left.shape == right.shape
    assert np.abs(left.astype(int) - right.astype(int)).max() <= OFF


# Running -------------------------------------------------------------------------------------------
@pytest.mark.drivers("all")
@each_of(("layout", ["atlas", "planar"]), ("name", NAMES))
def test_outputs_have_their_shapes(context: Context, name: str, layout: str) -> None:
    bundle = several_bundle(name, layout=layout)
    with Session(bundle, context=context, selfcheck=True) as session:
        results = session.run(inputs(name))
    assert {key: result.shape for key, result in results.items()} == {
        output.name: output.shape for output in bundle.manifest.outputs
    }
    assert {result.dtype for result in results.values()} == {np.dtype(np.float32)}


@pytest.mark.drivers("all")
def test_outputs_are_near_those_of_the_reference(sessions: dict[str, Session]) -> None:
    values = inputs("alpha")
    exact = reference.run(several_bundle("alpha"), values)
    for name, result in sessions["alpha"].run(values).items():
        np.testing.assert_allclose(result, exact[name], atol=0.05)


@pytest.mark.drivers("all")
@pytest.mark.parametrize("name", NAMES)
def test_pending_frames_keep_their_own_inputs(sessions: dict[str, Session], name: str) -> None:
    session, frames = sessions[name], [inputs(name, seed) for seed in range(4)]
    alone = [session.run(frame) for frame in frames]
    assert any(not np.array_equal(alone[0][output], alone[1][output]) for output in alone[0])
    for left, right in zip(session.stream(frames), alone):
        same(left, right)
    first, second = session.run_async(frames[0]), session.run_async(frames[1])
    same(second.result(), alone[1])
    same(first.result(), alone[0])


@pytest.mark.drivers("all")
def test_layers_end_in_the_outputs(sessions: dict[str, Session]) -> None:
    session, values = sessions["numbers"], inputs("numbers")
    results, layers = session.run(values), dict(session.layers(values))
    assert not {"heat", "depth", "speed"} & set(layers)
    np.testing.assert_allclose(results["grid"], layers["added"].reshape(-1, 2))


@pytest.mark.drivers("all")
def test_statistics_count_textures_of_all_inputs(sessions: dict[str, Session]) -> None:
    session = sessions["numbers"]
    assert session.statistics().texture_bytes == sum(
        4 * texture.width * texture.height for texture in session.bundle.manifest.textures
    )


# Values --------------------------------------------------------------------------------------------
@pytest.mark.drivers("all")
def test_numbers_of_any_type_are_clipped(sessions: dict[str, Session]) -> None:
    session, values = sessions["numbers"], inputs("numbers")
    integers = {**values, "speed": np.array([3, 0, 7, 1])}
    for kind in (np.float64, np.float16, np.uint8, np.int64):
        same(session.run({**integers, "speed": integers["speed"].astype(kind)}), session.run(integers))
    largest = session.run({**values, "speed": np.full(4, 1e9)})
    same(session.run({**values, "speed": np.full(4, np.inf)}), largest)
    same(session.run({**values, "speed": [1e9] * 4}), largest)


@pytest.mark.drivers("all")
def test_axes_before_the_last_two_can_differ(sessions: dict[str, Session]) -> None:
    """Extra leading axes are accepted: a batch of 1, and frames, which form one map, each below the previous one."""
    session, values = sessions["numbers"], inputs("numbers")
    heat = np.asarray(values["heat"])
    frames = heat.reshape(-1, 1, *heat.shape[1:])
    for change in ({"speed": np.asarray(values["speed"])[None]}, {"heat": heat[None]}, {"heat": frames}):
        same(session.run({**values, **change}), session.run(values))
    with pytest.raises(InputError, match="input 'heat'"):
        session.run({**values, "heat": heat.reshape(-1)})


@pytest.mark.drivers("all")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"speed": np.zeros(5)}, r"input 'speed' reads numbers of shape \(4,\); float64 \(5,\) was given"),
        ({"speed": np.array([1, np.nan, 3, 4])}, "input 'speed': NaN is among the numbers"),
        ({"speed": np.zeros(4, complex)}, "input 'speed' reads numbers .*; complex128"),
        ({"speed": "fast"}, r"input 'speed' reads numbers of shape \(4,\); str was given"),
        ({"speed": TexturePicture(1, 4, 1)}, "TexturePicture was given"),
        ({"more": np.zeros(4)}, "inputs: there is no 'more'; the model reads heat, depth, speed"),
    ],
)
def test_unsuitable_numbers_are_refused(sessions: dict[str, Session], change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sessions["numbers"].run({**inputs("numbers"), **change})


@pytest.mark.drivers("all")
def test_names_are_needed(sessions: dict[str, Session]) -> None:
    session, values = sessions["several"], inputs("several")
    with pytest.raises(InputError, match="inputs image, numbers and the outputs label, mask, boxes; give a dict"):
        session.run(values["image"])
    with pytest.raises(InputError, match="'numbers'"):
        session.run({"image": values["image"]})
    with pytest.raises(InputError, match="inputs picture and the outputs embedding, map; give a dict"):
        session = sessions["alpha"]
        session.run(inputs("alpha")["picture"])


# Images --------------------------------------------------------------------------------------------
SIZES = [(144, 256), (300, 300), (100, 640), (77, 31), (1, 1), (143, 257), (600, 90)]


@pytest.mark.drivers("all")
@each_of(("name", ["several", "alpha"]), ("height, width", SIZES))
def test_pictures_of_other_sizes(sessions: dict[str, Session], name: str, height: int, width: int) -> None:
    session = sessions[name]
    model_input = session.bundle.manifest.inputs[0]
    picture = photograph(height, width, model_input.channels)
    session.upload({**inputs(name), model_input.name: picture})
    pixels = picture[..., 0] if model_input.channels == 1 else picture
    close(session.input_pixels(model_input.name), preprocess.load_for(pixels, model_input))


@pytest.mark.drivers("all")
@pytest.mark.parametrize("name", ["several", "alpha"])
def test_textures_become_grey_or_keep_their_alpha(context: Context, sessions: dict[str, Session], name: str) -> None:
    session = sessions[name]
    model_input = session.bundle.manifest.inputs[0]
    picture = photograph(90, 120, 4)
    with Objects(context.gl) as objects:
        context.make_current()
        texture = TexturePicture(objects.texture(120, 90, picture.tobytes()), 120, 90)
        session.upload({**inputs(name), model_input.name: texture})
        expected = picture[..., :3] if model_input.channels == 1 else picture
        close(session.input_pixels(model_input.name), preprocess.load_for(np.ascontiguousarray(expected), model_input))


@pytest.mark.drivers("all")
def test_letterboxes_are_opaque_and_leave_the_gutter(sessions: dict[str, Session]) -> None:
    """A letterbox is black and opaque inside the picture, and the texture around it does not change."""
    session = sessions["alpha"]
    (texture,) = session.bundle.manifest.inputs[0].textures
    session.upload(inputs("alpha"))
    before = session.gpu_executors[0]._transfers.read_texture(texture, session.gpu_executors[0]._handles)
    session.upload({"picture": photograph(50, 20, 4)})
    after = session.gpu_executors[0]._transfers.read_texture(texture, session.gpu_executors[0]._handles)
    view = session.bundle.manifest.inputs[0].value.views[0]
    inside = np.zeros(after.shape[:2], bool)
    inside[view.y : view.y + 10, view.x : view.x + 14] = True
    np.testing.assert_array_equal(after[~inside], before[~inside])
    assert (after[view.y : view.y + 10, view.x] == (0, 0, 0, 255)).all()


@pytest.mark.drivers("all")
def test_a_picture_larger_than_textures_is_scaled_on_the_cpu(
    sessions: dict[str, Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = sessions["alpha"]
    monkeypatch.setattr(session.gpu_executors[0]._inputs.pictures["picture"], "_limit", 30)
    picture = photograph(31, 40, 4)
    session.upload({"picture": picture})
    exact = preprocess.load_for(picture, session.bundle.manifest.inputs[0])
    np.testing.assert_array_equal(session.input_pixels(), exact)


@pytest.mark.drivers("all")
def test_grey_pictures_with_and_without_a_third_axis(sessions: dict[str, Session]) -> None:
    session, values = sessions["several"], inputs("several")
    same(session.run({**values, "image": values["image"][..., 0]}), session.run(values))
    with pytest.raises(ImageError, match="input 'image'"):
        session.run({**values, "image": np.zeros((9, 9, 3), np.uint8)})


# Classes -------------------------------------------------------------------------------------------
def tagger(*steps: HostStep) -> Bundle:
    """Return a network with a letterboxed grey input, classes after some host steps, and a map as second output."""
    rng = np.random.default_rng(3)
    body = [
        Node("image", "input", (), {"shape": (8, 12, 1), "fit": "letterbox/area-average"}),
        conv_node(rng, "conv", ("image",), 1, 4),
        pool_node("pool", "conv"),
        dense_node(rng, "dense", "pool", 4, 3),
    ]
    outputs = [GraphOutput("tags", ("dense",), steps, "classes"), GraphOutput("map", ("conv",), purpose="values")]
    return make_bundle(Graph("tagger", body, outputs))


@pytest.mark.drivers("all")
@pytest.mark.parametrize("step", ["sigmoid", "softmax", None])
def test_probabilities_of_the_output_for_classes(context: Context, step: str | None) -> None:
    model = tagger(*([HostStep(step)] if step else []))
    with Classifier(model, context=context) as classifier:
        picture = photograph(30, 20, 3)
        logits = classifier.session.run({"image": preprocess.load_for(picture, model.manifest.input)})["tags"]
        best = classifier.classify(picture, top=3)
        (streamed,) = classifier.stream([picture])
        assert classifier.rank(streamed, 3)[0].label == classifier.rank(classifier.start(picture).result())[0].label
    probabilities = {prediction.index: prediction.probability for prediction in best}
    exponentials = np.exp(logits.astype(np.float64))
    expected = logits if step else exponentials / exponentials.sum()
    np.testing.assert_allclose([probabilities[index] for index in range(3)], expected, rtol=1e-5)
    assert [prediction.probability for prediction in best] == sorted(probabilities.values(), reverse=True)
    assert (sum(probabilities.values()) == pytest.approx(1)) == (step != "sigmoid")


@pytest.mark.drivers("all")
@pytest.mark.parametrize(
    ("name", "message"),
    [("several", "inputs are 'image' .picture., 'numbers' .numbers."), ("alpha", "is not a classifier")],
)
def test_models_without_image_or_classes_are_refused_as_classifiers(context: Context, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Classifier(several_bundle(name), context=context)


def check(context: Context, bundle: Bundle, seed: int) -> None:
    """Run a bundle, and compare every layer and every output with the reference."""
    values = several_inputs(bundle.graph, seed)
    expected = dict(reference.layers(bundle, values))
    with Session(bundle, context=context, selfcheck=True) as session:
        for name, actual in session.layers(values):
            error = np.abs(in_steps(actual, bundle.values[name]) - in_steps(expected[name], bundle.values[name]))
            # A tie that goes the other way in a layer can change the following layers by a step or two.
            few = (
                0.3 if isinstance(bundle.values[name], SixteenBitMap) else 0.02
            )  # 256 times finer steps show float errors
            assert error.max() < 3.01 and (error > 0.01).mean() < few, name
        results = session.run(values)
        for node in bundle.graph.nodes:
            if not node.operator.is_input and not isinstance(ops.get(node.op), ViewOperator):
                inputs = stored_inputs(bundle, node.name, np.random.default_rng(seed))
                allowed = TOLERANCE + 2.0 * isinstance(
                    bundle.values[node.name], SixteenBitMap
                )  # see test_statistics.py
                assert layer_error(session, node.name, inputs) <= allowed, node.name
    reference_output = reference.run(bundle, values)
    assert list(results) == list(reference_output)
    for output in bundle.manifest.outputs:
        assert results[output.name].shape == output.shape
        same = results[output.name] == reference_output[output.name]
        if any(step.step == ARGMAX for step in output.steps):
            assert same.mean() > 0.95
        else:
            (layers,) = (each.layers for each in bundle.graph.outputs if each.name == output.name)
            maps = [value for value in map(bundle.values.get, layers) if isinstance(value, SixteenBitMap)]
            allowed = max(0.045, *(1.01 * float(np.max(value.scale_of)) / 65280.0 for value in maps), 0.0)
            assert np.abs(results[output.name] - reference_output[output.name]).max() < allowed or same.all()


@pytest.mark.drivers("all")
@each_of(("layout", ["atlas", "planar"]), ("name", [*SEVERAL]))
def test_several_inputs_and_outputs(context: Context, name: str, layout: str) -> None:
    check(context, several_bundle(name, layout), 1)


@pytest.mark.drivers("all")
def test_outputs_stay_until_the_frame_ends(context: Context) -> None:
    """An output that is drawn early keeps its texture until the frame ends: its bytes are the same without sharing."""
    inputs = several_inputs(several_bundle("several").graph, 3)
    frames = []
    for memory in ("naive", "by-size"):
        with Session(several_bundle("several", memory=memory), context=context) as session:
            frames.append(session.run(inputs))
    for name, first in frames[0].items():
        assert (first == frames[1][name]).all(), name


@pytest.mark.drivers("all")
@pytest.mark.parametrize("seed", range(12))
def test_random_networks(context: Context, seed: int) -> None:
    graph = optimize(random_ends(seed))
    layout = "planar" if seed % 3 == 0 else "atlas"
    program = lower.to_program(prepare(graph, target=Target(layout=layout)).graph, Target(layout=layout))
    bundle = to_bundle(program, [f"class {index}" for index in range(classes_of(program.graph))])
    check(context, bundle, seed)

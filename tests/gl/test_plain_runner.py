"""bundle-format.md is enough to write a runner: a runner written from it gives the same bytes as the engine."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import graphs
import numpy as np
import pytest
import ranged
import tiny
from bundle_files import rehashed, zipped
from numpy.typing import NDArray
from pairwise import each_of
from plain_runner import PlainRunner
from plain_values import decode, of
from several import several_bundle, several_inputs

from glsl_infer import Session
from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.bundle.probe import RECORD
from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.ranges import prepare
from glsl_infer.errors import BundleError, SelfCheckError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph
from glsl_infer.program.layout import LAYOUTS
from glsl_infer.runtime.drivers import driver_of

pytestmark = pytest.mark.drivers("all")


@pytest.mark.sampled(4)
@each_of(("layout", LAYOUTS), ("weights", ["auto", "baked", "uniform"]))
def test_same_bytes_as_the_engine(tmp_path: Path, weights: str, layout: str) -> None:
    path = tiny.write_tiny(tmp_path, weights=weights, layout=layout)
    expected = frames(path, [tiny.tiny_picture(1), tiny.tiny_picture(2)])
    with Context() as context:
        runner = PlainRunner(path, context.gl, driver_of(context).device_lines)
        for picture, logits, textures in expected:
            drawn = list(runner.layers({"image": picture.tobytes()}))
            assert drawn == ["stem", "expand", "unit-pw", "unit-dw", "pool", "dense"]
            assert {name: runner.read(name) for name in textures} == textures
            same(runner, {"softmax": logits})
        context.gl.check("in the plain runner")


@pytest.mark.sampled(4)
@each_of(("layout", LAYOUTS), ("end", ranged.ENDS))
def test_ranges_wide_convolutions_pooling_and_images(tmp_path: Path, end: str, layout: str) -> None:
    path = ranged.write_ranged(tmp_path, end, layout)
    expected = frames(path, [ranged.ranged_picture(1), ranged.ranged_picture(2)])
    with Context() as context:
        runner = PlainRunner(path, context.gl, driver_of(context).device_lines)
        assert any(any(clear) for clear in runner.clears.values()), "a gutter that is not 0 is tested"
        for picture, output, textures in expected:
            drawn = list(runner.layers({"image": picture.tobytes()}))
            assert drawn[:4] == ["first", "wide-products", "wide", "peak"]
            assert {name: runner.read(name) for name in textures} == textures
            if end == "logits":
                same(runner, {"dense": output})
            else:
                pixels = np.clip(np.floor(output.astype(np.float64) / 2.0 * 255.0 + 127.5 + 0.5), 0, 255)
                assert runner.image("large") == pixels.astype(np.uint8).tobytes()
        assert failed_layers(runner) == []
        context.gl.check("in the plain runner")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_probe_passes(tmp_path: Path, layout: str) -> None:
    path = tiny.write_tiny(tmp_path, layout=layout)
    with Context() as context:
        assert failed_layers(PlainRunner(path, context.gl, driver_of(context).device_lines)) == []


def test_the_probe_finds_a_wrong_clear_colour(tmp_path: Path) -> None:
    with Context() as context:
        runner = PlainRunner(ranged.write_ranged(tmp_path), context.gl, driver_of(context).device_lines)
        runner.clears = {name: [0, 0, 0, 0] for name in runner.clears}
        assert failed_layers(runner)[0] == "each"


def test_partial_sums_are_compared_as_whole_numbers(tmp_path: Path) -> None:
    """Partial sums are compared as integers: from 0x8000 to 0x7fff is one step, and the high byte alone is 256."""
    bundle = ranged.ranged_bundle()
    member = bundle.manifest.probe.member
    (probe,) = (layer for layer in bundle.manifest.probe.layers if layer.layer == "wide-products")
    records = np.frombuffer(bundle.members[member], RECORD).copy()
    values = records["value"][probe.offset : probe.offset + probe.count]
    row, half = np.argwhere(values[:, 1::2] == 0)[0]
    pair = (row, slice(2 * half, 2 * half + 2))
    path = ranged.write_ranged(tmp_path)
    for step, failed in (((-1, 255), []), ((-1, 0), ["wide-products"])):
        old = values[pair].copy()
        values[pair] = old.astype(int) + step
        with Context() as context:
            runner = PlainRunner(path, context.gl, driver_of(context).device_lines)
            runner.members[member] = records.tobytes()
            assert failed_layers(runner) == failed
            with Session(Bundle(bundle.manifest, runner.members), context=context) as session:
                if failed:
                    with pytest.raises(SelfCheckError, match="layer 'wide-products'"):
                        session.selfcheck()
                else:
                    session.selfcheck()
        values[pair] = old


def test_the_probe_finds_the_damaged_layer(tmp_path: Path) -> None:
    with Context() as context:
        runner = PlainRunner(tiny.write_tiny(tmp_path), context.gl, driver_of(context).device_lines)
        runner.members["weights/unit-dw.f32"] = bytes(len(runner.members["weights/unit-dw.f32"]))
        failed = failed_layers(runner)
        assert failed[0] == "unit-dw"
        assert failed[-1] == "softmax"


def test_the_runner_imports_only_gl_functions() -> None:
    text = Path(__file__).with_name("plain_runner.py").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if "import" in line and "glsl_infer" in line] == [
        "from glsl_infer.gl import constants as GL",
        "from glsl_infer.gl.api import Api",
    ]


def test_values_beyond_an_odd_length_are_not_compared(tmp_path: Path) -> None:
    """Five hidden values take three texels; the sixth value is the activation of an empty lane and not compared."""
    rng = np.random.default_rng(4)
    nodes = (
        graphs.input_node(tiny.SIZE),
        graphs.conv_node(rng, "stem", ("image",), 3, 7, kernel=(3, 3)),
        graphs.pool_node("pool", "stem"),
        graphs.dense_node(rng, "hidden", "pool", 7, 5, activation=graphs.PLS),
        graphs.dense_node(rng, "dense", "hidden", 5, 3),
    )
    prepared = prepare(optimize.optimize(Graph("odd", nodes, "dense"))).graph
    bundles.write(to_bundle(lower.to_program(prepared), tiny.LABELS), tmp_path / "odd.glslnn")
    with Session(tmp_path / "odd.glslnn") as session:
        session.selfcheck()
    with Context() as context:
        assert failed_layers(PlainRunner(tmp_path / "odd.glslnn", context.gl, driver_of(context).device_lines)) == []


@pytest.mark.sampled(4)
@each_of(("layout", LAYOUTS), ("name", ["several", "alpha", "numbers"]))
def test_several_inputs_and_outputs(tmp_path: Path, name: str, layout: str) -> None:
    bundle = several_bundle(name, layout=layout)
    bundles.write(bundle, tmp_path / "several.glslnn")
    inputs = several_inputs(bundle.graph, 1)
    with Session(bundle) as session:
        expected = session.run(inputs)
    plain = {
        key: array.tobytes() if array.dtype == np.uint8 else array.ravel().tolist() for key, array in inputs.items()
    }
    with Context() as context:
        runner = PlainRunner(tmp_path / "several.glslnn", context.gl, driver_of(context).device_lines)
        for _ in runner.layers(plain):
            pass
        same(runner, expected)
        assert failed_layers(runner) == []
        context.gl.check("in the plain runner")


def test_the_engine_compares_the_outputs() -> None:
    bundle = tiny.tiny_bundle()
    (expected,) = bundle.manifest.probe.outputs
    outputs = (replace(expected, numbers=(*expected.numbers[:2], 9.0)),)
    manifest = replace(bundle.manifest, probe=replace(bundle.manifest.probe, outputs=outputs))
    with Session(Bundle(manifest, bundle.members)) as session, pytest.raises(SelfCheckError, match="whole frame"):
        session.selfcheck()


def frames(
    path: Path, pictures: list[NDArray[np.uint8]]
) -> list[tuple[NDArray[np.uint8], NDArray[np.float32], dict[str, bytes]]]:
    """Return the engine's frames: each picture with its output and the bytes of all targets."""
    with Session(path) as session:
        targets = [texture.name for texture in session.bundle.manifest.textures if texture.kind == "target"]
        frames_drawn = [
            (picture, session.run(picture), {name: session.read_texture(name).tobytes() for name in targets})
            for picture in pictures
        ]
    assert frames_drawn[0][2] != frames_drawn[1][2]
    return frames_drawn


def same(runner: PlainRunner, expected: dict[str, NDArray[np.float32]]) -> None:
    """Compare the outputs of the last frame with those of the engine."""
    results = runner.results()
    assert list(results) == list(expected)
    for name, (shape, values) in results.items():
        assert shape == expected[name].shape
        np.testing.assert_allclose(np.array(values, np.float32).reshape(shape), expected[name], rtol=3e-7)


def probe_inputs(runner: PlainRunner) -> dict[str, Any]:
    """Return the probe's inputs, by name, in the plain runner's format."""
    arguments: dict[str, Any] = {}
    for i, network_input in enumerate(runner.manifest["inputs"]):
        value = network_input["value"]
        height, width, channels = (value.get(key, 1) for key in ("height", "width", "channels"))
        stored = [
            ((3 * x * x + 5 * y * y + 7 * x * y) // 8 + 89 * c + 37 * i) % 256
            for y in range(height)
            for x in range(value.get("length", width))
            for c in range(channels)
        ]
        if network_input["kind"] == "picture":
            arguments[network_input["name"]] = bytes(stored)
        elif "scale" in value:
            arguments[network_input["name"]] = [256 * (b - 128) * value["scale"] / 256 for b in stored]
        else:
            scales, zeros = value["scales"], value["zeros"]
            arguments[network_input["name"]] = [
                of(scales, k % channels) * (b - of(zeros, k % channels)) / 255 for k, b in enumerate(stored)
            ]
    return arguments


def failed_layers(runner: PlainRunner) -> list[str]:
    """Run the probe; return the layers and then the outputs with errors above the tolerance."""
    manifest = runner.manifest
    probe = manifest["probe"]
    records = list(struct.iter_unpack("<HH4s", runner.members[probe["member"]]))
    entries = {layer_probe["layer"]: layer_probe for layer_probe in probe["layers"]}
    failed = []
    for name in runner.layers(probe_inputs(runner)):
        output, layer_probe, differences = entries[name]["value"], entries[name], []
        texels: dict[str, bytes] = {}
        for k, (x, y, expected) in enumerate(
            records[layer_probe["offset"] : layer_probe["offset"] + layer_probe["count"]]
        ):
            texture = output["texture"] if "texture" in output else output["views"][k % len(output["views"])][0]
            at = 4 * (y * runner.sizes[texture][0] + x)
            texel = texels.setdefault(texture, texels.get(texture) or runner.read(texture))[at : at + 4]
            if "views" in output and "scale" not in output and "bits" not in output:
                differences += [abs(a - b) for a, b in zip(texel, expected)]
            else:
                last = 2 if "views" in output else output["length"] - 2 * (y if output["columns"] else x)
                differences += [abs(a - b) for a, b in list(zip(decode(texel), decode(expected)))[:last]]
        if (
            max(differences) > layer_probe["max_error"]
            or sum(differences) / len(differences) > layer_probe["mean_error"]
        ):
            failed.append(name)
    before = runner.values()
    for _ in runner.layers(probe_inputs(runner)):
        pass
    for expected, (name, arrays) in zip(probe["outputs"], runner.values().items()):
        reference_output = [expected["numbers"]] if expected["numbers"] else [values for _, values in before[name]]
        pairs = [pair for (_, texel), right in zip(arrays, reference_output) for pair in zip(texel, right)]
        if max(abs(a - b) for a, b in pairs) > expected["max_error"]:
            failed.append(name)
    return failed


@each_of(("layout", LAYOUTS), ("end", ranged.ENDS))
def test_a_bundle_in_memory_is_the_one_in_its_file(tmp_path: Path, end: str, layout: str) -> None:
    """A compiled bundle has the 32-bit floats of passes.bin, so reading its file gives the same bundle."""
    bundle = ranged.ranged_bundle(end, layout)
    read = bundles.read(ranged.write_ranged(tmp_path, end, layout))
    assert read.manifest == bundle.manifest
    assert read.members == bundle.members


def test_a_frame_needs_no_graph(tmp_path: Path) -> None:
    """Drawing reads the manifest and the passes only; inspection and the reference need graph.json."""
    members = {**tiny.tiny_members(), "graph.json": b"no JSON"}
    path = zipped(tmp_path / "opaque.glslnn", rehashed(members))
    with Session(path, selfcheck=True) as session, Session(tiny.tiny_bundle()) as sound:
        assert np.array_equal(session.run(tiny.tiny_picture(1)), sound.run(tiny.tiny_picture(1)))
        with pytest.raises(BundleError, match=r"graph\.json is no JSON"):
            _ = session.bundle.graph


def test_a_frame_needs_no_weights_that_only_the_graph_names() -> None:
    """Weights in shaders are also members of the graph, which may have any length."""
    members = {**tiny.tiny_bundle("baked").members, "weights/stem.f32": b"odd"}
    bundle = Bundle(tiny.tiny_bundle("baked").manifest, members)
    with Session(bundle) as session, Session(tiny.tiny_bundle("baked")) as sound:
        assert np.array_equal(session.run(tiny.tiny_picture(1)), sound.run(tiny.tiny_picture(1)))

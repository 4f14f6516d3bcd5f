"""Storage of weights: every mode, rows for pairs of channels, shared constants, and textures freed while reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import pairs_of
from random_networks import fine_rounding

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.bundle.shader_check import parse
from glsl_infer.bundle.streamed import Members
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import BundleError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph
from glsl_infer.lowering import weight_bytes
from glsl_infer.program import Slice
from glsl_infer.program.layout import SixteenBitMap
from glsl_infer.runtime.drivers import shared_constants
from glsl_infer.runtime.session import Session


def network(seed: int) -> Graph:
    """Return a network with plain, pointwise, grouped and wide convolutions."""
    rng = np.random.default_rng(seed)
    same = (1, 1, 1, 1)
    body = [
        input_node(13),
        conv_node(rng, "stem", ("image",), 3, 32, kernel=(5, 5), strides=(2, 2)),
        conv_node(rng, "pw", ("stem",), 32, 32),
        conv_node(rng, "dw", ("pw", "stem"), 32, 32, kernel=(3, 3), groups=8, padding=same),
        conv_node(rng, "wide", ("dw",), 32, 48, kernel=(2, 2), groups=2),
    ]
    return classifier(rng, body, 48)


@pytest.mark.drivers
def test_every_texture_is_the_same(context: Context) -> None:
    graph = network(0)
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (13, 13, 3), np.uint8) for _ in range(3)]
    results = {}
    for mode in ("baked", "uniform"):
        bundle = make_bundle(graph, mode, memory="naive")  # every layer's texels are still there at the end
        with Session(bundle, context=context) as session:
            names = [texture.name for texture in session.bundle.manifest.textures if texture.kind == "target"]
            results[mode] = [
                (session.run(picture).tobytes(), *(session.read_texture(name).tobytes() for name in names))
                for picture in pictures
            ]
    if "Mesa" in context.gl.text(GL.GL_VERSION) or "Mesa" in context.gl.text(GL.GL_VENDOR):
        assert results["baked"] == results["uniform"]
    else:  # another compiler may fuse products and sums of constants, and be off by a step near a tie
        for baked, uniform in zip(results["baked"], results["uniform"]):
            for a, b in zip(baked[1:4], uniform[1:4]):
                assert np.abs(np.frombuffer(a, np.uint8).astype(int) - np.frombuffer(b, np.uint8)).max() <= 2
    assert len(set(results["baked"])) == len(pictures), "different pictures must give different results"


@pytest.mark.drivers
def test_a_texture_serves_all_slices_with_one_draw() -> None:
    bundle = make_bundle(network(1), "texture")
    assert [draw.layer for draw in bundle.manifest.passes][:4] == ["stem", "pw", "dw", "wide"]
    assert [len(draw.quads) for draw in bundle.manifest.passes][:4] == [8, 8, 8, 12]


@pytest.mark.drivers
def test_layers_of_one_shape_share_a_program() -> None:
    rng = np.random.default_rng(3)
    body = [input_node(9), conv_node(rng, "feed", ("image",), 3, 32)]
    body += [conv_node(rng, f"pw{index}", (body[-1].name,), 32, 32) for index in range(4)]
    graph = classifier(rng, body, 32)
    for mode in ("uniform", "texture"):
        passes = make_bundle(graph, mode, memory="naive").manifest.passes
        assert len({draw.program for draw in passes if draw.layer.startswith("pw")}) == 1


@pytest.mark.drivers
def test_planar_layers_have_no_texture_of_weights() -> None:
    for mode in ("auto", "texture"):
        bundle = make_bundle(network(1), mode, layout="planar")
        assert not [
            texture
            for texture in bundle.manifest.textures
            if texture.name in ("stem.weights", "pw.weights", "wide.weights")
        ]


@pytest.mark.drivers
def test_the_offset_in_a_picture_s_alpha_is_not_rounded() -> None:
    rng = np.random.default_rng(4)
    image = input_node(9).with_attrs(scales=(2.0,), zeros=(127.5,))
    body = [image, conv_node(rng, "padded", ("image",), 3, 8, kernel=(3, 3), padding=(1, 1, 1, 1))]
    bundle = make_bundle(classifier(rng, body, 8), "texture")
    assert bundle.graph.by_name["padded"].attrs["alpha"]
    assert len([draw for draw in bundle.manifest.passes if draw.layer == "padded"]) == 2


@pytest.mark.drivers
def test_a_long_array_is_not_uniform_in_auto() -> None:
    rng = np.random.default_rng(2)
    body = [
        input_node(7),
        conv_node(rng, "feed", ("image",), 3, 32),
        conv_node(rng, "long", ("feed",), 32, 36, kernel=(3, 3)),
    ]
    graph = classifier(rng, body, 36)
    assert make_bundle(graph, "auto").manifest.limits.fragment_uniform_vectors < 120
    assert make_bundle(graph, "uniform").manifest.limits.fragment_uniform_vectors > 9 * 32


FILTERS = 22
"""Number of filters; the last slice has two channels only."""


def paired_network(
    channels: int, *, kernel: int = 1, groups: int = 1, residual: bool = False, activation: str = "relu", size: int = 6
) -> Graph:
    """Return an input, two layers with many channels, and one that reads them."""
    rng = np.random.default_rng(channels)
    if activation == "prelu":
        activation = f"prelu({','.join(f'{slope:.6g}' for slope in rng.uniform(0.25, 1.5, FILTERS))})"
    body = [input_node(size), conv_node(rng, "feed", ("image",), 3, channels)]
    body += [conv_node(rng, "side", ("image",), 3, FILTERS, activation="silu")] * residual
    inputs = ("feed", *["side"] * residual)
    shape: dict[str, Any] = {"kernel": (kernel, kernel), "padding": (kernel // 2,) * 4, "groups": groups}
    body.append(conv_node(rng, "wide", inputs, channels, FILTERS, activation=activation, **shape))
    body.append(conv_node(rng, "after", ("wide",), FILTERS, 4))
    return classifier(rng, body, 4)


CASES: dict[str, dict[str, Any]] = {
    "one texel": {"channels": 40},
    "a window": {"channels": 12, "kernel": 3},
    "many slices": {"channels": 120},
    "an odd lane": {"channels": 7, "kernel": 3},
    "one lane": {"channels": 1},
    "groups": {"channels": 8, "kernel": 3, "groups": 2},
    "a residual with factors": {"channels": 16, "residual": True},
    "a slope for each channel": {"channels": 24, "activation": "prelu", "residual": True},
    "a large map": {"channels": 4, "kernel": 3, "size": 70},
}


@pytest.mark.drivers("all")
@pairs_of(("feed", [8, 16]), ("bits", [8, 16]), ("case", CASES))
def test_both_halves_are_one_draw(
    context: Context, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any], bits: int, feed: int
) -> None:
    monkeypatch.setattr(weight_bytes, "MOST_NOISE", np.inf)
    graph, rng = paired_network(**case), np.random.default_rng(5)
    pictures = [rng.integers(0, 256, graph.by_name["image"].attrs["shape"], np.uint8) for _ in range(3)]
    bits_by_layer = {"feed": feed, "wide": 16}
    options = Options(
        weights="texture", weight_bits="16" if bits == 16 else "auto", precision="8", precision_for=bits_by_layer
    )
    bundle, _, _ = build(graph, ["a", "b", "c"], options=options, calibration=pictures)
    assert isinstance(bundle.values["wide"], SixteenBitMap)
    drawn = [draw for draw in bundle.manifest.passes if draw.layer == "wide"]
    assert len(drawn) == 1, "its halves are not drawn at once"
    assert drawn[0].pixels == 2 * -(-FILTERS // 4) * pictures[0][..., 0].size
    program = next(program for program in bundle.manifest.programs if program.name == drawn[0].program)
    text = bundle.members[program.fragment]
    assert b"vec2 own(" in text and (b"#define LOW_BYTES" in text) == (bits == 16 or case["channels"] == 1)
    with Session(bundle, context=context) as session:
        error = layer_error(session, "wide", stored_inputs(bundle, "wide", np.random.default_rng(1)))
    assert error <= TOLERANCE + fine_rounding(bundle, bundle.graph.by_name["wide"])


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    rng = np.random.default_rng(0)
    body = [input_node(6), conv_node(rng, "a", ("image",), 3, 12), conv_node(rng, "b", ("a",), 12, 12)]
    return make_bundle(classifier(rng, body, 12), weights="baked")


@pytest.mark.drivers("all")
def test_a_program_for_all_slices(bundle: Bundle) -> None:
    merged = shared_constants.merged(bundle, 600)
    before, after = bundle.manifest, merged.manifest
    assert len(after.programs) < len(before.programs)
    assert len(after.passes) == len(before.passes)
    used = {draw.program for draw in after.passes}
    assert used == {program.name for program in after.programs}
    for old, new in zip(before.passes, after.passes):
        value = new.uniforms.get(shared_constants.UNIFORM)
        assert (value is None) == (new.uniforms == old.uniforms)
        program = next(program for program in after.programs if program.name == new.program)
        text = merged.members[program.fragment].decode()
        assert set(parse("m", text).uniforms) == {*program.uniforms, *program.samplers}
        if value is None:
            continue
        assert isinstance(value, Slice)
        assert value.count == program.uniforms[shared_constants.UNIFORM]
        assert 0 <= value.offset <= len(merged.members[value.member]) // 4 - value.count


@pytest.mark.drivers("all")
def test_merged_programs_store_the_same_bytes(
    context: Context, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = np.random.default_rng(1).integers(0, 256, bundle.manifest.inputs[0].shape, np.uint8)
    drawn = []
    for _ in range(2):
        with Session(bundle, context=context, cache=False, selfcheck=True) as session:
            drawn.append([(name, value.tobytes()) for name, value in session.layers(picture)])
        monkeypatch.setattr(shared_constants, "merged", lambda bundle, _: bundle)
    assert drawn[0] == drawn[1]


def test_merged_programs_without_float_textures(
    context: Context, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The constants of merged programs remain uniforms if the texture of rows would be too large."""
    picture = np.random.default_rng(1).integers(0, 256, bundle.manifest.inputs[0].shape, np.uint8)
    drawn = []
    for _ in range(2):
        with Session(bundle, context=context, cache=False) as session:
            drawn.append(session.run(picture).tobytes())
        monkeypatch.setattr("glsl_infer.runtime.drivers.llvmpipe.uniform_rows.MOST_BYTES", 0)
    assert drawn[0] == drawn[1]


@pytest.mark.drivers("all")
@pytest.mark.parametrize("most", [0, 3])
def test_too_many_constants_stay(bundle: Bundle, most: int) -> None:
    assert shared_constants.merged(bundle, most) is bundle


@pytest.mark.drivers("all")
@pytest.mark.parametrize("sizes", [(4, 3, 1, 4), (3, 3, 1, 1), (1, 1, 1, 1, 1), (2, 3, 2, 1), (1, 3, 2, 2)])
def test_packed_constants_do_not_overlap(sizes: tuple[int, ...]) -> None:
    packing = shared_constants._packed(sizes)
    indices = [4 * vector + lane + k for (vector, lane), size in zip(packing.positions, sizes) for k in range(size)]
    assert len(set(indices)) == sum(sizes)
    assert max(indices) < 4 * packing.vectors
    assert all(lane + size <= 4 for (_, lane), size in zip(packing.positions, sizes))


@pytest.mark.drivers("all")
def test_one_number_for_all_lanes() -> None:
    assert shared_constants._numbers("vec4(0.5)") == (0.5,) * 4
    assert shared_constants._numbers("vec3(0.5, -1e-12, 2.0)") == (0.5, -1e-12, 2.0)
    assert shared_constants._numbers("-2.5") == (-2.5,)


@pytest.fixture(scope="module")
def streamed_bundle() -> Bundle:
    """A bundle with a layer whose weights are in a texture."""
    rng = np.random.default_rng(0)
    nodes = [input_node(4), conv_node(rng, "feed", ("image",), 3, 32)]
    nodes.append(conv_node(rng, "wide", ("feed",), 32, 64))
    return build(classifier(rng, nodes, 64), "abc", options=Options(weights="texture"), calibration=[])[0]


def test_uploaded_weights_are_released_and_read_again(
    streamed_bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glsl_infer.bundle.streamed.LEAST_STREAMED_BYTES", 1 << 10)
    monkeypatch.setattr("glsl_infer.runtime.drivers.llvmpipe.drawn.AT_ONCE", 1 << 10)
    path = tmp_path / "a.glslnn"
    bundles.write(streamed_bundle, path)
    total_bytes = sum(map(len, streamed_bundle.members.values()))
    weights = sum(4 * texture.width * texture.height for texture in streamed_bundle.manifest.textures if texture.member)
    assert weights > 2_000, "the weights are in a texture"
    picture = np.random.default_rng(1).integers(0, 256, (4, 4, 3), np.uint8)
    with Session(streamed_bundle) as in_memory, Session(path) as session:
        assert np.array_equal(session.run(picture), in_memory.run(picture))
        members = session.bundle.members
        assert isinstance(members, Members) and not isinstance(in_memory.bundle.members, Members)
        assert total_bytes - weights <= members.loaded < total_bytes - 2_000
        assert session.bundle.members == streamed_bundle.members
        session.selfcheck()
        path.unlink()
        with pytest.raises(BundleError, match=r"a\.glslnn"):
            dict(members)
        other = {
            name: bytes(reversed(data)) if name.endswith(".rgba") else data
            for name, data in streamed_bundle.members.items()
        }
        bundles.write(replace(streamed_bundle, members=other), path)
        with pytest.raises(BundleError, match="open the model again"):
            dict(members)
        assert np.array_equal(session.run(picture), in_memory.run(picture)), "the GPU has its own"

"""Every rule of "What must fit together" in bundle-format.md, broken once: the message names the part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import tiny

from glsl_infer.bundle.manifest import Input, Manifest, Output, ProbeOutput
from glsl_infer.bundle.manifest_check import check, needed_limits
from glsl_infer.bundle.rules import RULES
from glsl_infer.errors import BundleError
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.program import Pass, Quad, ShaderProgram, Slice, Source, Texture
from glsl_infer.program.layout import FeatureMap, FixedPoint, View

BUNDLE = tiny.tiny_bundle(memory="naive")
"""Bundle in which every texture has the name of its layer."""

GOOD = BUNDLE.manifest
SIZES = {name: len(data) for name, data in BUNDLE.members.items()}

Change = Callable[[Manifest], Manifest]


def test_the_bundle_itself_is_right() -> None:
    check(GOOD, SIZES)


# Changes: each takes a manifest and returns one with a single part replaced.


def texture(name: str, /, **fields: Any) -> Change:
    def change(manifest: Manifest) -> Manifest:
        return replace(manifest, textures=tuple(changed(texture, name, fields) for texture in manifest.textures))

    return change


def program(name: str, /, **fields: Any) -> Change:
    def change(manifest: Manifest) -> Manifest:
        return replace(manifest, programs=tuple(changed(program, name, fields) for program in manifest.programs))

    return change


def expected(name: str, /, **fields: Any) -> Change:
    """Change the expected location of a layer's output in the probe."""

    def change(manifest: Manifest) -> Manifest:
        layers = tuple(
            replace(probe, value=replace(probe.value, **fields)) if probe.layer == name else probe
            for probe in manifest.probe.layers
        )
        return replace(manifest, probe=replace(manifest.probe, layers=layers))

    return change


def first_pass(target: str, /, **fields: Any) -> Change:
    """Change the first pass with this target."""

    def change(manifest: Manifest) -> Manifest:
        passes = list(manifest.passes)
        passes[index_of(target)] = replace(passes[index_of(target)], **fields)
        return replace(manifest, passes=tuple(passes))

    return change


def quad(target: str, /, **fields: Any) -> Change:
    old = GOOD.passes[index_of(target)].quads
    return first_pass(target, quads=(replace(old[0], **fields), *old[1:]))


def uniforms(target: str, /, **values: Any) -> Change:
    """Change uniform values of the first pass of a target; ``...`` removes one."""
    merged = {**GOOD.passes[index_of(target)].uniforms, **values}
    return first_pass(target, uniforms={key: value for key, value in merged.items() if value is not ...})


def picture(**fields: Any) -> Change:
    value = replace(GOOD.input.value, **fields)
    return lambda manifest: replace(manifest, inputs=(replace(GOOD.input, value=value),))


def result(**fields: Any) -> Change:
    """Change the location of the result."""
    value = replace(GOOD.output.values[0], **fields)
    return lambda manifest: replace(manifest, outputs=(replace(manifest.output, values=(value,)),))


def more_textures(*names: str) -> Change:
    """Add unused textures of kind input."""
    added = tuple(Texture(name, 4, 4, "input") for name in names)
    return lambda manifest: replace(manifest, textures=(*manifest.textures, *added))


def more_inputs(*inputs: Input) -> Change:
    return lambda manifest: replace(manifest, inputs=(*manifest.inputs, *inputs))


def more_outputs(*outputs: Output) -> Change:
    return lambda manifest: replace(manifest, outputs=(*manifest.outputs, *outputs))


def vector(texture: str) -> FixedPoint:
    return FixedPoint(texture, 0, 2, 1.0)


def probe(**fields: Any) -> Change:
    return lambda manifest: replace(manifest, probe=replace(manifest.probe, **fields))


def limits(**fields: int) -> Change:
    return lambda manifest: replace(manifest, limits=replace(manifest.limits, **fields))


def parts(**fields: Any) -> Change:
    return lambda manifest: replace(manifest, **fields)


def changed(record: Any, name: str, fields: dict[str, Any]) -> Any:
    return replace(record, **fields) if record.name == name else record


def index_of(target: str) -> int:
    return next(index for index, draw in enumerate(GOOD.passes) if draw.target == target)


DW = GOOD.passes[index_of("unit-dw")]
ENTRIES = GOOD.probe.layers

BROKEN: dict[str, tuple[Change, str]] = {
    # 1. names
    "two textures": (texture("expand", name="stem"), "two textures are called 'stem'"),
    "two programs": (program("expand", name="pool"), "two programs are called 'pool'"),
    "no textures": (parts(textures=()), "there is no texture"),
    "no programs": (parts(programs=()), "there is no program"),
    "no passes": (parts(passes=()), "the manifest has no passes"),
    # 2. members
    "texture's member": (texture("dense.weights", member="weights/none.rgba"), "'weights/none.rgba' is missing"),
    "vertex shader": (program("pool", vertex="shaders/none.vert"), "'shaders/none.vert' is missing"),
    "fragment shader": (program("pool", fragment="shaders/none.frag"), "'shaders/none.frag' is missing"),
    "member of floats": (parts(floats=("weights/none.f32", *GOOD.floats)), "'weights/none.f32' is missing"),
    "floats that are none": (parts(floats=("weights/probe.bin",)), "member 'weights/probe.bin' holds no 32-bit"),
    "probe's member": (probe(member="weights/none.bin"), "'weights/none.bin' is missing"),
    "uniform's member": (uniforms("expand", weights=Slice("weights/none.f32", 0, 28)), "'weights/none.f32' is missing"),
    # 3. constant textures
    "constant without member": (texture("dense.weights", member=None), "texture 'dense.weights': a member belongs"),
    "target with member": (texture("pool", member="weights/dense.rgba"), "texture 'pool': a member belongs"),
    "input with member": (texture("image", member="weights/dense.rgba"), "texture 'image': a member belongs"),
    "size of a constant": (texture("dense.weights", height=5), "texture 'dense.weights': its member has not 4 bytes"),
    # 4. passes
    "layer of a pass": (first_pass("expand", layer="none"), "probe: layer 'none' is not drawn, or has not exactly one"),
    "program of a pass": (first_pass("expand", program="none"), r"pass 2 \(layer 'expand'\): no program .* 'none'"),
    "texture of a pass": (first_pass("expand", textures=("none",)), "layer 'expand'.*: no texture is called 'none'"),
    "target of a pass": (first_pass("expand", target="none"), "layer 'expand'.*: no texture is called 'none'"),
    "input as target": (first_pass("expand", target="image"), "layer 'expand'.*: 'image' is read .* no target"),
    "constant as target": (first_pass("pool", target="dense.weights"), "layer 'pool'.*: 'dense.weights' .* no target"),
    "feedback": (first_pass("expand", textures=("expand",)), "layer 'expand'.*: 'expand' is read in the same pass"),
    # 5. samplers and units
    "too few textures": (first_pass("unit-dw", textures=("unit-pw",)), "layer 'unit-dw'.*samplers of .*'unit-dw'"),
    "too many textures": (first_pass("expand", textures=("stem", "image")), "layer 'expand'.*samplers of .*'expand'"),
    "unit of a source": (
        first_pass("unit-dw", sources=(replace(DW.sources[0], unit=2), *DW.sources[1:])),
        "layer 'unit-dw'.*do not fit the samplers",
    ),
    # 6. sources and quads
    "too few sources": (first_pass("unit-pw", sources=GOOD.passes[index_of("unit-pw")].sources[:2]), "fit .* varyings"),
    "too many varyings": (program("pool", varyings=2), "layer 'pool'.*1 sources do not fit 2 varyings"),
    "no quads": (first_pass("pool", quads=()), "layer 'pool'.*draws nothing"),
    "quad too far right": (quad("pool", x=32), "layer 'pool'.*quad is outside"),
    "quad too far down": (quad("pool", y=1), "layer 'pool'.*quad is outside"),
    "quad too wide": (quad("expand", width=999), "layer 'expand'.*quad is outside"),
    "quad too high": (quad("expand", height=999), "layer 'expand'.*quad is outside"),
    "quad without width": (quad("expand", width=0), "layer 'expand'.*quad is outside"),
    "quad without height": (quad("expand", height=0), "layer 'expand'.*quad is outside"),
    # 7. uniforms
    "uniform missing": (uniforms("pool", source_texel=...), "layer 'pool'.*not those of program 'pool'"),
    "uniform unknown": (uniforms("pool", other=(1.0,)), "layer 'pool'.*not those of program 'pool'"),
    "uniform too long": (
        uniforms("pool", source_texel=(1.0, 1.0, 1.0)),
        "layer 'pool'.*'source_texel' has 3 numbers, not 2",
    ),
    "slice too short": (uniforms("expand", weights=Slice("weights/expand.f32", 0, 24)), "'weights' has 24 numbers"),
    "slice beyond its member": (
        uniforms("expand", weights=Slice("weights/expand.f32", 1 << 20, 28)),
        "layer 'expand'.*'weights' ends beyond its member",
    ),
    "slice of another kind": (
        uniforms("expand", weights=Slice("weights/probe.bin", 0, 28)),
        "layer 'expand'.*'weights'.*'weights/probe.bin' holds no 32-bit floats",
    ),
    # 8. order
    "read before written": (first_pass("stem", textures=("expand",)), "layer 'stem'.*reads texture 'expand' before"),
    "clear missing": (first_pass("expand", clear=False), "layer 'expand'.*'clear'"),
    "clear missing at the start": (first_pass("stem", clear=False), r"pass 0 .*'clear'"),
    "clear too often": (
        parts(passes=(GOOD.passes[0], replace(GOOD.passes[1], clear=True), *GOOD.passes[2:])),
        r"pass 1 \(layer 'stem'\).*'clear'",
    ),
    # 9. values
    "number of views": (expected("stem", channels=9), "layer 'stem': 2 views for 9 channels"),
    "view in no texture": (expected("stem", views=(View("none", 0, 0),) * 2), "layer 'stem': a view is outside"),
    "view too far right": (expected("stem", views=(View("stem", 9, 0),) * 2), "layer 'stem': a view is outside"),
    "view too far down": (expected("stem", views=(View("stem", 0, 99),) * 2), "layer 'stem': a view is outside"),
    "vector in no texture": (expected("pool", texture="none"), "layer 'pool': its values do not fit texture"),
    "vector too long": (expected("pool", length=65), "layer 'pool': its values do not fit texture"),
    "too many sums": (expected("dense", columns=5), "layer 'dense': its values do not fit texture"),
    "sums too long": (expected("dense", length=5), "layer 'dense': its values do not fit texture"),
    "output that no pass draws": (
        expected("pool", texture="dense.weights", length=2),
        "layer 'pool': nothing is drawn into texture 'dense.weights'",
    ),
    # 10. ends
    "no inputs": (parts(inputs=()), "there is no input; a model has 1 or more"),
    "two inputs of a name": (parts(inputs=GOOD.inputs * 2), "two inputs are called 'image'"),
    "two inputs in a texture": (
        more_inputs(Input("more", "numbers", vector("image"))),
        "input 'more': texture 'image' belongs to input 'image' too",
    ),
    "input texture unknown": (picture(views=(View("none", 0, 0),)), "input 'image': a view is outside"),
    "input texture a target": (
        picture(views=(View("stem", 0, 0),), height=3, width=3),
        "input 'image': texture 'stem' is of kind 'target', not 'input'",
    ),
    "input texture constant": (
        more_inputs(Input("more", "numbers", vector("dense.weights"))),
        "input 'more': texture 'dense.weights' is of kind 'constant'",
    ),
    "texture of no input": (more_textures("spare"), "texture 'spare' is of kind 'input', but belongs to no input"),
    "picture on a colour": (texture("image", clear=(0, 0, 0, 1)), r"texture 'image' of a picture .* \[0, 0, 0, 0\]"),
    "picture too far right": (picture(views=(View("image", 5, 0),)), "input 'image': a view is outside its texture"),
    "picture too far down": (picture(views=(View("image", 0, 5),)), "input 'image': a view is outside its texture"),
    "picture too large": (picture(height=99, width=99), "input 'image': a view is outside its texture"),
    "no outputs": (parts(outputs=()), "there is no output; a model has 1 or more"),
    "two outputs of a name": (parts(outputs=GOOD.outputs * 2), "two outputs are called 'softmax'"),
    "two for classes": (
        more_outputs(replace(GOOD.output, name="more")),
        "outputs 'softmax' and 'more' are both for 'classes'; at most one may be",
    ),
    "output unknown": (result(texture="none"), "output 'softmax': its values do not fit texture 'none'"),
    "output too long": (result(length=5), "output 'softmax': its values do not fit texture 'dense'"),
    "output that is constant": (
        result(texture="dense.weights"),
        "output 'softmax': nothing is drawn into texture 'dense.weights'",
    ),
    "output that is an input": (
        more_outputs(Output("more", "values", (vector("image"),))),
        "output 'more': nothing is drawn into texture 'image'",
    ),
    # 11. probe
    "probe's numbers": (probe(outputs=(ProbeOutput((1.0, 2.0), 0.0),)), "probe: 2 numbers of output 'softmax', not 3"),
    "outputs of the probe": (probe(outputs=()), "probe: 0 outputs, where the model has 1"),
    "probe of no layer": (probe(layers=(replace(ENTRIES[0], layer="none"), *ENTRIES[1:])), "probe: layer "),
    "probe of a view": (probe(layers=(replace(ENTRIES[0], layer="unit-shuffle"), *ENTRIES[1:])), "probe: layer "),
    "probe lacks a layer": (probe(layers=ENTRIES[1:]), "probe: layer 'stem'"),
    "probe has one twice": (probe(layers=(*ENTRIES, ENTRIES[0])), "probe: layer 'stem'"),
    "probe too long": (probe(layers=(*ENTRIES[:-1], replace(ENTRIES[-1], count=999))), "probe: .*layer 'dense'.*end"),
    # 12. limits
    "texture_units": (limits(texture_units=1), "limits are"),
    "texture_size": (limits(texture_size=2048), "limits are"),
    "fragment_uniform_vectors": (limits(fragment_uniform_vectors=0), "limits are"),
    "varying_vectors": (limits(varying_vectors=1), "limits are"),
    "vertex_attributes": (limits(vertex_attributes=8), "limits are"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_rule_is_refused(name: str) -> None:
    change, message = BROKEN[name]
    with pytest.raises(BundleError, match=message) as caught:
        check(change(GOOD), SIZES)
    assert "\n" not in str(caught.value)
    assert caught.value.rule in RULES


def test_inputs_and_outputs_of_all_kinds() -> None:
    """A bundle with a numeric input next to the image, and an output of several values next to the classes."""
    extra = FeatureMap(4, 4, 3, 0, (View("spare", 0, 0),))
    changed = more_textures("spare")(more_inputs(Input("more", "numbers", extra))(GOOD))
    concatenated = Output("more", "values", (GOOD.output.values[0], vector("dense")), (HostStep("concatenate"),))
    changed = more_outputs(concatenated)(changed)
    expected = (*changed.probe.outputs, ProbeOutput((), 0.0))
    check(replace(changed, probe=replace(changed.probe, outputs=expected)), SIZES)


@pytest.mark.parametrize("member", ["shaders/prelude.glsl", "labels.txt", "graph.json"])
def test_members_that_every_bundle_has(member: str) -> None:
    with pytest.raises(BundleError, match=f"member '{member}' is missing"):
        check(GOOD, {name: size for name, size in SIZES.items() if name != member})


def test_members_of_floats_have_whole_floats() -> None:
    with pytest.raises(BundleError, match=r"member 'weights/expand\.f32'"):
        check(GOOD, {**SIZES, "weights/expand.f32": SIZES["weights/expand.f32"] + 1})


def test_more_varyings_than_es_2_promises_are_refused() -> None:
    """Fifteen sources need eight varyings besides the position, one attribute more than every driver has."""
    (old,) = (program for program in GOOD.programs if program.name == "pool")
    source, rectangle = Source(0, 0.0, 0.0), Quad(0, 0, 1, 1, ((0, 0),) * 15)
    programs = tuple(replace(program, varyings=8) if program is old else program for program in GOOD.programs)
    pool = first_pass("pool", sources=(source,) * 15, quads=(rectangle,))
    with pytest.raises(BundleError, match="layer 'pool'"):
        check(pool(replace(GOOD, programs=programs)), SIZES)


def test_limits_are_the_largest_of_the_contents() -> None:
    textures = (Texture("a", 3, 70, "target"), Texture("b", 50, 2, "target"))
    programs = (
        ShaderProgram("p", "v", "f", ("a", "b", "c"), 2, {"one": 1, "five": 5}),
        ShaderProgram("q", "v", "f", ("a",), 4, {"two": 2}),
    )
    needed = needed_limits(textures, programs)
    assert vars(needed) == {
        "texture_units": 3,
        "texture_size": 70,
        "fragment_uniform_vectors": 3,
        "varying_vectors": 4,
        "vertex_attributes": 5,
    }


def test_a_target_can_be_used_again() -> None:
    """A second, later rendering into a target is a job of its own and begins with a clear."""
    second_use: tuple[Pass, ...] = tuple(draw for draw in GOOD.passes if draw.target == "stem")
    other = tuple(replace(draw, layer="expand") for draw in second_use)
    check(replace(GOOD, passes=(*GOOD.passes, *other)), SIZES)
    with pytest.raises(BundleError, match="'stem'"):
        check(replace(GOOD, passes=(*GOOD.passes, *second_use)), SIZES)

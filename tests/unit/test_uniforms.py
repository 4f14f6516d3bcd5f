"""Uniforms of programs: declared, joined into arrays, stored as rows of a texture, and shared coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import ranged
import tiny
from bundle_files import refusal, rehashed, zipped
from tiny import tiny_bundle

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle, program_check
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.errors import BundleError
from glsl_infer.program import Pass, Quad, ShaderProgram, Slice, Source, UniformValue
from glsl_infer.program.templates import template
from glsl_infer.runtime.drivers.joined_uniforms import MEMBER, UNIFORM, joined
from glsl_infer.runtime.drivers.llvmpipe import uniform_rows
from glsl_infer.runtime.drivers.llvmpipe.own_coordinates import merged

TEXT = """#define LATE late
uniform vec2 source_texel;
uniform vec4 weights[3];
#ifdef LOWER
uniform float late; // below every sum
#endif
uniform vec4 cut_bias;
void main() {
    gl_FragColor = weights[1] * LATE + cut_bias + source_texel.xyxy;
}
"""
SIZES = {"source_texel": 2, "weights": 12, "late": 1, "cut_bias": 4}
FLOATS = np.arange(100.0, dtype="<f4")


def values(first: int) -> dict[str, UniformValue]:
    """Return values that differ for each ``first``."""
    value = float(first)
    array = Slice("floats", first, 12)
    return {"source_texel": (value, 0.5), "weights": array, "late": (value,), "cut_bias": (value, 2.0, 3.0, 4.0)}


def bundle(*draws: Mapping[str, UniformValue], text: str = TEXT, programs: int = 1) -> Bundle:
    """Return a bundle whose draws have these uniforms. All programs have one shader."""
    tiny = tiny_bundle()
    texture = tiny.manifest.textures[0].name
    entries = tuple(ShaderProgram(f"p{k}", "v", "f", ("source",), 1, SIZES) for k in range(programs))
    quads = (Quad(0, 0, 2, 2, ()),)
    passes = tuple(
        Pass("layer", f"p{k % programs}", "t", not k, (texture,), (), quads, draw) for k, draw in enumerate(draws)
    )
    manifest = replace(tiny.manifest, programs=entries, passes=passes, floats=("floats",))
    return replace(tiny, manifest=manifest, members={"f": text.encode(), "floats": FLOATS.tobytes()})


def read(bundle: Bundle, draw: Pass, name: str) -> list[float]:
    """Return the value of a uniform in a draw as the shader reads it; of an array, as many floats as it has."""
    value = draw.uniforms[UNIFORM]
    assert isinstance(value, Slice) and value.member == MEMBER and MEMBER in bundle.manifest.floats
    array = np.frombuffer(bundle.members[MEMBER], "<f4")[value.offset : value.offset + value.count]
    (slice_text,) = re.findall(
        rf"^#define {name} {UNIFORM}(.*?)(?: //.*)?$", bundle.members["f"].decode(), re.MULTILINE
    )
    if not slice_text:
        return array[: SIZES[name]].tolist()
    (vector, lanes) = re.fullmatch(r"\[(\d+)\]\.(\w+)", slice_text).groups()
    return [float(array[4 * int(vector) + "xyzw".index(lane)]) for lane in lanes]


def test_every_draw_reads_its_values() -> None:
    before = bundle(values(0), values(5), values(0))
    after = joined(before)
    (program,) = after.manifest.programs
    assert program.uniforms == {UNIFORM: 20} and f"uniform vec4 {UNIFORM}[5];" in after.members["f"].decode()
    for old, new in zip(before.manifest.passes, after.manifest.passes):
        assert list(new.uniforms) == [UNIFORM]
        for name, value in old.uniforms.items():
            expected = FLOATS[value.offset :][: value.count].tolist() if isinstance(value, Slice) else list(value)
            assert read(after, new, name) == expected
    first, _, last = after.manifest.passes
    assert first.uniforms == last.uniforms, "equal values have one array, which is set once"
    assert before.members["f"].decode() == TEXT


def test_a_uniform_with_one_value_stays() -> None:
    same = {"source_texel": (0.25, 0.5)}
    after = joined(bundle({**values(0), **same}, {**values(5), **same}))
    assert after.manifest.programs[0].uniforms == {"source_texel": 2, UNIFORM: 20}
    assert [draw.uniforms["source_texel"] for draw in after.manifest.passes] == [(0.25, 0.5)] * 2
    assert "uniform vec2 source_texel;" in after.members["f"].decode()


@pytest.mark.parametrize(
    "line", ["    float late = 1.0;", "    int late = 1;", "#define late 1.0", "    gl_FragColor.late;"]
)
def test_a_name_with_another_use_stays(line: str) -> None:
    text = TEXT.replace("    gl_FragColor", f"{line}\n    gl_FragColor", 1)
    after = joined(bundle(values(0), values(5), text=text))
    assert after.manifest.programs[0].uniforms == {"late": 1, UNIFORM: 20}
    assert [draw.uniforms["late"] for draw in after.manifest.passes] == [(0.0,), (5.0,)]


@pytest.mark.parametrize("case", ["equal draws", "one uniform", "a shader of two programs", "the name"])
def test_bundles_without_joinable_uniforms_are_unchanged(case: str) -> None:
    second = {"one uniform": {**values(0), "late": (9.0,)}}.get(case, values(5))
    before = {
        "equal draws": lambda: bundle(values(0), values(0)),
        "a shader of two programs": lambda: bundle(values(0), values(0), second, second, programs=2),
        "the name": lambda: bundle(values(0), second, text=TEXT.replace("LATE", UNIFORM)),
    }.get(case, lambda: bundle(values(0), second))()
    assert joined(before) is before


LARGEST = 2048
SHADER = """#define BIAS weights[2]
uniform vec2 texel;
uniform vec4 weights[3];
void main() { gl_FragColor = BIAS + weights[2 * turn + 1].xyzw; }
"""


def test_a_row_for_each_array() -> None:
    bundle = tiny_bundle("uniform")
    rows = uniform_rows.with_rows(bundle, LARGEST)
    assert rows.values is not None
    height, width, _ = rows.values.shape
    assert rows.values.dtype == np.float32
    used_rows = set()
    for before, after in zip(bundle.manifest.passes, rows.bundle.manifest.passes):
        value = before.uniforms.get("weights")
        if value is None:
            assert after == before
            continue
        assert isinstance(value, Slice)
        assert "weights" not in after.uniforms
        (middle,) = after.uniforms["weights_row"]
        row = int(np.float32(middle) * np.float32(height))
        expected = np.frombuffer(bundle.members[value.member], "<f4")[value.offset : value.offset + value.count]
        row_values = rows.values[row].reshape(-1)
        np.testing.assert_array_equal(row_values[: value.count], expected)
        assert not row_values[value.count :].any()
        used_rows.add(row)
    assert used_rows == set(range(height))
    assert width == max(program.uniforms.get("weights", 0) for program in bundle.manifest.programs) // 4


def test_rows_take_no_more_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit of bytes, the longest arrays stay uniforms."""
    bundle = tiny_bundle("uniform")
    values = uniform_rows.with_rows(bundle, LARGEST).values
    assert values is not None
    monkeypatch.setattr(uniform_rows, "MOST_BYTES", values.nbytes - 1)
    rows = uniform_rows.with_rows(bundle, LARGEST)
    assert rows.values is not None
    assert rows.values.shape[0] < values.shape[0] and rows.values.shape[1] < values.shape[1]
    for before, after in zip(bundle.manifest.programs, rows.bundle.manifest.programs):
        length = before.uniforms.get("weights", 0) // 4
        assert ("weights_row" in after.uniforms) == (0 < length <= rows.values.shape[1])
        assert ("weights" in after.uniforms) == (length > rows.values.shape[1])
    monkeypatch.setattr(uniform_rows, "MOST_BYTES", 16 * uniform_rows.LEAST_VECTORS - 1)
    rows = uniform_rows.with_rows(bundle, LARGEST)
    assert rows.values is None
    assert rows.bundle is bundle


def test_uniforms_are_those_of_the_passes() -> None:
    changed = uniform_rows.with_rows(tiny_bundle("uniform"), LARGEST).bundle.manifest
    uniforms = {program.name: dict(program.uniforms) for program in changed.programs}
    assert any("weights_row" in names for names in uniforms.values())
    for draw in changed.passes:
        counts = {
            name: value.count if isinstance(value, Slice) else len(value) for name, value in draw.uniforms.items()
        }
        assert counts == uniforms[draw.program]


def test_the_original_bundle_is_unchanged() -> None:
    bundle = tiny_bundle("uniform")
    members, manifest = dict(bundle.members), bundle.manifest
    uniform_rows.with_rows(bundle, LARGEST)
    assert bundle.members == members
    assert bundle.manifest is manifest


@pytest.mark.parametrize("weights, largest", [("baked", LARGEST), ("texture", LARGEST), ("uniform", 1)])
def test_bundles_without_suitable_arrays_are_unchanged(weights: str, largest: int) -> None:
    """Bundles are unchanged without arrays, with only units of a vec4 each, or with more rows than a texture has."""
    bundle = tiny_bundle(weights)
    rows = uniform_rows.with_rows(bundle, largest)
    assert rows.values is None
    assert rows.bundle is bundle


def test_a_shader_fetches_former_uniforms() -> None:
    text = uniform_rows.rewritten(SHADER, ["weights"], 4)
    assert (
        text
        == """#define BIAS weights_at(2)
uniform vec2 texel;
uniform sampler2D uniform_rows;
uniform float weights_row;
vec4 weights_at(int k) {
    return texture2D(uniform_rows, vec2((float(k) + 0.5) * 2.500000000e-01, weights_row));
}
void main() { gl_FragColor = BIAS + weights_at(2 * turn + 1).xyzw; }
"""
    )


def test_two_arrays_share_the_sampler() -> None:
    text = SHADER.replace("void main", "uniform vec4 more[COUNT];\nvoid main").replace("BIAS +", "more[0] + BIAS +")
    text = uniform_rows.rewritten(text, ["weights", "more"], 4)
    assert text.count("uniform sampler2D uniform_rows;") == 1
    assert "gl_FragColor = more_at(0) + BIAS + weights_at(2 * turn + 1).xyzw;" in text
    assert text.index("uniform sampler2D") < text.index("vec4 weights_at(") < text.index("vec4 more_at(")


def with_text(bundle: Bundle, old: str, new: str) -> Bundle:
    """Return a bundle with a replaced text in all shaders that read arrays."""
    members = {
        name: data.replace(old.encode(), new.encode()) if name.endswith(".frag") else data
        for name, data in bundle.members.items()
    }
    assert members != dict(bundle.members)
    return replace(bundle, members=members)


@pytest.mark.parametrize(
    "old, new",
    [
        ("vec4 sum = BIAS;", "vec4 sum = BIAS; float weights_row = 0.0;"),
        ("vec4 sum = BIAS;", "vec4 sum = BIAS; float uniform_rows = 0.0;"),
        ("vec4 sum = BIAS;", "vec4 sum = BIAS + first(weights);"),
        ("vec4 sum = BIAS;", "vec4 sum = BIAS + weights[int(weights[0].x)];"),
        ("uniform vec4 weights[WEIGHT_COUNT];", "uniform highp vec4 weights[WEIGHT_COUNT];"),
    ],
)
def test_other_shaders_are_not_changed(old: str, new: str) -> None:
    bundle = with_text(tiny_bundle("uniform"), old, new)
    assert uniform_rows.with_rows(bundle, LARGEST).bundle is bundle


MODELS = sorted((Path(__file__).resolve().parents[2] / "models").glob("*.glslnn"))
PROGRAM = ShaderProgram("p", "v", "p.frag", ("image",), 1, {"weights": 8, "late": 1})
DECLARED = "uniform sampler2D image;\nuniform vec4 weights[2];\nuniform float late;\n"
MAIN = "void main() {\n    gl_FragColor = vec4(late);\n}\n"
OTHER = "uniform vec4 other;\n"


def checked(text: str, program: ShaderProgram = PROGRAM, prelude: str = template("prelude.glsl")) -> None:
    members = {"shaders/prelude.glsl": prelude.encode(), "p.frag": (text + MAIN).encode()}
    program_check.check_fragment_shaders([program], members)


@pytest.mark.parametrize(
    "text",
    [
        DECLARED,
        DECLARED + "// uniform vec4 other;\n",
        DECLARED + f"#ifdef NEVER\n{OTHER}#endif\n",
        DECLARED + f"#ifdef NEVER\n{OTHER}#else\nfloat x;\n#endif\n",
        DECLARED + f"#define ALWAYS\n#ifndef ALWAYS\n{OTHER}#endif\n",
        DECLARED + f"#define A\n#undef A\n#ifdef A\n{OTHER}#endif\n",
        DECLARED + f"#ifdef NEVER\n#ifndef ROUND_STORES\n{OTHER}#endif\n#endif\n",
        f"#ifdef LATE_FETCH\n{DECLARED}#else\n{DECLARED}#endif\n",
        f"#ifdef NEVER\n#else\n{DECLARED}#endif\n",
    ],
    ids=range(9),
)
def test_shaders_that_declare_all_uniforms_are_accepted(text: str) -> None:
    checked(text)


@pytest.mark.parametrize(
    "text",
    [
        DECLARED + OTHER,
        DECLARED + "uniform vec4 other[3];\n",
        DECLARED + f"#ifdef ROUND_STORES\n{OTHER}#endif\n",
        DECLARED + f"#ifndef LATE_FETCH\n{OTHER}#endif\n",
        DECLARED + f"#ifndef NEVER\n{OTHER}#endif\n",
        DECLARED + f"#if !defined(NEVER) && !defined(LATE_FETCH)\n{OTHER}#endif\n",
        DECLARED + f"#define A\n#ifdef A\n{OTHER}#endif\n",
        DECLARED + f"#ifdef ROUND_STORES\n#define A\n#endif\n#ifdef A\n{OTHER}#endif\n",
        DECLARED + f"#ifdef NEVER\n#endif\n{OTHER}",
        DECLARED + "uniform sampler2D other;\n",
    ],
    ids=range(10),
)
def test_an_unset_uniform_is_refused(text: str) -> None:
    with pytest.raises(BundleError, match="'other'"):
        checked(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DECLARED.replace("image", "picture"), "declares the sampler 'picture', which no pass sets"),
        (
            DECLARED.replace("uniform sampler2D image;\n", ""),
            "set the sampler 'image', which its shader does not declare",
        ),
        (DECLARED.replace("sampler2D", "vec4"), "set the sampler 'image', which its shader does not declare"),
        (DECLARED.replace("uniform vec4 weights[2];\n", ""), "set the uniform 'weights', which its shader does not"),
        (DECLARED.replace("[2]", "[3]"), "set 8 numbers of the uniform 'weights', which has 12"),
        (DECLARED.replace("float late", "vec2 late"), "set 1 numbers of the uniform 'late', which has 2"),
    ],
)
def test_differences_of_set_and_declared_uniforms_are_refused(text: str, message: str) -> None:
    with pytest.raises(BundleError, match=f"program 'p': .*{message}"):
        checked(text)


@pytest.mark.parametrize(
    "prelude", ["", "#version 100\n", template("prelude.glsl").replace("highp float", "lowp float")]
)
def test_another_prelude_is_refused(prelude: str) -> None:
    with pytest.raises(BundleError, match=r"'shaders/prelude\.glsl'"):
        checked(DECLARED, prelude=prelude)


def test_the_comments_of_the_prelude_do_not_matter() -> None:
    lines = [line for line in template("prelude.glsl").split("\n") if not line.startswith("//")]
    checked(DECLARED, prelude="\n".join(lines))


def test_an_export_that_forgets_a_uniform_is_refused() -> None:
    program = tiny.tiny_program()
    forgetful = replace(program.programs[0], uniforms=dict(list(program.programs[0].uniforms.items())[1:]))
    (forgotten,) = set(program.programs[0].uniforms) - set(forgetful.uniforms)
    passes = tuple(
        replace(draw, uniforms={key: value for key, value in draw.uniforms.items() if key != forgotten})
        if draw.program == forgetful.name
        else draw
        for draw in program.passes
    )
    broken = replace(program, programs=(forgetful, *program.programs[1:]), passes=passes)
    with pytest.raises(BundleError, match=f"declares the uniform '{forgotten}', which no pass sets"):
        to_bundle(broken, tiny.LABELS)


def test_a_file_whose_shader_declares_one_more_is_refused(tmp_path: Path) -> None:
    members = tiny.tiny_members()
    name = tiny.tiny_bundle().manifest.programs[0].fragment
    path = zipped(tmp_path / "more.glslnn", rehashed(members, {name: b"uniform vec4 forgotten;\n" + members[name]}))
    assert "its shader declares the uniform 'forgotten', which no pass sets" in refusal(path)


EXPORTED = {
    **{f"tiny {weights}": tiny.tiny_bundle(weights) for weights in ("baked", "uniform", "texture")},
    **{f"ranged {end}": ranged.ranged_bundle(end) for end in ranged.ENDS},
}


@pytest.mark.parametrize("bundle", EXPORTED.values(), ids=EXPORTED.keys())
def test_shaders_of_the_engine_are_accepted(bundle: Bundle) -> None:
    program_check.check_fragment_shaders(bundle.manifest.programs, bundle.members)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_shader_of_the_shipped_models_passes(path: Path) -> None:
    """The check reads every shader of the shipped models: each uniform is missed if its declaration is removed."""
    bundle = bundles.read(path)
    for program in bundle.manifest.programs:
        for name in program.uniforms:
            less = replace(program, uniforms={key: size for key, size in program.uniforms.items() if key != name})
            with pytest.raises(BundleError, match=f"declares the uniform '{name}', which no pass sets"):
                program_check.check_fragment_shaders([less], bundle.members)


def test_all_five_models_are_there() -> None:
    assert len(MODELS) == 5


IN_A_COLUMN = """    t = texture2D(source, vec2(coord0.x, coord0.y));
    s = texture2D(source, vec2(coord0.x, WAIT(coord0.w)));
"""
IN_A_ROW = """    t = texture2D(source, vec2(coord0.x, coord0.y));
    s = texture2D(source, vec2(coord0.z, WAIT(coord0.y)));
"""
OWN = """    t = texture2D(source, vec2(coord0.x, coord0.y));
    s = texture2D(source, vec2(coord0.z, WAIT(coord0.w)));
"""
STEPS = (Source(0, 1.0, 1.0), Source(0, 1.0, 1.0))


def bundle_of_texts(
    *texts: str, origins: tuple[tuple[tuple[int, int], ...], ...], steps: tuple[Source, ...] = STEPS
) -> Bundle:
    """Return a bundle of a pass for each program, which reads two sources at ``origins``."""
    bundle_of_texts = tiny_bundle()
    texture = bundle_of_texts.manifest.textures[0].name
    programs = [ShaderProgram(f"p{k}", "v", f"f{k}", ("source",), 1, {"weights": 8}) for k in range(len(texts))]
    passes = [
        Pass("layer", f"p{k}", "t", True, (texture,), steps, (Quad(0, 0, 2, 2, origin),), {})
        for k, origin in enumerate(origins)
    ]
    manifest = replace(bundle_of_texts.manifest, programs=tuple(programs), passes=tuple(passes))
    return replace(bundle_of_texts, manifest=manifest, members={f"f{k}": text.encode() for k, text in enumerate(texts)})


COLUMN, ROW = ((3, 4), (3, 8)), ((3, 4), (7, 4))


def test_two_patterns_share_a_program() -> None:
    result = merged(bundle_of_texts(IN_A_COLUMN, IN_A_ROW, origins=(COLUMN, ROW)))
    assert [program.name for program in result.manifest.programs] == ["p0"]
    assert [draw.program for draw in result.manifest.passes] == ["p0", "p0"]
    assert result.members["f0"].decode() == OWN


def test_a_single_program_keeps_common_coordinates() -> None:
    network_bundle = bundle_of_texts(
        IN_A_COLUMN, "    t = texture2D(source, vec2(coord0.x, coord0.y));\n", origins=(COLUMN, ROW)
    )
    result = merged(network_bundle)
    assert result.manifest == network_bundle.manifest
    assert result.members == network_bundle.members


@pytest.mark.parametrize(
    "origins, steps",
    [
        ((((3, 4), (5, 8)), ROW), STEPS),  # not in a column
        ((COLUMN, ((3, 4), (7, 5))), STEPS),
        ((COLUMN, ROW), (STEPS[0], Source(0, 2.0, 1.0))),
        ((COLUMN, ROW), (STEPS[0], Source(0, 1.0, 0.5))),
    ],
)
def test_coordinates_of_different_sources_are_not_merged(
    origins: tuple[tuple[tuple[int, int], ...], ...], steps: tuple[Source, ...]
) -> None:
    network_bundle = bundle_of_texts(IN_A_COLUMN, IN_A_ROW, origins=origins, steps=steps)
    assert merged(network_bundle).manifest == network_bundle.manifest


@pytest.mark.parametrize(
    "other",
    [
        IN_A_ROW + "    t = texture2D(source, vec2(x0_1, coord0.y));\n",  # further taps of a kernel
        IN_A_ROW.replace("coord0.z", "coord1.z"),  # a component without a source
        IN_A_ROW.replace("t =", "u ="),
    ],
)
def test_a_text_of_another_kind_stays(other: str) -> None:
    network_bundle = bundle_of_texts(IN_A_COLUMN, other, origins=(COLUMN, ROW))
    assert merged(network_bundle).manifest == network_bundle.manifest


def test_programs_of_other_uniforms_stay() -> None:
    network_bundle = bundle_of_texts(IN_A_COLUMN, IN_A_ROW, origins=(COLUMN, ROW))
    first, second = network_bundle.manifest.programs
    network_bundle = replace(
        network_bundle,
        manifest=replace(network_bundle.manifest, programs=(first, replace(second, uniforms={"weights": 4}))),
    )
    assert merged(network_bundle).manifest == network_bundle.manifest

"""A uniform that a shader declares and no pass sets is refused, when a model is exported and when it is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import ranged
import tiny
from bundle_files import refusal, rehashed, zipped

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle, uniforms
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.errors import BundleError
from glsl_infer.program import ShaderProgram

MODELS = sorted((Path(__file__).resolve().parents[2] / "models").glob("*.glslnn"))
PROGRAM = ShaderProgram("p", "v", "p.frag", ("image",), 1, {"weights": 8, "late": 1})
DECLARED = "uniform sampler2D image;\nuniform vec4 weights[2];\nuniform float late;\n"


def checked(text: str, program: ShaderProgram = PROGRAM) -> None:
    uniforms.check([program], {"shaders/prelude.glsl": b"#version 100\n#define PRELUDE 1\n", "p.frag": text.encode()})


@pytest.mark.parametrize(
    "text",
    [
        DECLARED,
        "uniform sampler2D image; uniform vec4 weights[2]; uniform highp float late;",
        "uniform lowp sampler2D image;\nuniform\n    mediump vec4\n    weights [ 2 * N ] ;\nuniform float late;",
        DECLARED + "// uniform vec4 other;\n/* uniform vec4 other;\nuniform float more; */\n",
        "/* a */ uniform /* b */ sampler2D /* c */ image /* d */; // e\nuniform vec4 weights[2];uniform float late;",
        DECLARED + "// a comment that opens none /*\nvoid main() {} // */\n",
        DECLARED + "float uniformity; vec4 my_uniform;\n",
        DECLARED + "#ifdef NEVER\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifdef NEVER\nuniform vec4 other;\n#else\nfloat x;\n#endif\n",
        DECLARED + "#define ALWAYS\n#ifndef ALWAYS\nuniform vec4 other;\n#endif\n",
        DECLARED + "#define ALWAYS 1\n  # ifdef ALWAYS\nfloat x;\n#else\nuniform vec4 other;\n# endif\n",
        DECLARED + "#define A\n#undef A\n#ifdef A\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifdef NEVER\n#ifndef ROUND_STORES\nuniform vec4 other;\n#endif\n#endif\n",
        "#ifdef LATE_FETCH\n" + DECLARED + "#else\n" + DECLARED + "#endif\n",
        "#ifdef NEVER\n#else\n" + DECLARED + "#endif\n",
    ],
    ids=range(15),
)
def test_what_declares_what_is_set(text: str) -> None:
    checked(text)


@pytest.mark.parametrize(
    "text",
    [
        DECLARED + "uniform vec4 other;\n",
        DECLARED + "uniform vec2 other[3];\n",
        DECLARED + "uniform highp vec3 other;\n",
        DECLARED + "// */ uniform float fake;\nuniform float other; // tail",
        DECLARED + "/* a */ uniform float other; /* b */",
        DECLARED + "#ifdef ROUND_STORES\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifndef LATE_FETCH\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifdef GL_ES\nfloat x;\n#else\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifndef NEVER\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifdef GL_OES_standard_derivatives\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifndef __VERSION__\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifdef PRELUDE\nuniform vec4 other;\n#endif\n",
        DECLARED + "#define A\n#ifdef A\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifdef ROUND_STORES\n#define A\n#endif\n#ifdef A\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifdef ROUND_STORES\n#undef A\n#else\n#define A\n#endif\n#ifndef A\nuniform vec4 other;\n#endif\n",
        DECLARED + "#if 0\nuniform vec4 other;\n#endif\n",
        DECLARED + "#if 1\nfloat x;\n#elif 2\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifdef NEVER\nfloat x;\n#elif 1\nuniform vec4 other;\n#endif\n",
        DECLARED + "#ifdef NEVER\n#endif\nuniform vec4 other;\n",
    ],
    ids=range(19),
)
def test_a_uniform_that_nobody_sets_is_refused(text: str) -> None:
    with pytest.raises(BundleError, match="program 'p': its shader declares the uniform 'other', which no pass sets"):
        checked(text)


def test_a_sampler_that_no_unit_is_for() -> None:
    with pytest.raises(BundleError, match="program 'p': its shader declares the sampler 'other', which no pass sets"):
        checked(DECLARED + "uniform sampler2D other;\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DECLARED.replace("late", "early"), "declares the uniform 'early', which no pass sets"),
        (DECLARED.replace("uniform float late;", ""), "set the uniform 'late', which its shader does not declare"),
        (DECLARED.replace("uniform float late;", "// late"), "set the uniform 'late', which its shader does not"),
        (DECLARED.replace("image", "picture"), "declares the sampler 'picture', which no pass sets"),
        ("uniform vec4 weights[2];\nuniform float late;", "set the sampler 'image', which its shader does not declare"),
        (DECLARED.replace("sampler2D", "vec4"), "set the sampler 'image', which its shader does not declare"),
        ("#ifdef NEVER\n" + DECLARED + "#endif\n", "set the sampler 'image', which its shader does not declare"),
        ("", "set the sampler 'image', which its shader does not declare"),
    ],
)
def test_what_is_set_and_what_is_declared_are_the_same(text: str, message: str) -> None:
    with pytest.raises(BundleError, match=f"program 'p': .*{message}"):
        checked(text)


@pytest.mark.parametrize(
    "text",
    [
        "uniform float a, b;",
        "uniform vec4 other[2], more;",
        "uniform mat4 other;",
        "uniform samplerCube other;",
        "uniform Struct other;",
        "uniform float other",
        "uniform struct { float a; } other;",
        "uniform float 4other;",
    ],
)
def test_a_declaration_of_another_form_is_refused(text: str) -> None:
    """A list, a matrix or a structure is not understood here, so it cannot be said to be set."""
    with pytest.raises(BundleError, match="program 'p': a uniform is not declared on its own, as 'uniform vec4 name;'"):
        checked(DECLARED + text)


@pytest.mark.parametrize("directive", ["else", "endif", "elif 1"])
def test_a_directive_without_a_condition(directive: str) -> None:
    with pytest.raises(BundleError, match=f"program 'p': #{directive.split(maxsplit=1)[0]} without a condition"):
        checked(DECLARED + f"#{directive}\n")


def test_bytes_that_are_no_text_are_none_of_its_business() -> None:
    text = DECLARED.encode() + b"// \xff\xfe\x00 \xc3\xa9\r\n#\n#pragma x\n"
    uniforms.check([PROGRAM], {"shaders/prelude.glsl": b"\xff\n", "p.frag": text})


def test_an_export_that_forgets_a_uniform_is_refused() -> None:
    program = tiny.tiny_program()
    forgetful = replace(program.programs[0], uniforms=dict(list(program.programs[0].uniforms.items())[1:]))
    (forgotten,) = set(program.programs[0].uniforms) - set(forgetful.uniforms)
    passes = tuple(
        replace(entry, uniforms={key: value for key, value in entry.uniforms.items() if key != forgotten})
        if entry.program == forgetful.name
        else entry
        for entry in program.passes
    )
    broken = replace(program, programs=(forgetful, *program.programs[1:]), passes=passes)
    with pytest.raises(BundleError, match=f"declares the uniform '{forgotten}', which no pass sets"):
        to_bundle(broken, tiny.LABELS)


def test_a_file_whose_shader_declares_one_more_is_refused(tmp_path: Path) -> None:
    members = tiny.tiny_members()
    name = tiny.tiny_bundle().manifest.programs[0].fragment
    path = zipped(tmp_path / "more.glslnn", rehashed(members, {name: members[name] + b"\nuniform vec4 forgotten;\n"}))
    assert "its shader declares the uniform 'forgotten', which no pass sets" in refusal(path)


MADE = {
    **{f"tiny {weights}": tiny.tiny_bundle(weights) for weights in ("baked", "uniform", "texture")},
    **{f"ranged {end}": ranged.ranged_bundle(end) for end in ranged.ENDS},
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE.keys())
def test_what_the_engine_writes_passes(made: Bundle) -> None:
    uniforms.check(made.manifest.programs, made.members)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_shader_of_the_shipped_models_passes(path: Path) -> None:
    """And each of its uniforms would be missed: the check looks into these shaders at all."""
    made = bundles.read(path)
    for program in made.manifest.programs:
        for name in program.uniforms:
            less = replace(program, uniforms={key: size for key, size in program.uniforms.items() if key != name})
            with pytest.raises(BundleError, match=f"declares the uniform '{name}', which no pass sets"):
                uniforms.check([less], made.members)


def test_all_five_models_are_there() -> None:
    assert len(MODELS) == 5

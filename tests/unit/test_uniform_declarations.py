"""A shader's declared uniforms equal those that passes set, both at export and when a file is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import ranged
import tiny
from bundle_files import refusal, rehashed, zipped

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle, program_check
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.errors import BundleError
from glsl_infer.program import ShaderProgram
from glsl_infer.program.templates import template

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

"""The Java runner says of a shader's uniforms what the Python runner says."""

from __future__ import annotations

import random
from pathlib import Path

import tiny
from bundle_files import rehashed, zipped
from jvm import Jvm

from glsl_infer import bundle as bundles
from glsl_infer.errors import BundleError

SHADER = tiny.tiny_bundle().manifest.programs[0].fragment
LINES = (
    *("uniform vec4 other;", "uniform lowp sampler2D more[2] ;", "uniform float a, b;", "uniform mat4 m;", "float x;"),
    *(
        "#ifdef NEVER",
        "#ifdef ROUND_STORES",
        "#ifndef LATE_FETCH",
        "#ifdef GL_ES",
        "  #\tifndef __VERSION__",
        "#ifdef A",
    ),
    *("#else", "#elif 2", "#endif", "#endif", "#if 1", "#define A", "#define A 1", "#undef A", "#", "#pragma x"),
    *(
        "// uniform vec4 hidden;",
        "/* uniform vec4 hidden;",
        "*/",
        "uniform",
        "vec4 split;",
        "\xe9\x0b\r uniform vec2 u;",
    ),
)


def shaders() -> list[bytes]:
    """Return what is written behind a sound shader: up to eight lines at random, most with conditions that end."""
    rng = random.Random(8)
    return ["\n".join(rng.choices(LINES, k=rng.randint(1, 8))).encode("latin-1") + b"\n" for _ in range(200)]


def test_the_same_verdicts(runner: Jvm, tmp_path: Path) -> None:
    members, paths, expected = tiny.tiny_members(), [], []
    for index, more in enumerate(shaders()):
        path = tmp_path / f"{index}.glslnn"
        paths.append(zipped(path, rehashed(members, {SHADER: members[SHADER] + b"\n" + more})))
        try:
            bundles.read(path)
            expected.append("")
        except BundleError as error:
            expected.append(str(error).removeprefix(f"{path}: "))
    assert runner.verdicts(paths) == expected
    assert 20 < expected.count("") < 180
    assert len(set(expected)) > 8

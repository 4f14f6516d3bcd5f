"""Uniforms that differ between the draws of a program become one array; others stay as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from tiny import tiny_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.program import Pass, Quad, ShaderProgram, Slice, UniformValue
from glsl_infer.runtime.drivers.joined_uniforms import MEMBER, UNIFORM, joined

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


def read(bundle: Bundle, entry: Pass, name: str) -> list[float]:
    """Return the value of a uniform in a draw as the shader reads it; of an array, as many floats as it has."""
    value = entry.uniforms[UNIFORM]
    assert isinstance(value, Slice) and value.member == MEMBER and MEMBER in bundle.manifest.floats
    array = np.frombuffer(bundle.members[MEMBER], "<f4")[value.offset : value.offset + value.count]
    (place,) = re.findall(rf"^#define {name} {UNIFORM}(.*?)(?: //.*)?$", bundle.members["f"].decode(), re.MULTILINE)
    if not place:
        return array[: SIZES[name]].tolist()
    (vector, lanes) = re.fullmatch(r"\[(\d+)\]\.(\w+)", place).groups()
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
    assert [entry.uniforms["source_texel"] for entry in after.manifest.passes] == [(0.25, 0.5)] * 2
    assert "uniform vec2 source_texel;" in after.members["f"].decode()


@pytest.mark.parametrize(
    "line", ["    float late = 1.0;", "    int late = 1;", "#define late 1.0", "    gl_FragColor.late;"]
)
def test_a_name_with_another_use_stays(line: str) -> None:
    text = TEXT.replace("    gl_FragColor", f"{line}\n    gl_FragColor", 1)
    after = joined(bundle(values(0), values(5), text=text))
    assert after.manifest.programs[0].uniforms == {"late": 1, UNIFORM: 20}
    assert [entry.uniforms["late"] for entry in after.manifest.passes] == [(0.0,), (5.0,)]


@pytest.mark.parametrize("case", ["equal draws", "one uniform", "a shader of two programs", "the name"])
def test_bundles_without_joinable_uniforms_are_unchanged(case: str) -> None:
    second = {"one uniform": {**values(0), "late": (9.0,)}}.get(case, values(5))
    before = {
        "equal draws": lambda: bundle(values(0), values(0)),
        "a shader of two programs": lambda: bundle(values(0), values(0), second, second, programs=2),
        "the name": lambda: bundle(values(0), second, text=TEXT.replace("LATE", UNIFORM)),
    }.get(case, lambda: bundle(values(0), second))()
    assert joined(before) is before

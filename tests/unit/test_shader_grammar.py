"""The GLSL of bundles: the engine's shaders pass, constructs that can crash a driver do not, and checking is fast."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hostile_shaders import ACCEPTED, HEAD, REFUSED, line_of

from glsl_infer.bundle import format_constants
from glsl_infer.bundle.shader_check import parse
from glsl_infer.errors import BundleError
from glsl_infer.program.templates import template


@pytest.mark.parametrize("construct", REFUSED)
def test_hostile_constructs_are_refused_with_their_line(construct: str) -> None:
    with pytest.raises(BundleError) as caught:
        parse("shaders/x.frag", HEAD + REFUSED[construct])
    assert str(caught.value).startswith(f"shader 'shaders/x.frag' line {line_of(REFUSED[construct])}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("construct", ACCEPTED)
def test_harmless_constructs_are_accepted(construct: str) -> None:
    shader = parse("shaders/x.frag", HEAD + ACCEPTED[construct])
    assert shader.uniforms == {"source": "sampler2D", "weights": "vec4"}
    assert 0 < shader.written < 26880 and shader.executed > 0


def test_costs_of_shaders() -> None:
    parsed = parse("m", HEAD + "void main() {\n    gl_FragColor = coord0 * 2.0;\n}\n")
    assert (parsed.written, parsed.executed) == (1, 1)
    loop = "for (int i = 0; i < 10; i++) {\n        gl_FragColor = coord0 * 2.0;\n    }\n}\n"
    many = parse("m", f"{HEAD}void main() {{\ngl_FragColor = coord0;\n{loop}")
    assert (many.written, many.executed) == (3002, 11)  # a loop, its variable, and ten turns
    costs = {
        "if (coord0.x > 0.5) y = coord0;": 67,
        "y = coord0.x > 0.5 ? y : coord0;": 67,
        "y = pow(coord0, coord0);": 122,
        "y = exp(coord0);": 50,
        "y = floor(coord0);": 3,
    }
    for line, written in costs.items():
        chosen = parse("m", HEAD + f"void main() {{\nvec4 y = coord0 + 1.0;\n{line}\ngl_FragColor = y;\n}}\n")
        assert chosen.written == written, line


@pytest.mark.parametrize("numbers", ["0.5, 1.0, 2.0, 3.0", "-0.5, 1, -2e-5, -0.0", "7"])
def test_numbers_read_at_once_count_as_those_read_one_by_one(numbers: str) -> None:
    first, others = numbers.partition(",")[0], "".join(numbers.partition(",")[1:])
    at_once, one_by_one = (
        parse("m", HEAD + f"void main() {{\ngl_FragColor = coord0 * vec4({text});\n}}\n")
        for text in (numbers, f"({first}){others}")
    )
    assert at_once == one_by_one
    assert at_once.written == 2 + numbers.count("-") - numbers.count("e-")


@pytest.mark.parametrize("numbers", ["1.0, -1e39, 1.0, 1.0", "1.0, , 1.0", "- -1.0", "1.0 1.0"])
def test_numbers_read_at_once_are_refused_like_others(numbers: str) -> None:
    with pytest.raises(BundleError, match="line 5: "):
        parse("m", HEAD + f"void main() {{\ngl_FragColor = coord0 * vec4({numbers});\n}}\n")


def test_brackets_of_numbers_read_at_once_count() -> None:
    most = format_constants.GLSL_LIMITS["brackets"]
    text = "void main() {{\ngl_FragColor = {}coord0 * vec4(0.5){};\n}}\n"
    assert parse("m", HEAD + text.format("(" * (most - 1), ")" * (most - 1))).written
    with pytest.raises(BundleError, match=f"brackets are more than {most} deep"):
        parse("m", HEAD + text.format("(" * most, ")" * most))


def test_a_macro_counts_where_it_is_used() -> None:
    text = "#define TWICE(x) max(x, x)\nvoid main() {\n    gl_FragColor = TWICE(coord0 + coord0 + coord0);\n}\n"
    assert parse("m", HEAD + text).written == 5


@pytest.mark.parametrize("name", ["prelude.glsl", "store.glsl"])
def test_the_prelude_of_the_format_is_the_template_s(name: str) -> None:
    code = [re.sub(r" *//.*", "", line) for line in template(name).split("\n")]
    same = [line for line in code if line] == list(format_constants.GLSL_PRELUDE)
    assert same == (name == "prelude.glsl")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["#ifdef A\n" * 100_000, "/" * 200_000, "(" * 100_000, "/*" * 100_000, "a " * 100_000, "#define A\n" * 20_000],
)
def test_long_texts_take_little_memory(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BundleError):
            parse("m", f"{text}\n")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()

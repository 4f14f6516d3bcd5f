"""The virtual VideoCore IV computes as in videocore.md, and as llvmpipe except for rounding."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from on_executor import case, drawn, texture

from glsl_infer.tools.videocore.executor import Executor

F32 = np.float32
EQUAL = "uniform vec4 a, b, c; void main() { gl_FragColor = vec4(equal(a %s b, c)); }"


@pytest.fixture
def executor(each_executor: Executor) -> Executor:
    return each_executor


def toward_zero(exact: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the float32 values nearest to the exact ones, but not farther from zero."""
    nearest = exact.astype(F32)
    beyond = np.abs(nearest.astype(np.float64)) > np.abs(exact)
    return np.where(beyond, np.nextafter(nearest, F32(0)), nearest)


OPERATIONS = {"+": np.add, "-": np.subtract, "*": np.multiply}


@pytest.mark.parametrize("sign", OPERATIONS)
def test_sums_and_products_round_toward_zero_or_to_nearest(executor: Executor, sign: str) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-4, 4, 64).astype(F32) for _ in range(2))
    exact = OPERATIONS[sign](a.astype(np.float64), b.astype(np.float64))
    truncated, nearest = toward_zero(exact), exact.astype(F32)
    assert np.count_nonzero(truncated != nearest) > 10, "there is something to tell apart"
    cases = []
    for rounding, expected in (("hardware", truncated), ("nearest", nearest)):
        for k in range(0, 64, 4):
            uniforms = {name: row[k : k + 4].tolist() for name, row in (("a", a), ("b", b), ("c", expected))}
            cases.append(case(EQUAL % sign, (1, 1), uniforms=uniforms, switches={"ROUND": rounding}))
    assert all((pixels == 255).all() for pixels in drawn(executor, *cases))


def test_products_and_sums_can_round_differently(executor: Executor) -> None:
    a, b = F32(1.1), F32(1.7)
    exact = np.array([float(a) * float(b)])
    assert exact.astype(F32) != toward_zero(exact)
    expected = [float(exact.astype(F32)[0]), float(toward_zero(exact)[0]), 0.0, 0.0]
    uniforms = {"a": [float(a)] * 4, "b": [float(b)] * 4, "c": expected}
    both = drawn(
        executor,
        *(case(EQUAL % "*", (1, 1), uniforms=uniforms, switches={"FMUL": mode}) for mode in ("hardware", "nearest")),
    )
    assert [pixels[0, 0, :2].tolist() for pixels in both] == [[0, 255], [255, 0]]


def test_every_byte_is_copied_exactly(executor: Executor) -> None:
    texels = np.arange(1024, dtype=np.uint16).astype(np.uint8).reshape(16, 16, 4)
    copy = "uniform sampler2D t0; void main() { gl_FragColor = texture2D(t0, at); }"
    cases = [case(copy, textures=[texture(texels)], switches={"ROUND": mode}) for mode in ("hardware", "nearest")]
    for pixels in drawn(executor, *cases):
        np.testing.assert_array_equal(pixels, texels)


def test_a_byte_is_its_255th_part_toward_zero(executor: Executor) -> None:
    values = np.array([1, 2, 100, 255], np.uint8)
    expected = toward_zero(values / 255.0)
    assert expected.view(np.uint32)[0] == 0x3B808080, "as measured on the hardware"
    test = "uniform sampler2D t0; uniform vec4 c; void main() { gl_FragColor = vec4(equal(texture2D(t0, at), c)); }"
    texel = texture(values.reshape(1, 1, 4))
    (pixels,) = drawn(executor, case(test, (1, 1), textures=[texel], uniforms={"c": expected.tolist()}))
    assert (pixels == 255).all()


def test_a_store_rounds_or_truncates(executor: Executor) -> None:
    store = "uniform vec4 a; void main() { gl_FragColor = a; }"
    values = [(9 + fraction) / 255.0 for fraction in (0.49, 0.51, 0.9, 0.01)]
    cases = [case(store, (1, 1), uniforms={"a": values}, switches={"PACK": how}) for how in ("round", "truncate")]
    rounded, truncated = drawn(executor, *cases)
    assert rounded[0, 0].tolist() == [9, 10, 10, 9]
    assert truncated[0, 0].tolist() == [9, 9, 9, 9]


FUNCTIONS = {
    "1.0 / a": lambda a: 1.0 / a,
    "inversesqrt(a)": lambda a: 1.0 / np.sqrt(a),
    "exp2(a)": np.exp2,
    "log2(a)": np.log2,
}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_special_functions_have_the_required_bits(executor: Executor, text: str) -> None:
    """Special functions have the required precision: the shader compares them with limits of 2^-9 and 2^-20."""
    a = np.array([0.3, 1.7, 3.1, 5.9], F32)
    expected = FUNCTIONS[text](a.astype(np.float64))
    fragment = (
        "uniform vec4 a, c, limit; void main() { "
        f"vec4 off = abs({text} - c); gl_FragColor = vec4(lessThan(off, limit * max(abs(c), 0.1))); }}"
    )
    cases = [
        case(
            fragment,
            (1, 1),
            uniforms={"a": a.tolist(), "c": expected.tolist(), "limit": [2.0**bits] * 4},
            switches={"SFU": accuracy},
        )
        for bits, accuracy in ((-9, "11"), (-20, "23"), (-20, "6"))
    ]
    few, many, too_few = drawn(executor, *cases)
    assert (few == 255).all() and (many == 255).all()
    newton = text in ("1.0 / a", "inversesqrt(a)")  # Newton's method, which doubles the bits
    assert (too_few == (0 if not newton else too_few)).all()


LOOP = """
uniform vec4 a[8];
void main() {
    float x = floor(gl_FragCoord.x), y = floor(gl_FragCoord.y), sum = 0.0;
    for (int k = 0; k < 12; k++) {
        if (float(k) > x) break;
        if (mod(float(k), 3.0) == y - 3.0 * floor(y / 3.0)) { sum += 2.0; continue; }
        sum += float(k) < y ? 1.0 : 5.0;
    }
    gl_FragColor = vec4(sum / 255.0, a[int(x / 2.0)].xy / 255.0, 1.0);
}
"""


def test_loops_with_a_number_of_turns_per_pixel(executor: Executor) -> None:
    table = np.arange(32, dtype=F32) * 3
    (pixels,) = drawn(executor, case(LOOP, uniforms={"a": table.tolist()}))
    for y in range(16):
        for x in range(16):
            turns = range(min(12, x + 1))
            expected = sum(2 if k % 3 == y % 3 else 1 if k < y else 5 for k in turns)
            first = table[x // 2 * 4]
            assert pixels[y, x].tolist() == [expected, first, first + 3, 255], (x, y)


BRANCH = """
uniform sampler2D t0;
void main() {
    vec4 y = vec4(0.25);
    if (at.x * 64.0 > 5.0) {
        y = texture2D(t0, at);
        if (y.x > 0.5) y = texture2D(t0, vec2(1.0) - at); else y.yzw = vec3(1.0);
    } else if (at.y * 64.0 < 3.0) y = vec4(0.0, at, 1.0);
    gl_FragColor = y;
}
"""


def test_fetches_in_branches(executor: Executor) -> None:
    texels = np.random.default_rng(2).integers(0, 256, (64, 64, 4), np.uint8)
    (pixels,) = drawn(executor, case(BRANCH, (64, 64), textures=[texture(texels)]))
    turned, inner = texels[::-1, ::-1], texels.copy()
    inner[..., 1:] = 255
    expected = np.where(texels[..., :1] > 127, turned, inner)
    np.testing.assert_array_equal(pixels[:, 5:], expected[:, 5:])
    assert (pixels[3:, :5] == 64).all()


def test_integers_multiply_compare_and_divide(executor: Executor) -> None:
    fragment = """
    void main() {
        int x = int(gl_FragCoord.x), y = int(gl_FragCoord.y);
        int most = x > y ? x : y;
        gl_FragColor = vec4(float(x * y), float(most), float(x - y + 20), float((x + 300) / (y + 2))) / 255.0;
    }"""
    (pixels,) = drawn(executor, case(fragment))
    y, x = np.mgrid[:16, :16]
    for lane, expected in enumerate((x * y, np.maximum(x, y), x - y + 20)):
        np.testing.assert_array_equal(pixels[..., lane], expected)
    # The driver multiplies by a reciprocal times 2^32, in halves, with mul24 and carries. The smallest divisor is 2,
    # because ftoi of 2^32 / 1 is out of range.
    np.testing.assert_array_equal(pixels[..., 3], (x + 300) // (y + 2))


def test_discarded_fragments_keep_the_clear_colour(executor: Executor) -> None:
    fragment = "void main() { if (at.x * 16.0 < 7.0) discard; gl_FragColor = vec4(1.0); }"
    (pixels,) = drawn(executor, case(fragment))
    assert (pixels[:, 7:] == 255).all()
    assert (pixels[:, :7] == [51, 102, 153, 204]).all()


SHADERS = 60
LEAVES = ["x.x", "x.y", "x.z", "x.w", "a.x", "a.y", "a.z", "a.w", "at.x", "at.y", "0.5", "1.0", "-0.25", "3.0", "v"]
UNARY = ["abs({0})", "floor({0} * 4.0)", "fract({0})", "sign({0})", "-({0})", "clamp({0}, -0.5, 0.75)"]
BINARY = ["({0} + {1})", "({0} - {1})", "({0} * {1})", "min({0}, {1})", "max({0}, {1})", "step({0}, {1})"]
CHOICES = ["({0} < {1} ? {2} : {3})", "(({0} < {1} && {2} > {3}) ? {2} : {0})", "mix({0}, {1}, {2} * {3})"]


def expression(rng: np.random.Generator, depth: int) -> str:
    """Return a float expression of random operations."""
    if depth == 0 or rng.random() < 0.1:
        return str(rng.choice(LEAVES))
    kinds = [UNARY, BINARY, BINARY, BINARY, CHOICES]
    text = str(rng.choice(kinds[int(rng.integers(len(kinds)))]))
    return text.format(*(expression(rng, depth - 1) for _ in range(4)))


def fragment(rng: np.random.Generator) -> str:
    """Return random statements, with branches and loops, for a colour from two texels and four floats."""
    lines = ["vec4 x = texture2D(t0, at); float v = 0.1;"]
    for _ in range(int(rng.integers(1, 4))):
        first, second, third = (expression(rng, 2) for _ in range(3))
        lines.append(
            str(
                rng.choice(
                    [
                        f"v = {first};",
                        f"if ({first} > {second}) v = {third}; else x.y = {second};",
                        f"for (int k = 0; k < 5; k++) {{ if (float(k) > {first} * 4.0) break; v += {second} * 0.1; }}",
                        f"if ({first} > 0.3) {{ x = texture2D(t0, at.yx); v += {second}; }}",
                    ]
                )
            )
        )
    lanes = ", ".join(expression(rng, 3) for _ in range(4))
    return f"uniform sampler2D t0; uniform vec4 a; void main() {{ {' '.join(lines)} gl_FragColor = vec4({lanes}); }}"


@pytest.mark.exhaustive
def test_random_shaders(executor: Executor) -> None:
    rng = np.random.default_rng(7)
    size = (24, 20)
    cases = []
    for _ in range(SHADERS):
        texels = texture(rng.integers(0, 256, (20, 24, 4), np.uint8))
        uniforms = {"a": rng.uniform(-1, 2, 4).astype(np.float32).tolist()}
        switches = {"ROUND": "nearest"}
        cases.append(case(fragment(rng), size, textures=[texels], uniforms=uniforms, switches=switches))
    differences = [
        np.abs(pixels.astype(int) - expected) for pixels, expected in zip(drawn(executor, *cases), drawn(None, *cases))
    ]
    shares = [np.count_nonzero(errors > 1) / errors.size for errors in differences]
    wrong = {cases[k]["fragment"]: share for k, share in enumerate(shares) if share > 0.02}
    assert not wrong, wrong  # a comparison of two equal values may go either way
    assert np.mean(shares) < 0.002

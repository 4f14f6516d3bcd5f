"""Random fragment shaders on the virtual VideoCore IV and on llvmpipe give the same bytes except for rounding."""

from __future__ import annotations

import numpy as np
import pytest
from on_executor import case, drawn, texture

from glsl_infer.tools.videocore.executor import Executor

pytestmark = pytest.mark.exhaustive

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


def test_random_shaders(executor: Executor) -> None:
    rng = np.random.default_rng(7)
    size = (24, 20)
    cases = []
    for _ in range(SHADERS):
        texels = texture(rng.integers(0, 256, (20, 24, 4), np.uint8))
        numbers = {"a": rng.uniform(-1, 2, 4).astype(np.float32).tolist()}
        switches = {"ROUND": "nearest"}
        cases.append(case(fragment(rng), size, textures=[texels], uniforms=numbers, switches=switches))
    off = [np.abs(ours.astype(int) - theirs) for ours, theirs in zip(drawn(executor, *cases), drawn(None, *cases))]
    shares = [np.count_nonzero(one > 1) / one.size for one in off]
    wrong = {cases[k]["fragment"]: share for k, share in enumerate(shares) if share > 0.02}
    assert not wrong, wrong  # a comparison of two equal values may go either way
    assert np.mean(shares) < 0.002

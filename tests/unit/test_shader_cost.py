"""Counting of the fetches of a shader, for the costs in docs/reference/operators.md."""

from __future__ import annotations

import pytest
from operator_table.shader_cost import fetches


@pytest.mark.parametrize(
    "shader, expected",
    [
        ("void main() { gl_FragColor = texture2D(a, b) + texture2D(a, c); // texture2D(a, d)\n}", 2),
        ("#define N 3\nvoid main() { for (int i = 0; i < N; i++) { x += texture2D(a, b); } }", 3),
        (
            "#define N 3\nvoid main() { for (int y = 0; y < 2; y++) {\n for (int x = 1; x < N; x++) {\n"
            " s += texture2D(a, b) + texture2D(a, c);\n }\n s += texture2D(a, b);\n }\n s += texture2D(a, b);\n}",
            2 * (2 * 2 + 1) + 1,
        ),
        ("vec4 two(vec2 at) { return texture2D(a, at) + texture2D(a, b); }\nvoid main() { x = two(p) * two(q); }", 4),
        ("#define R f * texture2D(a, b)\n#ifdef R\nvoid main() { s += R; }\n#else\nvoid main() { }\n#endif", 1),
        ("#ifndef M\n#define M 2\n#endif\nvoid main() { for (int i = 0; i < M; i++) { s += texture2D(a, b); } }", 2),
        ("void main() { if (p < 0.5) { y = texture2D(a, b); } else { y = texture2D(a, c); } }", 2),
        ("float f(vec2 at) { return texture2D(a, at).x; }\nvoid main() { }", 0),
    ],
)
def test_counting_of_fetches(shader: str, expected: int) -> None:
    assert fetches(shader) == expected


@pytest.mark.parametrize(
    "shader, message",
    [
        ("#if N > 2\n#endif\nvoid main() { }", "a directive"),
        ("void main() { while (true) { x += texture2D(a, b); } }", "a loop"),
        ("void main() { for (int i = 0; i < count; i++) { x += texture2D(a, b); } }", "a loop"),
        ("void other() { }", "without main"),
    ],
)
def test_unsupported_shaders_are_refused_by_the_count(shader: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fetches(shader)

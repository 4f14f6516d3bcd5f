"""Shaders that could crash or stall a driver: complete ones, and changes of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

HOSTILE_GLSL = (
    *("while (true) {}", "for (;;) {}", "for (int i = 0; i < 2000000000; i++) {}", "discard;", "return;", "{", "}"),
    *("gl_FragColor = vec4(0.0 / 0.0);", "gl_FragColor = vec4(1.0 / 0.0);", "gl_FragData[7] = vec4(1.0);", "#error x"),
    *("#include </etc/passwd>", '#include "/dev/zero"', "#extension all : require", "#version 460", "#line -1", "\0"),
    *("uniform vec4 more[4096];", "varying vec4 more[64];", "uniform sampler2D more[64];", "float f() { return f(); }"),
    *("asm", "goto", "é", "\\", "/*", "//\\", "#define main", "#define vec4 int", "precision lowp float;", "a" * 3000),
    *("((" * 500, "mat4 m[2000];", "int i = 1 / 0;", "#if 1 / 0", "#pragma STDGL invariant(all)", "attribute vec4 a;"),
)


_TOKEN = re.compile(r"\s+|[A-Za-z_]\w*|[\d.]+(?:e-?\d+)?|[-+*/=!<>]=|\+\+|&&|\|\||.", re.DOTALL)


HOSTILE_TOKENS = (
    *("0.0", "0", "1e30", "1e-40", "99999", "4294967296", "1e999", "texture2D", "main", "gl_FragColor", "gl_FragCoord"),
    *("for", "if", "while", "discard", "break", "return", "int", "mat4", "(", ")", "{", "}", "[", "]", ";", ",", "."),
    *("+", "-", "*", "/", "=", "?", ":", "<", "//", "/*", "#if", "#else", "#endif", "#define A B\n", "\\\n", "end"),
    *("LATE_FETCH", "ROUND_STORES", "END_AFTER", "TURNS", "GL_ES", "__LINE__", "constructor", "coord0", "late", "\n"),
)


def glsl_tokens(rng: Random, text: str, others: Sequence[str]) -> str:
    """Change one to three tokens or lines of a shader; ``others``: texts to take lines from."""
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.5:
            parts, joint, pool = _TOKEN.findall(text), "", HOSTILE_TOKENS
        else:
            parts, joint, pool = text.split("\n"), "\n", tuple(rng.choice(others).split("\n"))
        at, how = rng.randint(0, len(parts) - 1), rng.randint(0, 5)
        if how == 0:
            parts[at] = rng.choice(pool)
        elif how == 1:
            parts.insert(at, rng.choice(pool))
        elif how == 2 and len(parts) > 1:
            del parts[at]
        elif how == 3:
            parts[at:at] = parts[at : at + rng.randint(1, 8)] * rng.choice((1, 1, 2, 40))
        elif how == 4:
            parts[at] = parts[rng.randint(0, len(parts) - 1)]
        else:
            parts[at] = re.sub(r"\d+", lambda _: str(rng.choice((0, 1, 9, 1000, 8192))), parts[at], count=1)
        text = joint.join(parts)
    return text

"""Attacks on the shader checker by kind: each is refused in the line that ends with ``//!``, in all three readers.

Each text follows ``hostile_shaders.HEAD``. A driver refuses some of them as well; the reader must not rely on that.
"""

from __future__ import annotations

_FETCH = "vec4 z = texture2D(source, vec2(y));"


def _shader(declarations: str, body: str = "") -> str:
    """Return a shader. The lines of the body are separated by ``|``, and ``FETCH`` is a fetch at ``y``."""
    lines = [line.replace("FETCH", _FETCH, line.startswith("FETCH")) for line in body.split(" | ") if line]
    last = "    gl_FragColor = texture2D(source, coord0.xy);"
    return "\n".join([f"{declarations}void main() {{", *lines, last, "}", ""])


ATTACKS: dict[str, tuple[str, ...]] = {
    "rounding in functions": (
        _shader("float f(float a) {\n    return a + 1.0 - a;\n}\n", "float y = 1.0 / f(16777216.0); //! | FETCH"),
        _shader("float f(float a) {\n    return a + 1.0 - a;\n}\n", "float y = 1.0 / f(f(1e9)); //! | FETCH"),
        _shader(
            "float f(float a) {\n    return a * 3.0;\n}\nfloat g(float a) {\n    return f(a) - a - a - a;\n}\n",
            "float y = coord0.x / g(0.1); //! | FETCH",
        ),
        _shader(
            "float f(float a) {\n    return a / 49.0 * 49.0;\n}\n", "float y = coord0.x / (f(1.0) - 1.0); //! | FETCH"
        ),
        _shader("float f(float a) {\n    return 0.1 + a;\n}\n", "float y = coord0.x / (f(0.2) - 0.3); //! | FETCH"),
        _shader("float f(float a) {\n    return fract(a);\n}\n", "float y = coord0.x / f(8388608.5); //! | FETCH"),
        _shader(
            "float f(float a) {\n    return floor(a);\n}\n", "float y = coord0.x / (f(0.99999999) - 1.0); //! | FETCH"
        ),
        _shader(
            "float f(vec2 a) {\n    return dot(a, a); //!\n}\n", "float y = coord0.x / (f(vec2(1e-18, 1e-18))); | FETCH"
        ),
        _shader("float f(float a) {\n    return mix(1e8, -1e8, a);\n}\n", "float y = coord0.x / f(0.5); //! | FETCH"),
        _shader(
            "float f(float a) {\n    return abs(a - 1.0) + 1e-25;\n}\n", "float y = 1e20 / f(coord0.x); | FETCH //!"
        ),
        _shader("float f(float a) {\n    return sin(a);\n}\n", "float y = coord0.x / f(0.0); //! | FETCH"),
        _shader(
            "float f(float a) {\n    return min(a, 1.0) - max(a, 1.0);\n}\n", "float y = coord0.x / f(1.0); //! | FETCH"
        ),
        _shader("float f(float a) {\n    return step(a, 1.0) - 1.0;\n}\n", "float y = coord0.x / f(0.5); //! | FETCH"),
        _shader(
            "float f(float a) {\n    return clamp(a, 0.0, 1.0);\n}\n",
            "float y = coord0.x / (f(2.0) - f(3.0)); //! | FETCH",
        ),
    ),
    "indices": (
        _shader("", "vec4 q = weights[3 + 1]; //!"),
        _shader("", "vec4 q = weights[- 1]; //!"),
        _shader("", "vec4 q = weights[int(3.9999999)]; //!"),
        _shader("", "vec4 q = weights[2 * 2 - 1 + 1]; //!"),
        _shader("", "for (int i = 0; i < 4; i++) { | vec4 q = weights[i]; //! | }"),
        _shader("#ifdef LATE_FETCH\n#define N 4\n#else\n#define N 2\n#endif\n", "vec4 q = weights[N]; //!"),
        _shader("", "vec4 q = weights[int(16777217.0 - 16777213.0)]; //!"),
        _shader("", "float y = coord0[5]; //!"),
        _shader("", "float y = weights[0][4]; //!"),
        _shader("", "vec4 q = weights; //!"),
        _shader("", "vec4 q = weights[0, 4]; //!"),
        _shader("", "vec4 q = weights[true ? 4 : 0]; //!"),
        _shader("const float N = 4.0;\n", "vec4 q = weights[int(N)]; //!"),
        _shader("", "vec4 q = weights[int(1.0 / 3.0 * 3.0 * 4.0)]; //!"),
    ),
    "components and parameters": (
        _shader("void f(out vec2 a) { //!\n    a = coord0.xy;\n}\n", "vec2 y; | f(y); | FETCH"),
        _shader("void f(inout vec2 a) { //!\n    a = log(a);\n}\n", "vec2 y = coord0.xy; | f(y); | FETCH"),
        _shader("", "vec2 y = coord0.xy; | y.x = log(coord0.x); | FETCH //!"),
        _shader("", "vec2 y; | y.xy = coord0.xy; //! | FETCH"),
        _shader("", "vec2 y = coord0.xy; | y.yx = log(coord0.xy); | FETCH //!"),
        _shader("", "vec4 y4 = coord0; | y4.rg = log(coord0.xy); | vec2 y = y4.zw; | FETCH //!"),
        _shader("", "vec2 y = coord0.xg; //! | FETCH"),
        _shader("", "float y = coord0.x.x; //! | FETCH"),
        _shader(
            "vec2 g;\nvoid f(vec2 a) {\n    g.x = log(a.x);\n}\n",
            "g = coord0.xy; | f(coord0.xy); | vec2 y = g; | FETCH //!",
        ),
        _shader("", "vec2 y = coord0.xy; | (y).x = log(coord0.x); //! | FETCH"),
    ),
    "loops": (
        _shader("", "float y = 0.0; | for (float i = 0.0; i < 1.0; i += 0.1) { //! | y += i; | }"),
        _shader("", "float y = 0.0; | for (int i = 0; i < 3; i += 1) { //! | y += 1.0; | }"),
        _shader("", "float y = 1.0; | for (int i = 0; i < 8; i++) { | y *= 1e5; | } | y = y / y; | FETCH //!"),
        _shader("", "float y = coord0.x; | for (int i = 0; i < 200; i++) { | y = y * y; | } | y = y - y; | FETCH //!"),
        _shader(
            "",
            "float y = 1.0, b = 1.0; | for (int i = 0; i < 200; i++) { | y += b; | b += y; | } | y = y - b; | "
            "FETCH //!",
        ),
        _shader(
            "",
            "float y = 1.0; | for (int i = 0; i < 300; i++) { | y = mix(y, y * 2.0, coord0.x); | } | y = y - y; | "
            "FETCH //!",
        ),
        _shader(
            "", "float y = 1.0; | for (int i = 0; i < 300; i++) { | y = max(y, y + y); | } | y = y - y; | FETCH //!"
        ),
        _shader(
            "",
            "float y = 1.0; | for (int i = 0; i < 300; i++) { | y = dot(vec4(y), vec4(1.0)); | } | y = y - y; | "
            "FETCH //!",
        ),
        _shader(
            "", "vec2 y = vec2(1.0); | for (int i = 0; i < 300; i++) { | y = y.yx + y; | } | y = y - y.yx; | FETCH //!"
        ),
        _shader("", "float y = 1.0; | for (int i = 0; i < 200; i++) { | y = 1.0 / (y - 0.5); | } | FETCH //!"),
        _shader("", "float y = 1.0; | for (int i = 0; i < 200; i++) { | y = y * 0.25; | } | y = 1.0 / y; | FETCH //!"),
        _shader(
            "", "float y = 1.0; | for (int i = 0; i < 200; i++) { | y -= 0.01; | } | y = coord0.x / y; | FETCH //!"
        ),
        _shader(
            "",
            "float y = 1.0; | for (int i = 0; i < 3; i++) { | if (coord0.x > 2.0) break; | y = log(y); //! | } | FETCH",
        ),
        _shader(
            "",
            "float y = 2.0; | for (int i = 0; i < 100; i++) { | y = clamp(y * y, -y, y * y); | } | y = y - y; | "
            "FETCH //!",
        ),
        _shader(
            "",
            "float y = 2.0; | for (int i = 0; i < 100; i++) { | y = y > 1.0 ? y * 1e3 : y; | } | y = y - y; | "
            "FETCH //!",
        ),
        _shader(
            "float f(float a) {\n    return a + a;\n}\n",
            "float y = 2.0; | for (int i = 0; i < 200; i++) { | y = f(y); | } | y = y - y; | FETCH //!",
        ),
        _shader(
            "float g;\nvoid f() {\n    g = g + g;\n}\n",
            "g = 1.0; | for (int i = 0; i < 200; i++) { | f(); | } | float y = g - g; | FETCH //!",
        ),
        _shader(
            "",
            "float y = 1.0; | for (int i = 0; i < 200; i++) { | for (int j = 0; j < 3; j++) { | y = y - y * 3.0; | "
            "} | } | y = y - y; | FETCH //!",
        ),
    ),
    "structures": (
        _shader("struct S { float a; }; //!\n", "S s;"),
        _shader("struct { float a; } s; //!\n", "s.a = 1.0;"),
        _shader("", "struct S { float a; } s; //!"),
    ),
    "macros": (
        _shader("#define A(x) (x)\n#define B A(0.0)\n", "float y = 1.0 / B; //! | FETCH"),
        _shader("#define A(x) B(x)\n#define B(x) log(x)\n", "float y = A(coord0.x); | FETCH //!"),
        _shader("#define A B\n#define B 0.0\n", "float y = 1.0 / A; //! | FETCH"),
        _shader("#define A(x) (x * x)\n", "float y = 1.0 / (A(1.0 - 2.0) - 1.0); | FETCH //!"),
        _shader("#define A 1.0 - 1.0\n#define B (A)\n", "float y = 1.0 / B; //! | FETCH"),
        _shader(
            "#define A(a) (a)\n#define B(a) A(A(a))\n#define C(a) B(B(a))\n#define D(a) C(C(a))\n",
            "float y = D(D(coord0.x)); //! | FETCH",
        ),
        _shader("#define A(x) (- x)\n", "float y = 1.0 / (A(-1.0) - 1.0); //! | FETCH"),
        _shader("#define A(y) (y + z)\n", "float z = -1.0; | float y = 1.0 / A(1.0); //! | FETCH"),
        _shader("#define A coord0.x; y = log(y)\n", "float y = A; //! | FETCH"),
        _shader("#define A 1.0\n#undef A\n#define A 0.0\n", "float y = 1.0 / A; //! | FETCH"),
        _shader("#define A(x) (x ? 0.0 : 1.0)\n", "float y = 1.0 / A(coord0.x > 2.0); //! | FETCH"),
        _shader("#define A < 2.0\n", "float y = coord0.x A ? 0.0 : 1.0; //! | y = 1.0 / y; | FETCH"),
        _shader("#define A(x, y) x, y\n", "float y = max(A(0.0, 0.0)); //! | y = 1.0 / y; | FETCH"),
        _shader("#define A )\n", "float y = (1.0 A; //! | FETCH"),
        _shader("#define A -1.0\n", "float y = 1.0 / (1.0 -A); | FETCH //!"),
        _shader("#define A -1.0\n", "float y = 1.0 / (1.0-A - 2.0); //! | FETCH"),
        _shader("#define A(x) vec2(x).x\n", "float y = 1.0 / A(0.0); //! | FETCH"),
        _shader("#define A vec2(1.0)\n", "float y = A.x; | FETCH //!"),
        _shader("#define f log //!\nfloat g(float x) {\n    return f(x);\n}\n", "float y = g(coord0.x); | FETCH"),
        _shader(
            "float f(float x) {\n    return x;\n}\n#define f2 f //!\n", "float y = f2(0.0); | y = 1.0 / y; | FETCH"
        ),
    ),
    "conditions of the preprocessor": (
        _shader("#if 1 + 1 == 2 //!\n#endif\n"),
        _shader("#if defined(A) || defined(B) //!\n#endif\n"),
        _shader(
            "#if !defined(A) && !defined(B)\n#define C 0.0\n#else\n#define C 1.0\n#endif\n",
            "float y = 1.0 / C; //! | FETCH",
        ),
        _shader("#if defined A //!\n#endif\n"),
        _shader("#ifdef A\n#elif 1 //!\n#endif\n"),
        _shader("#ifdef A B //!\n#endif\n"),
        _shader("# ifdef A //!\n#endif\n"),
        _shader("#if (defined(A)) //!\n#endif\n"),
        _shader(
            "#ifdef ROUND_STORES\n#define C 0.0\n#endif\n#ifndef ROUND_STORES\n#define C 1.0\n#endif\n",
            "float y = 1.0 / C; //! | FETCH",
        ),
        _shader("#if !!defined(A) //!\n#endif\n"),
        _shader("#define A\n#ifdef A\n#define C 0.0\n#endif\n", "float y = 1.0 / C; //! | FETCH"),
        _shader("#if defined(A)// x\n#define C 1.0\n#else\n#define C 0.0\n#endif\n", "float y = 1.0 / C; //! | FETCH"),
    ),
    "precisions": (
        _shader("precision lowp float; //!\n"),
        _shader("precision highp int; //!\n"),
        _shader("", "lowp float y = 1.0; //!"),
        _shader("lowp float f(float x) { //!\n    return x;\n}\n"),
        _shader("uniform lowp vec4 q; //!\n"),
        _shader("varying mediump vec4 coord1; //!\n"),
        _shader("", "highp float y; //!"),
        _shader("float f(lowp float x) { //!\n    return x;\n}\n"),
        _shader("invariant gl_FragColor; //!\n"),
        _shader("", "precision highp float; //!"),
    ),
    "arrays": (
        _shader("const vec4 a[2] = vec4[2](vec4(1.0), vec4(0.0)); //!\n"),
        _shader("", "float a[2]; //! | a[0] = 1.0;"),
        _shader("", "vec4 a[2], b = coord0; //!"),
        _shader("vec4 a[2]; //!\n"),
        _shader("uniform vec4 a[0]; //!\n"),
        _shader("uniform vec4 a[4097]; //!\n"),
        _shader("uniform vec2 a[2]; //!\n"),
        _shader("uniform vec4 a[2 - 3]; //!\n"),
        _shader("uniform vec4 a[int(2.5)];\n", "vec4 q = a[2]; //!"),
        _shader("uniform vec4 a[2], b; //!\n"),
        _shader("float f(vec4 a[2]) { //!\n    return a[0].x;\n}\n"),
        _shader("uniform vec4 a[010]; //!\n"),
        _shader("uniform vec4 a[2];\n", "a[0] = vec4(1.0); //!"),
        _shader("varying vec4 coord1[2]; //!\n"),
    ),
    "matrices": (
        _shader("", "mat2 m = mat2(1.0); //!"),
        _shader("uniform mat4 m; //!\n"),
        _shader("mat3 f() { //!\n    return mat3(1.0);\n}\n"),
        _shader("", "vec2 y = mat2(coord0) * coord0.xy; //! | FETCH"),
        _shader("", "float y = mat2(1.0)[0][0]; //!"),
        _shader("", "vec2 y = matrixCompMult(coord0.xy, coord0.xy); //! | FETCH"),
    ),
    "values": (
        _shader(
            "float g;\nfloat f(float a) {\n    return a / g; //!\n}\n",
            "g = 1.0; | float y = f(coord0.x); | g = 0.0; | y = f(coord0.x); | FETCH",
        ),
        _shader(
            "float g;\nfloat f(float a) {\n    return a / g;\n}\n", "g = coord0.x; | float y = f(1.0); | FETCH //!"
        ),
        _shader(
            "#ifdef LATE_FETCH\nconst float N = 0.0;\n#else\nconst float N = 1.0;\n#endif\nfloat f(float a) {\n"
            "    return a / N; //!\n}\n",
            "float y = f(coord0.x); | FETCH",
        ),
        _shader(
            "",
            "float y = 1.0; | for (int i = 0; i < 4; i++) { | #ifdef LATE_FETCH | if (coord0.x > 0.5) break; | "
            "#endif | y = y / (float(i) - 2.0); | } | FETCH //!",
        ),
        _shader(
            "",
            "float y = 1.0, q = 0.0; | for (int i = 0; i < 4; i++) { | if (coord0.x > 0.5) break; | q = 1.0; | } | "
            "y = coord0.y / q; //! | FETCH",
        ),
        _shader(
            "",
            "float y = coord0.x; | for (int i = 0; i < 3; i++) { | for (int j = 0; j < 3; j++) { | "
            "if (y > 1.0) break; | y = y / (float(i + j) - 1.0); | } | } | FETCH //!",
        ),
        _shader("", "float y = coord0.x / (float(3 - 2) - 1.0); //! | FETCH"),
        _shader(
            "", "float y = 0.0; | for (int i = 0; i < 5; i++) { | y = coord0.x / (float(i) - 4.0); | } | FETCH //!"
        ),
        _shader("", "float y = coord0.x / (exp(coord0.x) + 1.0); | y = y * exp(coord0.y); | FETCH //!"),
        _shader("", "float y = coord0.x / dot(coord0.xy, coord0.xy); | FETCH //!"),
        _shader("", "float y = (coord0.x + 1e8) * 1e28 - (coord0.y + 1e8) * 1e28; | FETCH //!"),
        _shader("", "float y = coord0.x * 1e27 * 1e-10 * 1e18; | FETCH //!"),
        _shader("uniform float u;\n", "float y = 1.0 / u * 1e25; | y = y * 1e-8; | FETCH //!"),
        _shader("uniform float u;\n", "float y = u * u * u; | FETCH //!"),
        _shader("uniform float u;\n", "float y = coord0.x / (u * 0.5); | FETCH //!"),
        _shader("uniform float u;\n", "float y = coord0.x / (u + 0.0); | FETCH //!"),
        _shader("uniform vec4 u;\n", "vec4 q = 1.0 / u; | vec2 y = q.xy * q.zw * q.xz; | FETCH //!"),
        _shader("uniform vec4 u;\n", "float y = coord0.x / u.x / u.y / u.z; | FETCH //!"),
        _shader("uniform float u;\nfloat f(float a) {\n    return coord0.x / a;\n}\n", "float y = f(u); | FETCH //!"),
        _shader("uniform float u;\n", "float y = coord0.x > 0.5 ? coord0.x / u : u; | y = 1.0 / y; | FETCH //!"),
        _shader("uniform float u;\n", "float y = clamp(u, -u, u); | y = 1.0 / y; | FETCH //!"),
        _shader("", "float y = max(log(coord0.x), log(coord0.y)); | FETCH //!"),
        _shader("", "float y = mix(0.0, log(coord0.x), 0.0); | FETCH //!"),
        _shader("", "float y = step(0.5, log(coord0.x)); | FETCH //!"),
        _shader("", "float y = coord0.x > log(coord0.x) ? 1.0 : 2.0; | FETCH //!"),
        _shader("", "float y = abs(max(exp(coord0.x), -exp(coord0.x))); | y = fract(y); | FETCH //!"),
        _shader("", "float y = floor(exp(coord0.x)) - exp(coord0.x); | FETCH //!"),
        _shader("", "float y = exp(coord0.x) * exp(-coord0.x); | FETCH //!"),
        _shader("", "float y = min(exp(coord0.x), 1e30); | y = y * 1e5 - y * 1e5; | FETCH //!"),
        _shader("", "float y = min(exp(coord0.x), 1e30); | y = y * 1e9 - y * 1e9; | FETCH //!"),
        _shader("", "float y = pow(2.0, coord0.x) * 0.0; | FETCH //!"),
        _shader("", "float y = inversesqrt(exp(coord0.x)); | FETCH //!"),
        _shader("", "float y = sqrt(abs(coord0.x)); | FETCH //!"),
        _shader("", "float y = log(exp(coord0.x) + 1.0); | FETCH //!"),
        _shader("", "vec2 y = coord0.xy; | if (lessThan(coord0.xy, coord0.zw)) y = log(y); | FETCH //!"),
        _shader("", "float y = texture2D(source, coord0.xy).x; | y = y / y; | FETCH //!"),
        _shader("", "float y = texture2D(source, coord0.xy).x; | y = 1.0 / (y + 1e-20); | y = y * y; | FETCH //!"),
        _shader(
            "", "float y = texture2D(source, texture2D(source, coord0.xy).xy / texture2D(source, coord0.xy).zw).x; //!"
        ),
        _shader("", "float a = fract(coord0.x) + 1e-29; | float y = 1.0 / a * 1e8; | FETCH //!"),
        _shader("", "float a = fract(coord0.x) * 1e-20 + 1e-20; | float b = a * a; | float y = b / b; | FETCH //!"),
        _shader("", "float a = 1e-20 * (fract(coord0.x) + 1.0); | float y = a / (a * a * 1e20); | FETCH //!"),
        _shader("", "float a = (fract(coord0.x) + 1.0) * 1e-28; | float y = coord0.x / a; | y = y / a; | FETCH //!"),
        _shader(
            "",
            "float a = (fract(coord0.x) + 1.0) * 1e18; | float b = a * 1e18; | float y = b / a / a; | y = 1.0 / y; | "
            "FETCH //!",
        ),
        _shader(
            "",
            "float a = (fract(coord0.x) + 1.0) * 1e17; | float y = a / 1e-18 / 1e18 * 1e18; | y = y - y; | FETCH //!",
        ),
        _shader(
            "float f(float a) {\n#ifdef LATE_FETCH\n    return a;\n#else\n    return a - a;\n#endif\n}\n",
            "float y = coord0.x / f(1.0); //! | FETCH",
        ),
        _shader(
            "void f() {\n    gl_FragColor = vec4(log(coord0.x));\n}\n", "f(); | vec2 y = gl_FragColor.xy; | FETCH //!"
        ),
    ),
}

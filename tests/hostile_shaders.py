"""Forbidden fragment shaders, and some allowed ones, for the readers of all three runners.

Each text follows ``HEAD``. A refusal names the line with ``REFUSED_LINE``, or the last one.
"""

from __future__ import annotations

from shader_attacks import ATTACKS

HEAD = "varying vec4 coord0;\nuniform sampler2D source;\nuniform vec4 weights[4];\n"
REFUSED_LINE = "//!"


def _main(*lines: str) -> str:
    return "\n".join(["void main() {", *lines, "    gl_FragColor = texture2D(source, coord0.xy);", "}", ""])


TURNS = (
    "#ifdef ROLLED_FETCHES\n#define TURNS(count) count + 1024\n"
    "#define END_AFTER(count, turn) if (float(turn) > float(count) - 0.5 + max(coord0.x - 2.0, 0.0)) break;\n"
    "#else\n#define TURNS(count) count\n#define END_AFTER(count, turn)\n#endif\n"
)
MANY_TURNS = "for (int j = 0; j < 1000; j++) {\n        y += coord0.y * 2.0;\n    }\n    }\n    y += 1.0; //!"

FOLLOWED: dict[str, tuple[str, str]] = {
    "float folded": ("const float Z = 16777217.0 - 16777216.0;\n", "float y = Z / Z; //!"),
    "float absorbed": ("", "float y = 1.0 / (1.0 + 1e-9 - 1.0); //!"),
    "float divided": ("", "float y = 1.0 / (1.0 / 3.0 * 3.0 - 1.0); //!"),
    "returned constant": ("float f(float x) {\n    return 0.0 * x;\n}\n", "float y = 1.0 / f(1.0); //!"),
    "returned argument": ("float f(float x) {\n    return x;\n}\n", "float y = 1.0 / f(0.0); //!"),
    "returned nan": (
        "float f(float x) {\n    return log(x);\n}\n",
        "vec4 y = texture2D(source, vec2(f(coord0.x))); //!",
    ),
    "global nan": (
        "float g;\nvoid f() {\n    g = log(coord0.x);\n}\n",
        "g = 0.5;\n    f();\n    vec4 y = texture2D(source, vec2(g)); //!",
    ),
    "global zero": ("float g;\nvoid f() {\n    g = 0.0;\n}\n", "g = 1.0;\n    f();\n    float y = 1.0 / g; //!"),
    "carried by a loop": (
        "",
        "float z = 1.0, q = 1.0;\n    for (int i = 0; i < 4; i++) {\n        q = z / z; //!\n        z = 0.0;\n    }",
    ),
    "carried into a coordinate": (
        "",
        "vec4 c = vec4(0.0);\n    vec2 p = coord0.xy;\n    for (int i = 0; i < 4; i++) {\n"
        "        c += texture2D(source, p); //!\n        p = log(p);\n    }",
    ),
    "grown by a loop": (
        "",
        "vec2 p = coord0.xy;\n    for (int i = 0; i < 200; i++) {\n        p *= 100.0;\n    }\n"
        "    vec4 y = texture2D(source, p - p); //!",
    ),
    "assigned in no turn": (
        "",
        "vec2 u;\n    for (int i = 0; i < 0; i++) {\n        u = coord0.xy;\n    }\n"
        "    vec4 y = texture2D(source, u); //!",
    ),
    "assigned after a break": (
        "",
        "vec2 u;\n    for (int i = 0; i < 4; i++) {\n        if (coord0.x < 2.0) break;\n"
        "        u = coord0.xy;\n    }\n"
        "    vec4 y = texture2D(source, u); //!",
    ),
    "no return": ("vec2 f(float x) {\n    float y = x;\n} //!\n", ""),
    "a return that depends": ("vec2 f(float x) {\n    if (x > 2.0) return coord0.xy; //!\n}\n", ""),
    "octal turns": ("", "for (int i = 0; i < 2000000001 - 02000000000; i++) { //!\n    }"),
    "octal index": ("", "float y = float(010); //!"),
    "wrapped turns": ("", "for (int i = 0; i < 0 - 2147483647 - 10; i++) { //!\n    }"),
    "wrapped product": ("", "for (int i = 0; i < 65536 * 65536; i++) { //!\n    }"),
    "divided integers": ("int f(int a) { //!\n    return a;\n}\n", "float y = float(f(- 2147483647 - 1) / f(- 1));"),
    "divided turns": ("", "for (int i = 0; i < 8 / 2; i++) { //!\n    }"),
    "macro choice": ("#define F(x) (1.0 + x)\n", "float y = 1e-30 / F(coord0.x < 2.0 ? 0.0 : -0.5); //!"),
    "macro sum": ("#define F(x) (x * 2.0)\n", "float y = 1.0 / F(-2.0 + 1.0); //!"),
    "macro in a macro": ("#define F -1.0 + 1.0\n#define G F\n", "float y = 1.0 / (G * 1.0); //!"),
    "infinite difference": ("", "float e = exp(coord0.x);\n    vec4 y = texture2D(source, vec2(e - e)); //!"),
    "infinite product": ("", "float e = exp(coord0.x);\n    vec4 y = texture2D(source, e * coord0.xy); //!"),
    "infinite mix": ("", "vec4 y = texture2D(source, mix(vec2(1.0), exp(coord0.xy), coord0.zw)); //!"),
    "infinite sine": ("", "vec4 y = texture2D(source, sin(exp(coord0.xy))); //!"),
    "infinite quotient": ("", "float e = exp(coord0.x) + 1.0;\n    vec4 y = texture2D(source, vec2(e / e)); //!"),
    "reciprocal of a large number": ("", "float y = 1.0 / (3e38 / 3e38); //!"),
    "flushed to 0": ("", "float y = 1.0 / (1e-39 * 1e30); //!"),
    "constants multiplied first": ("", "vec4 y = texture2D(source, coord0.xy * 1e30 * 1e30); //!"),
    "constants of two statements": (
        "",
        "vec2 p = min(abs(coord0.xy), 1e-30) * 1e30;\n    vec4 y = texture2D(source, p * 1e30); //!",
    ),
    "return on one side": (
        "float f(float x) {\n#ifdef LATE_FETCH\n    return log(x);\n#endif\n    return 1.0; //!\n}\n",
        "vec4 y = texture2D(source, f(coord0.x) * coord0.xy);",
    ),
    "macro redefined in a loop": (
        "#define A 100.0\n",
        "vec2 p = coord0.xy;\n    for (int i = 0; i < 200; i++) {\n    p *= A;\n#undef A\n#define A 1.0 //!\n    }\n"
        "    vec4 y = texture2D(source, p - p);",
    ),
    "assigned in one side of a choice": (
        "vec2 g;\nfloat f() {\n    g = coord0.xy;\n    return 1.0;\n}\n",
        "float y = coord0.x > 2.0 ? f() : 0.0; //!\n    vec4 z = texture2D(source, g);",
    ),
    "assigned after an and": (
        "vec2 g;\nfloat f() {\n    g = coord0.xy;\n    return 1.0;\n}\n",
        "float y = 0.0;\n    if (coord0.x > 2.0 && f() > 0.0) y = 1.0; //!\n    vec4 z = texture2D(source, g);",
    ),
    "read before a call": (
        "float g;\nfloat f() {\n    g = exp(coord0.x);\n    return coord0.y;\n}\n",
        "g = 1.0;\n    vec4 y = texture2D(source, vec2(g * f())); //!",
    ),
    "changed by a call": ("float g;\nfloat f() {\n    g = 0.0;\n    return 1.0;\n}\n", "g = 1.0;\n    g += f(); //!"),
    "turns of some devices": (
        f"#ifdef LATE_FETCH\n#define PAIRS 2000\n#else\n#define PAIRS 1\n#endif\n{TURNS}",
        f"float y = 0.0;\n    for (int i = 0; i < TURNS(PAIRS); i++) {{\n        END_AFTER(PAIRS, i)\n    {MANY_TURNS}",
    ),
    "turns without their end": (
        "#ifdef ROLLED_FETCHES\n#define TURNS(count) count + 1024\n#else //!\n#define TURNS(count) count\n#endif\n"
        "#define END_AFTER(count, turn)\n",
        "",
    ),
    "end without its turns": ("#define END_AFTER(count, turn) //!\n", ""),
    "turns defined again": (f"{TURNS}#undef TURNS //!\n", ""),
    "turns of another coordinate": (
        TURNS,
        "vec4 coord0 = vec4(1e9);\n    float y = 0.0;\n"
        f"    for (int i = 0; i < TURNS(1); i++) {{\n        END_AFTER(1, i)\n    {MANY_TURNS}",
    ),
    "bounds in the wrong order": (
        "",
        "float y = 1.0 / (clamp(fract(coord0.x), 1.0, 0.0) - 1.0);\n    vec4 z = texture2D(source, coord0.xy * y); //!",
    ),
    "a sine a little above 1": (
        "",
        "float y = 1.0 / (sin(coord0.x) - 1.0001);\n    vec4 z = texture2D(source, coord0.xy * y); //!",
    ),
    "small constants multiplied first": (
        "",
        "float v = fract(coord0.y) * 1e12 + 1e12;\n    float x = (fract(coord0.x) + 1.0) * 1e-19 * v * 1e-20;\n"
        "    vec4 z = texture2D(source, coord0.xy * (1.0 / x)); //!",
    ),
    "added in another order": (
        "",
        "float b = max(min(coord0.x, -3e38), -3e38);\n    float v = 3e38 + (b + 3e38);\n"
        "    vec4 z = texture2D(source, vec2(v - v)); //!",
    ),
    "another variable on some devices": (
        "vec2 g;\n",
        "g = log(coord0.xy);\n#ifdef LATE_FETCH\n    vec2 g = coord0.xy;\n#endif\n"
        "    vec4 z = texture2D(source, g); //!",
    ),
    "another variable on the other devices": (
        "",
        "vec2 g = log(coord0.xy);\n    for (int i = 0; i < 2; i++) {\n"
        "#ifdef LATE_FETCH\n        g = coord0.xy;\n#else\n"
        "        vec2 g = coord0.xy;\n#endif\n        vec4 z = texture2D(source, g); //!\n    }",
    ),
    "a function of the driver on some devices": (
        "#ifdef ROUND_STORES\nvec2 log2(vec2 x) { //!\n    return x;\n}\n#endif\n",
        "vec4 z = texture2D(source, log2(coord0.xy));",
    ),
    "a variable named as a device line": (
        "#ifndef LATE_FETCH\nconst float LATE_FETCH = 3.0; //!\n#endif\n",
        "float y = 1.0 / (LATE_FETCH - 1.0 + 1.0);",
    ),
    "a variable that is a macro elsewhere": (
        "#ifdef LATE_FETCH\nconst float A = 0.0; //!\n#else\n#define A 3.0\n#endif\n",
        "float y = 1.0 / A;",
    ),
    "a function that is a macro elsewhere": (
        "#ifdef LATE_FETCH\n#define F(x) (x)\n#endif\nfloat F(float x) { //!\n    return log(x);\n}\n",
        "vec4 z = texture2D(source, vec2(F(coord0.x)));",
    ),
    "another name of a replaced function": (
        "#ifdef ROUND_STORES\nfloat exact_exp(float x) {\n    return log(x);\n}\n#define exp exact_exp\n#endif\n"
        "#define B exp\n",
        "vec4 z = texture2D(source, vec2(B(coord0.x))); //!",
    ),
    "an end of turns after if": (
        TURNS,
        "vec2 u;\n    for (int i = 0; i < TURNS(4); i++) {\n        END_AFTER(4, i)\n"
        "        if (coord0.x > 2.0) END_AFTER(4, i) //!\n        u = coord0.xy;\n"
        "        vec4 z = texture2D(source, u);\n    }",
    ),
    "a call in the bound of a loop": (
        "float g;\nfloat f(float x) {\n    g -= 1.0;\n    return x;\n}\n",
        "g = 5.0;\n    for (int i = 0; i < int(f(4.0)); i++) { //!\n    }\n    float y = 1.0 / g;",
    ),
    "a bound compared before each turn": (
        "",
        f"for (int i = 0; i < 8000 + int(0.0 * ({' + '.join(['coord0.x'] * 200)})); i++) {{\n    }}\n"
        "    float y = 1.0; //!",
    ),
    "two calls that change a variable": (
        "float g;\nfloat f() {\n    g = 0.0;\n    return 1.0;\n}\nfloat h() {\n    g = 1.0;\n    return 1.0;\n}\n",
        "g = 1.0;\n    float y = f() - h(); //!\n    y = 1.0 / g;",
    ),
    "read after a call": (
        "float g;\nfloat f() {\n    g = 0.0;\n    return 1.0;\n}\n",
        "g = 1.0;\n    float y = f() / g; //!",
    ),
    "itself among overloads": (
        "float f(vec2 x) {\n    return x.x;\n}\nfloat f(float x) {\n    return f(x); //!\n}\n",
        "float y = f(coord0.x);",
    ),
}
"""Declarations and lines of ``main`` that only a check of values refuses, by the construct that it must follow."""

REFUSED: dict[str, str] = {
    "a coordinate that is NaN": _main("gl_FragColor = texture2D(source, vec2(0.0 / 0.0)); //!"),
    "a coordinate that is NaN, in a variable": _main("float z = 0.0;", "vec2 at = vec2(z / z); //!"),
    "a coordinate that is NaN, by a function": _main("vec2 at = vec2(sqrt(-1.0)); //!"),
    "a coordinate that is infinite": _main("gl_FragColor = texture2D(source, vec2(coord0.x, 1e38 * 10.0)); //!"),
    "a coordinate that is far away": _main("gl_FragColor = texture2D(source, vec2(coord0.x, 1e30)); //!"),
    "a coordinate that is constant": _main("gl_FragColor = texture2D(source, vec2(0.5)); //!"),
    "a coordinate without a value": _main("vec2 at;", "gl_FragColor = texture2D(source, at); //!"),
    "a coordinate with a value in one branch": _main(
        "vec2 at;", "#ifdef ROUND_STORES", "at = coord0.xy;", "#endif", "gl_FragColor = texture2D(source, at); //!"
    ),
    "a division by a macro": "#define ZERO 0.0\n" + _main("float y = 1.0 / ZERO; //!"),
    "a division by a difference": _main("float y = 1.0 / (0.5 - 0.5); //!"),
    "a division by a product with 0": _main("float y = 1.0 / (coord0.x * 0.0); //!"),
    "a division by a number too small": _main("float y = 1.0 / 1e-40; //!"),
    "a division of integers": _main("for (int i = 0; i < 4; i++) {", "float y = float(1 / i); //!", "}"),
    "a constant that is infinite": _main("float y = 1e999; //!"),
    "a sum of 20,000 terms": _main(f"float y = coord0.x{' + coord0.x' * 20_000}; //!"),
    "macros in macros": "#define A(x) x, x, x, x\n#define B(x) A(A(x))\n#define C(x) B(B(x))\n"
    + _main("float y = max(C(C(coord0.x))); //!"),
    "nested macros": "#define A(x) max(x, max(x, max(x, max(x, max(x, max(x, max(x, x)))))))\n"
    + _main(f"float y = {'A(' * 8}coord0.x{')' * 8}; //!"),
    "functions in functions": "float f0(float x) {\n    return x;\n}\n"
    + "".join(
        f"float f{k}(float x) {{\n    return {' + '.join([f'f{k - 1}(x)'] * 8)};{' //!' if k == 5 else ''}\n}}\n"
        for k in range(1, 9)
    )
    + _main("float y = f8(coord0.x);"),
    "a function that calls itself": "float f(float x) {\n    return f(x); //!\n}\n" + _main("float y = f(coord0.x);"),
    "a large array": _main("float big[100000]; //!"),
    "a large uniform array": "uniform vec4 more[100000]; //!\n" + _main(),
    "an unknown index": _main("for (int i = 0; i < 4; i++) {", "vec4 y = weights[i]; //!", "}"),
    "an index beyond the array": _main("vec4 y = weights[4]; //!"),
    "a loop without end": _main("for (;;) { //!", "}"),
    "while": _main("while (true) { //!", "}"),
    "a loop of a billion turns": _main("for (int i = 0; i < 1000000000; i++) { //!", "}"),
    "loops in loops": _main(
        *(f"for (int i{k} = 0; i{k} < 1000; i{k}++) {{" for k in range(4)), "float y = coord0.x;", *"}}}", "} //!"
    ),
    "nine loops: 16 took llvmpipe more than a minute": _main(
        "vec4 sum = vec4(0.0);", *["for (int i = 0; i < 4; i++) { sum += coord0; }"] * 9, "sum += coord0; //!"
    ),
    "nine loops by a function": "vec4 turned(vec4 x) {\nfor (int i = 0; i < 4; i++) { x += coord0; }\nreturn x;\n}\n"
    + _main("vec4 sum = vec4(0.0);", *["sum += turned(sum);"] * 8, "sum += turned(sum); //!"),
    "450 conditions: 2,500 took llvmpipe minutes": _main(
        "vec4 y = coord0;", "if (y.x > 0.5) y = texture2D(source, y.xy); " * 450 + "//!"
    ),
    "450 choices: 5,000 took llvmpipe 1.7 GB": _main(
        "float y = coord0.x;", "y = y > 0.5 ? y * 1.5 : y - 0.25; " * 450 + "//!"
    ),
    "250 powers: 500 took llvmpipe minutes, 6,000 ended it by a signal": _main(
        "vec4 y = coord0;", "y = pow(abs(y), coord0); " * 250 + "//!"
    ),
    "600 exponentials": _main("vec4 y = coord0;", "y = exp(y); " * 600 + "//!"),
    "a loop that goes back": _main("for (int i = 0; i < 4; i++) {", "i = 0; //!", "}"),
    "brackets": _main(f"float y = {'(' * 50}coord0.x{')' * 50}; //!"),
    "signs": _main(f"float y = {'- ' * 50}coord0.x; //!"),
    "components of components": _main("vec4 y = coord0.xyzw.xyzw.xyzw; //!"),
    "discard": _main("discard; //!"),
    "a matrix": _main("mat4 m; //!"),
    "an extension": "#extension GL_OES_standard_derivatives : enable //!\n" + _main(),
    "a version": "#version 100 //!\n" + _main(),
    "a pragma": "#pragma optimize(off) //!\n" + _main(),
    "names that a driver may define": "#ifdef GL_ES //!\n#endif\n" + _main(),
    "a condition of numbers": "#if 1 //!\n#endif\n" + _main(),
    "a condition without an end": "#ifdef ROUND_STORES\n" + _main(),
    "a branch across blocks": _main("#ifdef ROUND_STORES", "for (int i = 0; i < 2; i++) {", "#else", "} //!", "#endif"),
    "a macro called as a function": "#define texture2D other //!\n" + _main(),
    "another END_AFTER": "#define END_AFTER(count, turn) discard; //!\n" + _main(),
    "an operator beside a parameter": "#define HALF(x) 1.0 / x\n" + _main("float y = HALF(0.0 + 1.0); //!"),
    "a parameter behind a point": "#define PART(x) coord0.x\n" + _main("float y = PART(q); //!"),
    "a sum that a division takes apart": "#define LESS 0.0 + 1.0\n" + _main("float y = 1.0 / LESS; //!"),
    "a comment that goes on": _main("// a backslash \\ //!", "float y = 1.0;"),
    "a comment of lines": _main("/* //!", "*/"),
    "another character": _main("float y = 1.0; // \x0c //!"),
    "no line feed at the end": _main().rstrip("\n"),
    "no main": "float y; //!\n",
    "a function of the driver": "vec4 texture2D(sampler2D s, vec2 at) { //!\n    return vec4(0.0);\n}\n" + _main(),
    "coordinates of the screen": _main("vec2 at = gl_FragCoord.xy; //!"),
    "many functions": "".join(f"void f{k}() {{{' //!' * (k == 513)}\n}}\n" for k in range(600)) + _main(),
    "many macros": "".join(f"#define A{k} 1.0{' //!' * (k == 512)}\n" for k in range(600)) + _main(),
    "many variables": _main(*(f"float a{k};" for k in range(600))).replace("float a508;", "float a508; //!"),
    "many conditions": _main(*(f"#ifdef LATE_FETCH{' //!' * (k == 512)}\n#endif" for k in range(600))),
    "an undeclared name": _main("float y = unknown; //!"),
    "the end of the reader's own": _main("end", "discard; //!"),
    **{name: before + _main(lines) for name, (before, lines) in FOLLOWED.items()},
    **{f"{kind}, {index}": text for kind, texts in ATTACKS.items() for index, text in enumerate(texts)},
}
"""Refused texts, by the error."""

ACCEPTED: dict[str, str] = {
    "two calls of which one uses no global variable": (
        "float g;\nfloat f(float x) {\n    return 2.0 * x;\n}\n"
        "float h(float x) {\n    g += 1.0;\n    return g * x;\n}\n"
        + _main("g = 1.0;", "float y = f(coord0.x) * h(coord0.y) + f(coord0.y);")
    ),
    "a call with other global variables on other devices": "float f(float x) {\n    return x;\n}\n"
    "#ifdef ROUND_STORES\nfloat g;\nfloat exact_exp(float x) {\n    return f(x);\n}\n"
    "#else\nfloat h;\nfloat exact_exp(float x) {\n    return f(x);\n}\n#endif\n" + _main(),
    "the least": _main(),
    "eight loops": _main("vec4 sum = vec4(0.0);", *["for (int i = 0; i < 4; i++) { sum += coord0; }"] * 8),
    "a loop": _main("vec4 sum = vec4(0.0);", "for (int i = 0; i < 4; ++i) {", "    sum += float(i) * coord0;", "}"),
    "a function": "float f(float x) {\n    return x * 0.5;\n}\n" + _main("float y = f(coord0.x) / 3.0;"),
    "a condition": _main("#ifdef ROUND_STORES", "float y = 1.0;", "#else", "float y = 2.0;", "#endif", "y += 1.0;"),
    "a macro": "#define WAIT(at) max(at, 0.0)\n" + _main("vec4 y = texture2D(source, WAIT(coord0.xy));"),
    "a part of a parameter": "#define HALF(y) (coord0.w > 0.5 ? y.zw : y.xy)\n" + _main("vec2 y = HALF(coord0) * 2.0;"),
    "an index": "#define LAST 3\n" + _main("vec4 y = weights[LAST - 1] + weights[0].xyzw;"),
    "turns that end": TURNS
    + _main(
        "float y = 0.0;",
        "for (int i = 0; i < TURNS(500); i++) {",
        "    END_AFTER(500, i)",
        "    for (int j = 0; j < 1000; j++) {",
        "        y += coord0.x;",
        "    }",
        "}",
    ),
    "return on both sides": "float f(float x) {\n#ifdef LATE_FETCH\n    return x;\n#else\n    return 1.0;\n#endif\n}\n"
    + _main("float y = f(coord0.x) > 0.5 ? 1.0 : 0.0;"),
    "calls that change another variable": "float g;\nfloat h;\nfloat f() {\n    g += 1.0;\n    return g;\n}\n"
    "void add(float x) {\n    g += x;\n}\n"
    + _main("g = 0.0;", "h = 0.0;", "h += f();", "vec2 y = vec2(h + f(), 1.0);", "add(f());"),
    "a function after a condition": "#ifdef LATE_FETCH\nfloat exact_exp(float x) {\n    return x;\n}\n"
    "#define exp exact_exp\n#endif\n" + _main("float y = exp(coord0.x);"),
    "as many names as are allowed": "".join(f"#define A{k} {k}.5\n" for k in range(500))
    + "".join(f"void f{k}() {{\n}}\n" for k in range(500))
    + _main(*(f"float a{k} = A{k};" for k in range(500)), *["#ifdef LATE_FETCH", "#endif"] * 500),
    "many short statements": _main("float y = coord0.x;", *["y += coord0.y * 0.5;"] * 3000),
}
"""Valid texts, which readers must accept."""


def line_of(text: str) -> int:
    """Return the line named in a refusal of ``HEAD + text``."""
    lines = (HEAD + text).removesuffix("\n").split("\n")
    return next((index for index, line in enumerate(lines, 1) if REFUSED_LINE in line), len(lines))

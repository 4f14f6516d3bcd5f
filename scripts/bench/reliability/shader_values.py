#!/usr/bin/env python3
"""Check random shaders, and execute the accepted ones in 32-bit floats.

    python scripts/bench/reliability/shader_values.py [--programs 100000] [--seconds 3600] [--seed 0] [--json]

Programs are random sentences of the format's grammar: macros, device conditions, functions and overloads, loops,
conditions, constants at the limits of 32-bit floats. ``shader_machine`` executes each accepted one with several sets of
device macros, on fragments with extreme varyings, uniforms and texels within the format. NaN as a coordinate, an
undefined value, an integer that overflows, recursion, and operations beyond the counted cost are findings. The exit
code is 1 after findings. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from shader_machine import Machine, UnsoundError  # noqa: E402

from glsl_infer.bundle.format_constants import GLSL_LIMITS  # noqa: E402
from glsl_infer.bundle.shader_check import Shader, parse  # noqa: E402
from glsl_infer.errors import BundleError  # noqa: E402

FRAGMENTS = 12
DEVICES = (
    frozenset[str](),
    frozenset({"ROUND_STORES", "ROLLED_FETCHES"}),
    frozenset({"LATE_FETCH"}),
    frozenset({"LATE_FETCH", "ROUND_STORES"}),
)
"""Macros that devices define; the last one computes as a fast driver (``shader_machine``)."""
HEAD = (
    "varying vec4 coord0;\nvarying vec4 coord1;\nuniform sampler2D source;\nuniform float u;\nuniform vec2 texel;\n"
    "uniform vec4 weights[3];\n"
)
COMMON_NUMBERS = ("0.0", "1.0", "0.5", "2.0", "1.5", "3.0", "0.1", "0.3", "255.0", "1.0000001", "0.99999994", "1e-9")
NUMBERS = (
    *COMMON_NUMBERS * 8,
    *("0.0", "1.0", "0.5", "2.0", "1.5", "3.0", "16777216.0", "16777217.0", "1e-9", "1e-30", "1e20", "3e38", "1e-38"),
    *("0.1", "0.3", "255.0", "1.0000001", "0.99999994", "8388609.0"),
)
INTEGERS = ("0", "1", "2", "3", "4", "7", "010", "2147483647", "65536")
TYPES = ("float", "vec2", "vec3", "vec4")
UNARY_FUNCTIONS = (
    "abs",
    "floor",
    "ceil",
    "fract",
    "sin",
    "cos",
    "exp",
    "log",
    "sqrt",
    "sign",
    "tan",
    "inversesqrt",
    "exp2",
)
BINARY_FUNCTIONS = ("max", "min", "step")
DECLARATIONS = 0.3
"""Share of declarations among statements."""
MOST_FINDINGS = 20


class RandomShader:
    """Generator of one random shader from the format's grammar; a seed always gives the same text."""

    def __init__(self, seed: tuple[int, int]) -> None:
        self.random = random.Random(f"{seed}")
        self.variables: list[dict[str, str]] = [{"coord0": "vec4", "coord1": "vec4", "u": "float", "texel": "vec2"}]
        self.read_only = {"coord0", "coord1", "u", "texel"}
        self.functions: list[tuple[str, str, list[str]]] = []
        self.macros: dict[str, tuple[int, str]] = {}
        self.names = 0
        self.in_loop = False

    def text(self) -> str:
        """Write declarations, functions and ``main``, and return the source text."""
        lines = [HEAD.rstrip("\n")]
        for _ in range(self.random.randint(0, 2)):
            lines += self._macro()
        for _ in range(self.random.randint(0, 2)):
            kind, name = self._pick(TYPES), self._name("G")
            if self._chance(0.5):
                lines.append(
                    f"const {kind} {name} = {kind}({self._pick(NUMBERS)} {self._pick('+-*')} {self._pick(NUMBERS)});"
                )
                self.read_only.add(name)
            else:
                lines.append(f"{kind} {name};")
            self.variables[0][name] = kind
        for _ in range(self.random.randint(0, 3)):
            lines += self._function()
        lines += ["void main() {"]
        self.variables.append({})
        lines += [
            f"    {name} = {self._expression(kind, 1)};"
            for name, kind in self.variables[0].items()
            if name not in self.read_only
        ]
        for _ in range(self.random.randint(1, 6)):
            lines += self._statement(1)
        lines += [f"    gl_FragColor = texture2D(source, {self._expression('vec2', 2)});", "}", ""]
        return "\n".join(lines)

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _pick(self, items: Sequence[Any]) -> Any:
        return self.random.choice(items)

    def _name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def _macro(self) -> list[str]:
        name = f"M{self._name('')}"
        params = self._pick((0, 0, 1, 2))
        listed = f"({', '.join('xy'[:params])})" if params else ""
        bodies = (
            "{a}",
            "({a} {o} {b})",
            "{a} {o} {b}",
            "max({a}, {b})",
            "vec2({a}, {b}).y",
            "-{a}",
            "({a} < {b} ? {b} : {a})",
        )

        def line() -> str:
            operands = [
                self._pick(("x", "y")[:params]) if params and self._chance(0.7) else self._pick(NUMBERS) for _ in "ab"
            ]
            body = self._pick(bodies).format(a=operands[0], b=operands[1], o=self._pick("+-*/"))
            return f"#define {name}{listed} {body}"

        self.macros[name] = params, "float"
        if params == 0 and self._chance(0.3):  # a variable on other devices, or the name of a device line
            name = self._pick((name, "ROUND_STORES"))
            self.macros[name] = 0, "float"
            body = [] if name == "ROUND_STORES" else [line()]
            return ["#ifdef ROUND_STORES", *body, "#else", f"const float {name} = {self._pick(NUMBERS)};", "#endif"]
        if params == 0 and self._chance(0.2) and len(self.macros) > 1:
            other = self._pick(list(self.macros))
            self.macros[name] = self.macros[other][0], "float"
            return [f"#define {name} {other}"]
        if self._chance(0.3):
            return ["#ifdef LATE_FETCH", line(), "#else", line(), "#endif"]
        return [line()]

    def _function(self) -> list[str]:
        kind = self._pick((*TYPES, "void"))
        named = [known_function[0] for known_function in self.functions]
        name = self._pick(named) if named and self._chance(0.3) else self._name("f")
        on_some_devices = self._chance(0.1)
        if on_some_devices and self._chance(0.5):
            name = self._pick(("log2", "tan", "exact_exp"))
        params = [self._pick(TYPES) for _ in range(self.random.randint(0, 2))]
        if any(known_function[0] == name and known_function[2] == params for known_function in self.functions):
            name = self._name("f")
        names = [self._name("p") for _ in params]
        lines = [f"{kind} {name}({', '.join(f'{a} {b}' for a, b in zip(params, names))}) {{"]
        self.variables.append(dict(zip(names, params)))
        if self._chance(0.03):
            self.functions.append((name, kind, params))  # it can call itself
        for _ in range(self.random.randint(0, 2)):
            lines += self._statement(1)
        if kind != "void" and self._chance(0.97):
            if self._chance(0.2):
                alternatives = [f"    return {self._expression(kind, 2)};" for _ in "ab"]
                lines += ["#ifdef ROUND_STORES", alternatives[0], "#else", alternatives[1], "#endif"]
            else:
                lines.append(f"    return {self._expression(kind, 2)};")
        self.variables.pop()
        self.functions.append((name, kind, params))
        return ["#ifdef ROUND_STORES", *lines, "}", "#endif"] if on_some_devices else [*lines, "}"]

    def _assignable(self) -> list[tuple[str, str]]:
        return [(name, kind) for scope in self.variables for name, kind in scope.items() if name not in self.read_only]

    def _statement(self, depth: int) -> list[str]:
        """Return the lines of a random statement in ``depth`` nested blocks.

        Limits in the table are cumulative shares. A kind of statement that is impossible here passes on to the next.
        """
        space, draw = "    " * depth, self.random.random()
        if draw < DECLARATIONS or not self._assignable():
            return self._declaration(space)
        name, kind = self._pick(self._assignable())
        for limit, statement in (
            (0.65, self._assignment),
            (0.75, self._sum_of_fetches),
            (0.82, self._conditional),
            (0.84, self._shadowing),
            (0.88, self._device_branch),
            (0.93, self._call),
        ):
            if draw < limit and (lines := statement(name, kind, space)):
                return lines
        return self._loop(depth) if depth < 3 else [f"{space}{name} = {self._expression(kind, 1)};"]

    def _declaration(self, space: str) -> list[str]:
        kind, name = self._pick(TYPES), self._name("v")
        start = f" = {self._expression(kind, 2)}" if self._chance(0.97) else ""
        self.variables[-1][name] = kind
        return [f"{space}{kind} {name}{start};"]

    def _assignment(self, name: str, kind: str, space: str) -> list[str]:
        if kind != "float" and self._chance(0.2):
            return [f"{space}{name}.{self._pick('xy')} {self._pick(('=', '+=', '*='))} {self._expression('float', 2)};"]
        return [f"{space}{name} {self._pick(('=', '=', '+=', '-=', '*=', '/='))} {self._expression(kind, 2)};"]

    def _sum_of_fetches(self, name: str, kind: str, space: str) -> list[str]:
        return [f"{space}{name} += texture2D(source, {self._expression('vec2', 2)});"] if kind == "vec4" else []

    def _conditional(self, name: str, kind: str, space: str) -> list[str]:
        then = "break" if self.in_loop and self._chance(0.4) else f"{name} = {self._expression(kind, 1)}"
        return [f"{space}if ({self._condition()}) {then};"]

    def _shadowing(self, name: str, kind: str, space: str) -> list[str]:
        """Hide a variable by another of the same name, on some devices only."""
        value = self._expression(kind, 1)
        self.variables[-1][name] = kind
        return ["#ifdef ROUND_STORES", f"{space}{kind} {name} = {value};", "#endif"]

    def _device_branch(self, name: str, kind: str, space: str) -> list[str]:
        first, second = (f"{space}{name} = {self._expression(kind, 1)};" for _ in "ab")
        return ["#ifdef ROUND_STORES", first, *(["#else", second] if self._chance(0.5) else []), "#endif"]

    def _call(self, name: str, kind: str, space: str) -> list[str]:
        if not self.functions:
            return []
        called, _, params = self._pick(self.functions)
        return [f"{space}{called}({', '.join(self._expression(param, 1) for param in params)});"]

    def _loop(self, depth: int) -> list[str]:
        space, turn = "    " * depth, self._name("i")
        outer, self.in_loop = self.in_loop, True
        bound = self._pick(
            (
                "0",
                "1",
                "3",
                "5",
                "2 * 3",
                "4 - 1",
                self._pick(INTEGERS),
                f"{self._pick(INTEGERS)} - {self._pick(INTEGERS)}",
            )
        )
        called = [name for name, kind, params in self.functions if kind == "float" and params == ["float"]]
        if called and self._chance(0.2):
            bound = f"int({self._pick(called)}({self._pick(NUMBERS)}))"
        lines = [f"{space}for (int {turn} = 0; {turn} < {bound}; {turn}++) {{"]
        self.variables.append({})
        for _ in range(self.random.randint(1, 3)):
            lines += self._statement(depth + 1)
        if self._assignable() and self._chance(0.5):
            name, kind = self._pick(self._assignable())
            lines.append(f"{space}    {name} += {kind}(float({turn}));")
        self.variables.pop()
        self.in_loop = outer
        return [*lines, f"{space}}}"]

    def _condition(self) -> str:
        test = f"{self._expression('float', 1)} {self._pick(('<', '>', '<=', '>='))} {self._expression('float', 1)}"
        return test if self._chance(0.8) else f"{test} && {self._condition()}"

    def _expression(self, kind: str, depth: int) -> str:
        """Return a random expression of a type, of at most ``depth`` nested operations; limits as in ``_statement``."""
        if depth <= 0 or self._chance(0.25):
            return self._leaf(kind)
        draw = self.random.random()
        for limit, expression in (
            (0.4, self._arithmetic),
            (0.5, self._unary),
            (0.6, self._binary),
            (0.66, self._ternary_function),
            (0.72, self._selection),
            (0.8, self._function_value),
            (0.88, self._macro_value),
            (0.92, lambda kind, _: f"-{self._leaf(kind)}"),
        ):
            if draw < limit and (text := expression(kind, depth - 1)):
                return text
        return self._of_vectors(kind, depth - 1)

    def _arithmetic(self, kind: str, depth: int) -> str:
        right = kind if self._chance(0.6) else "float"
        sign = self._pick("+-**/")
        return f"({self._expression(kind, depth)} {sign} {self._expression(right, depth)})"

    def _unary(self, kind: str, depth: int) -> str:
        function = self._pick(UNARY_FUNCTIONS)
        return f"{function}({self._expression(kind, depth)}{self._pick(('', ' + coord0.x', ' - u'))})"

    def _binary(self, kind: str, depth: int) -> str:
        return f"{self._pick(BINARY_FUNCTIONS)}({self._expression(kind, depth)}, {self._expression(kind, depth)})"

    def _ternary_function(self, kind: str, depth: int) -> str:
        operands = ", ".join(self._expression(kind, depth) for _ in "abc")
        return f"{self._pick(('clamp', 'mix'))}({operands})"

    def _selection(self, kind: str, depth: int) -> str:
        first, second = self._expression(kind, depth), self._expression(kind, depth)
        return f"({self._condition()} ? {first} : {second})"

    def _function_value(self, kind: str, depth: int) -> str:
        """Call a function of the shader with a result of this type; return "" without such a function."""
        suitable = [function for function in self.functions if function[1] == kind]
        if not suitable:
            return ""
        name, _, params = self._pick(suitable)
        return f"{name}({', '.join(self._expression(param, depth) for param in params)})"

    def _macro_value(self, kind: str, depth: int) -> str:
        """Expand a macro of the shader; return "" for a vector, or without macros."""
        if kind != "float" or not self.macros:
            return ""
        name = self._pick(list(self.macros))
        params = self.macros[name][0]
        arguments = [
            self._expression("float", depth)
            + (self._pick((" + 1.0", " < 0.5 ? 0.0 : 1.0")) if self._chance(0.2) else "")
            for _ in range(params)
        ]
        return f"{name}({', '.join(arguments)})" if params else name

    def _of_vectors(self, kind: str, depth: int) -> str:
        """Return a fetch, a vector of equal components, or a dot product."""
        if kind == "vec4":
            return f"texture2D(source, {self._expression('vec2', depth)})"
        if kind != "float":
            return f"{kind}({self._expression('float', depth)})"
        return f"dot({self._leaf('vec2')}, {self._leaf('vec2')})"

    def _leaf(self, kind: str) -> str:
        size = TYPES.index(kind) + 1
        usable = [(name, other) for scope in self.variables for name, other in scope.items()]
        if self._chance(0.75) and usable:
            name, other = self._pick(usable)
            if other == kind:
                return str(name)
            if other != "float":
                most = TYPES.index(other) + 1
                parts = "".join(self._pick("xyzw"[:most]) for _ in range(size))
                return f"{name}.{parts}"
        if kind == "vec4" and self._chance(0.2):
            return f"weights[{self._pick(('0', '1', '2', '3', '2 - 1'))}]"
        literal = self._pick(NUMBERS)
        return str(literal) if kind == "float" else f"{kind}({literal})"


def random_inputs(rng: np.random.Generator, shader: Shader) -> Callable[[str, str, int], NDArray[Any]]:
    """Return a function that yields values of varyings and uniforms, including the extremes of the format.

    Its arguments are the qualifier, the type, and the length of an array, or 0.
    """
    largest_uniform = float(GLSL_LIMITS["uniform"])

    def values(qualifier: str, kind: str, length: int) -> NDArray[Any]:
        largest = largest_uniform if qualifier == "uniform" else float(GLSL_LIMITS["varying"])
        shape = (FRAGMENTS, length or 1, TYPES.index(kind) + 1)
        edges = np.array([0.0, 1.0, -1.0, 0.5, 0.25, largest, -largest, 1.0 / largest_uniform, 2.0, 3.0, 1e-3, 255.0])
        if qualifier == "uniform" and shader.divisors:
            edges[0] = 1.0 / largest_uniform  # a divisor is never 0
        mixed = np.where(rng.random(shape) < 0.7, rng.choice(edges, shape), rng.random(shape)).astype("f4")
        return mixed if length else mixed[:, 0]

    return values


def random_texels(rng: np.random.Generator) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return a function from the coordinates of a fetch to random texels."""
    levels = np.array([0.0, 1.0, 0.5, 1.0 / 255.0], "f4")
    return lambda coordinates: rng.choice(levels, (coordinates.shape[0], 4))


def judge(text: str, seed: int) -> str:
    """Return "refused", "accepted", "no GLSL" for text that a driver also refuses, or the finding."""
    try:
        shader = parse("random", text)
    except BundleError:
        return "refused"
    for index, device in enumerate(DEVICES):
        rng = np.random.default_rng((seed, index))
        machine = Machine(
            text,
            device,
            random_inputs(rng, shader),
            FRAGMENTS,
            random_texels(rng),
            shader.executed,
            fast=index == len(DEVICES) - 1,
        )
        try:
            machine.run()
        except (TypeError, ValueError, IndexError, KeyError):
            return "no GLSL"  # a driver reports an error
        except UnsoundError as error:
            return f"{error}, with {', '.join(sorted(device)) or 'no macros'}"
    return "accepted"


def check(seed: int, programs: int, seconds: float) -> dict[str, Any]:
    """Test ``programs`` programs, or fewer if the time is over; return the counts and findings."""
    end = time.monotonic() + seconds
    report: dict[str, Any] = {"seed": seed, "programs": 0, "accepted": 0, "findings": []}
    for index in range(programs):
        text = RandomShader((seed, index)).text()
        verdict = judge(text, index)
        report["programs"] += 1
        report["accepted"] += verdict != "refused"
        if verdict not in ("refused", "accepted", "no GLSL"):
            report["findings"].append({"number": index, "finding": verdict, "text": text})
        if time.monotonic() > end or len(report["findings"]) >= MOST_FINDINGS:
            break
    return report


def main() -> int:
    """Judge and print; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    report = check(args.seed, args.programs, args.seconds)
    if args.json:
        print(json.dumps(report))
    else:
        print(f"{report['programs']} programs, {report['accepted']} accepted, {len(report['findings'])} findings")
        for finding in report["findings"]:
            print(f"program {finding['number']} of seed {args.seed}: {finding['finding']}", finding["text"], sep="\n")
    return 1 if report["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())

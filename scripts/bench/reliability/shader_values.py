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
NEAR = ("0.0", "1.0", "0.5", "2.0", "1.5", "3.0", "0.1", "0.3", "255.0", "1.0000001", "0.99999994", "1e-9")
NUMBERS = (
    *NEAR * 8,
    *("0.0", "1.0", "0.5", "2.0", "1.5", "3.0", "16777216.0", "16777217.0", "1e-9", "1e-30", "1e20", "3e38", "1e-38"),
    *("0.1", "0.3", "255.0", "1.0000001", "0.99999994", "8388609.0"),
)
INTEGERS = ("0", "1", "2", "3", "4", "7", "010", "2147483647", "65536")
TYPES = ("float", "vec2", "vec3", "vec4")
ONE = ("abs", "floor", "ceil", "fract", "sin", "cos", "exp", "log", "sqrt", "sign", "tan", "inversesqrt", "exp2")
TWO = ("max", "min", "step")


class Program:
    """Writes a random shader."""

    def __init__(self, seed: tuple[int, int]) -> None:
        self.random = random.Random(f"{seed}")
        self.variables: list[dict[str, str]] = [
            {"coord0": "vec4", "coord1": "vec4", "u": "float", "texel": "vec2"},
        ]
        self.fixed = {"coord0", "coord1", "u", "texel"}
        self.functions: list[tuple[str, str, list[str]]] = []
        self.macros: dict[str, tuple[int, str]] = {}
        self.names = 0
        self.in_loop = False

    def text(self) -> str:
        """Return the shader."""
        lines = [HEAD.rstrip("\n")]
        for _ in range(self.random.randint(0, 2)):
            lines += self._macro()
        for _ in range(self.random.randint(0, 2)):
            kind, name = self._pick(TYPES), self._name("G")
            if self._chance(0.5):
                lines.append(
                    f"const {kind} {name} = {kind}({self._pick(NUMBERS)} {self._pick('+-*')} {self._pick(NUMBERS)});"
                )
                self.fixed.add(name)
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
            if name not in self.fixed
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
        named = [entry[0] for entry in self.functions]
        name = self._pick(named) if named and self._chance(0.3) else self._name("f")
        on_some_devices = self._chance(0.1)
        if on_some_devices and self._chance(0.5):
            name = self._pick(("log2", "tan", "exact_exp"))
        params = [self._pick(TYPES) for _ in range(self.random.randint(0, 2))]
        if any(entry[0] == name and entry[2] == params for entry in self.functions):
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
                ways = [f"    return {self._expression(kind, 2)};" for _ in "ab"]
                lines += ["#ifdef ROUND_STORES", ways[0], "#else", ways[1], "#endif"]
            else:
                lines.append(f"    return {self._expression(kind, 2)};")
        self.variables.pop()
        self.functions.append((name, kind, params))
        return ["#ifdef ROUND_STORES", *lines, "}", "#endif"] if on_some_devices else [*lines, "}"]

    def _assignable(self) -> list[tuple[str, str]]:
        return [(name, kind) for scope in self.variables for name, kind in scope.items() if name not in self.fixed]

    def _statement(self, depth: int) -> list[str]:
        space = "    " * depth
        way = self.random.random()
        if way < 0.3 or not self._assignable():
            kind, name = self._pick(TYPES), self._name("v")
            start = f" = {self._expression(kind, 2)}" if self._chance(0.97) else ""
            self.variables[-1][name] = kind
            return [f"{space}{kind} {name}{start};"]
        name, kind = self._pick(self._assignable())
        if way < 0.65:
            if kind != "float" and self._chance(0.2):
                return [
                    f"{space}{name}.{self._pick('xy')} {self._pick(('=', '+=', '*='))} {self._expression('float', 2)};"
                ]
            return [f"{space}{name} {self._pick(('=', '=', '+=', '-=', '*=', '/='))} {self._expression(kind, 2)};"]
        if way < 0.75 and kind == "vec4":
            return [f"{space}{name} += texture2D(source, {self._expression('vec2', 2)});"]
        if way < 0.82:
            then = "break" if self.in_loop and self._chance(0.4) else f"{name} = {self._expression(kind, 1)}"
            return [f"{space}if ({self._condition()}) {then};"]
        if way < 0.84:  # hides a variable on some devices
            value = self._expression(kind, 1)
            self.variables[-1][name] = kind
            return ["#ifdef ROUND_STORES", f"{space}{kind} {name} = {value};", "#endif"]
        if way < 0.88:
            first, second = (f"{space}{name} = {self._expression(kind, 1)};" for _ in "ab")
            return ["#ifdef ROUND_STORES", first, *(["#else", second] if self._chance(0.5) else []), "#endif"]
        if way < 0.93 and self.functions:
            called, _, params = self._pick(self.functions)
            return [f"{space}{called}({', '.join(self._expression(kind, 1) for kind in params)});"]
        if depth < 3:
            return self._loop(depth)
        return [f"{space}{name} = {self._expression(kind, 1)};"]

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
        if depth <= 0 or self._chance(0.25):
            return self._leaf(kind)
        way = self.random.random()
        if way < 0.4:
            right = kind if self._chance(0.6) else "float"
            sign = self._pick("+-**/")
            return f"({self._expression(kind, depth - 1)} {sign} {self._expression(right, depth - 1)})"
        if way < 0.5:
            return f"{self._pick(ONE)}({self._expression(kind, depth - 1)}{self._pick(('', ' + coord0.x', ' - u'))})"
        if way < 0.6:
            return f"{self._pick(TWO)}({self._expression(kind, depth - 1)}, {self._expression(kind, depth - 1)})"
        if way < 0.66:
            parts = ", ".join(self._expression(kind, depth - 1) for _ in "abc")
            return f"{self._pick(('clamp', 'mix'))}({parts})"
        if way < 0.72:
            first, second = self._expression(kind, depth - 1), self._expression(kind, depth - 1)
            return f"({self._condition()} ? {first} : {second})"
        if way < 0.8:
            named = [entry for entry in self.functions if entry[1] == kind]
            if named:
                name, _, params = self._pick(named)
                return f"{name}({', '.join(self._expression(param, depth - 1) for param in params)})"
        if way < 0.88 and kind == "float" and self.macros:
            name = self._pick(list(self.macros))
            params = self.macros[name][0]
            arguments = [
                self._expression("float", depth - 1)
                + (self._pick((" + 1.0", " < 0.5 ? 0.0 : 1.0")) if self._chance(0.2) else "")
                for _ in range(params)
            ]
            return f"{name}({', '.join(arguments)})" if params else name
        if way < 0.92:
            return f"-{self._leaf(kind)}"
        if kind == "vec4":
            return f"texture2D(source, {self._expression('vec2', depth - 1)})"
        if kind != "float":
            return f"{kind}({self._expression('float', depth - 1)})"
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
        number = self._pick(NUMBERS)
        return str(number) if kind == "float" else f"{kind}({number})"


def inputs(rng: np.random.Generator, shader: Shader) -> Callable[[str, str, int], NDArray[Any]]:
    """Return a function that yields values of varyings and uniforms, including the extremes of the format."""
    most = float(GLSL_LIMITS["uniform"])

    def values(word: str, kind: str, size: int) -> NDArray[Any]:
        far = most if word == "uniform" else float(GLSL_LIMITS["varying"])
        shape = (FRAGMENTS, size or 1, TYPES.index(kind) + 1)
        edges = np.array([0.0, 1.0, -1.0, 0.5, 0.25, far, -far, 1.0 / most, 2.0, 3.0, 1e-3, 255.0])
        if word == "uniform" and shader.divisors:
            edges[0] = 1.0 / most
        texels = np.where(rng.random(shape) < 0.7, rng.choice(edges, shape), rng.random(shape)).astype("f4")
        return texels if size else texels[:, 0]

    return values


def texels(rng: np.random.Generator) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return a function from the coordinates of a fetch to random texels."""
    kinds = np.array([0.0, 1.0, 0.5, 1.0 / 255.0], "f4")
    return lambda coordinates: rng.choice(kinds, (coordinates.shape[0], 4))


def judge(text: str, seed: int) -> str:
    """Return "refused", "accepted", "no GLSL" for text that a driver also refuses, or the finding."""
    try:
        shader = parse("random", text)
    except BundleError:
        return "refused"
    for number, device in enumerate(DEVICES):
        rng = np.random.default_rng((seed, number))
        machine = Machine(
            text,
            device,
            inputs(rng, shader),
            FRAGMENTS,
            texels(rng),
            shader.executed,
            fast=number == len(DEVICES) - 1,
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
    for number in range(programs):
        text = Program((seed, number)).text()
        verdict = judge(text, number)
        report["programs"] += 1
        report["accepted"] += verdict != "refused"
        if verdict not in ("refused", "accepted", "no GLSL"):
            report["findings"].append({"number": number, "finding": verdict, "text": text})
        if time.monotonic() > end or len(report["findings"]) >= 20:
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
        for entry in report["findings"]:
            print(f"program {entry['number']} of seed {args.seed}: {entry['finding']}", entry["text"], sep="\n")
    return 1 if report["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())

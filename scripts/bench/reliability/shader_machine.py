"""Interpreter of the GLSL of bundles in 32-bit floats, independent of the checker's code.

It preprocesses, parses and executes a shader as a GPU does, for several fragments at once. It raises ``UnsoundError``
for everything that the checker must exclude: NaN as a coordinate, an undefined value, an integer that overflows or is
divided, recursion, and more operations than the checker counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?(?:e-?\d+)?|[-+*/=!<>]=|\+\+|&&|\|\||[-+*/=<>!?:;,.(){}\[\]]")
_LEVELS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/"))
_SIZES = {"float": 1, "vec2": 2, "vec3": 3, "vec4": 4}
_UNARY_FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "ceil": np.ceil,
    "cos": np.cos,
    "exp": np.exp,
    "exp2": np.exp2,
    "floor": np.floor,
    "fract": lambda x: x - np.floor(x),
    "inversesqrt": lambda x: np.float32(1.0) / np.sqrt(x),
    "log": np.log,
    "log2": np.log2,
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
}


class UnsoundError(Exception):
    """The shader violates a guarantee of the checker."""


class Machine:
    """Executes a shader for several fragments at once.

    Args:
        text: text of the shader.
        device: macros that the device defines.
        inputs: values of varyings and uniforms, (fragments, components) each; of arrays (fragments, elements, 4).
        fragments: number of fragments.
        texels: function from the coordinates of a fetch to its texels.
        most: number of operations that a fragment can execute.
        fast: compute as a driver that flushes small numbers to 0, divides by multiplying with the reciprocal, and
            multiplies the constants of a product first.
    """

    def __init__(
        self,
        text: str,
        device: frozenset[str],
        inputs: Callable[[str, str, int], Array],
        fragments: int,
        texels: Callable[[Array], Array],
        most: int,
        fast: bool = False,
    ) -> None:
        self.tokens = [*_preprocessed(text, device), ""]
        self.inputs, self.fragments, self.texels, self.most = inputs, fragments, texels, most
        self.left, self.fast = 1 << 30, fast
        self.functions: dict[tuple[str, tuple[str, ...]], tuple[list[str], int]] = {}
        self.scopes: list[dict[str, list[Any]]] = [{}]  # name -> [type, value, index of its definition]
        self.active = np.ones(fragments, bool)
        self.calls = 0

    def run(self) -> None:
        """Execute the entire shader."""
        with np.errstate(all="ignore"):
            self._declare("gl_FragColor", "vec4")
            at = 0
            while self.tokens[at]:
                at = self._outermost(at)
            self.left = self.most
            self._block(self.functions["main", ()][1])

    def _outermost(self, at: int) -> int:
        word = self.tokens[at]
        if word in ("varying", "uniform"):
            kind, name = self.tokens[at + 1 : at + 3]
            size, at = 0, at + 3
            if self.tokens[at] == "[":
                (_, elements), at = self._expression(at + 1)
                size, at = int(elements), at + 1
            if kind != "sampler2D":
                self.scopes[0][name] = [kind, self.inputs(word, kind, size), np.ones(self.fragments, bool)]
            return at + 1
        if word == "const":
            return self._declaration(at + 1)
        if self.tokens[at + 2] == "(":
            name, at = self.tokens[at + 1], at + 3
            kinds, names = [], [word]
            while self.tokens[at] != ")":
                at += self.tokens[at] == ","
                kinds.append(self.tokens[at])
                names.append(self.tokens[at + 1])
                at += 2
            self.functions[name, tuple(kinds)] = names, at + 1
            return self._after_block(at + 1)
        return self._declaration(at)

    def _after_block(self, at: int) -> int:
        depth = 0
        while True:
            depth += (self.tokens[at] == "{") - (self.tokens[at] == "}")
            at += 1
            if not depth:
                return at

    def _count(self, operations: int = 1) -> None:
        self.left -= operations
        if self.left < 0:
            raise UnsoundError("more operations than the checker counted")

    def _declare(self, name: str, kind: str) -> None:
        size = _SIZES.get(kind, 1)
        self.scopes[-1][name] = [kind, np.zeros((self.fragments, size), "f4"), np.zeros(self.fragments, bool)]

    def _find(self, name: str) -> list[Any]:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise KeyError(name)

    def _block(self, at: int) -> tuple[int, tuple[str, Array] | None]:
        """Execute a block; return the index after it and its return value."""
        self.scopes.append({})
        at += 1
        result = None
        while self.tokens[at] != "}":
            at, result = self._statement(at)
            if result is not None:
                break
        self.scopes.pop()
        return at + 1, result

    def _statement(self, at: int) -> tuple[int, tuple[str, Array] | None]:
        word = self.tokens[at]
        if word == "const":
            return self._declaration(at + 1), None
        if word in _SIZES and self.tokens[at + 1] != "(":
            return self._declaration(at), None
        if word == "for":
            return self._loop(at), None
        if word == "if":
            (_, condition), at = self._expression(at + 2)
            outer = self.active
            self.active = outer & condition[:, 0]
            if not self.active.any():
                self.active = outer
                return self._skip(at + 1), None
            stops = self.tokens[at + 1] == "break"
            at, _ = self._statement(at + 1)
            self.active = outer & ~condition[:, 0] if stops else outer
            return at, None
        if word == "break":
            return at + 2, None
        if word == "return":
            value, at = self._expression(at + 1)
            return at + 1, value[:2]
        if word == ";":
            return at + 1, None
        if self.tokens[at + 1] == "(":
            _, at = self._expression(at)
            return at + 1, None
        return self._assignment(at), None

    def _skip(self, at: int) -> int:
        while self.tokens[at] != ";":
            at += 1
        return at + 1

    def _declaration(self, at: int) -> int:
        kind, at = self.tokens[at], at + 1
        while True:
            name, at = self.tokens[at], at + 1
            value = None
            if self.tokens[at] == "=":
                value, at = self._expression(at + 1)
            self._declare(name, kind)
            if value is not None:
                self._store(self._find(name), slice(None), value[1])
            if self.tokens[at] == ";":
                return at + 1
            at += 1

    def _store(self, variable: list[Any], components: Any, value: Array) -> None:
        new = variable[1].copy()
        new[:, components] = value
        variable[1] = np.where(self.active[:, None], new, variable[1])
        variable[2] = variable[2] | self.active

    def _assignment(self, at: int) -> int:
        variable, at = self._find(self.tokens[at]), at + 1
        components: Any = slice(None)
        if self.tokens[at] == ".":
            components, at = _components(self.tokens[at + 1]), at + 2
        sign = self.tokens[at]
        value, at = self._expression(at + 1)
        if (sign != "=" or components != slice(None)) and not variable[2][self.active].all():
            raise UnsoundError("an undefined variable is changed")
        if sign != "=":
            self._count()
            value = self._calculated(sign[0], ("", variable[1][:, components]), value)
        self._store(variable, components, value[1])
        return at + 1

    def _loop(self, at: int) -> int:
        name, bound = self.tokens[at + 3], at + 9
        (kind, turns), at = self._expression(bound)
        at += 1
        while self.tokens[at] != "{":
            at += 1
        if kind != "int" or int(turns) > 8192:
            raise UnsoundError(f"{turns} turns of a loop")
        outer = self.active
        for turn in range(int(turns)):
            if turn:
                self._expression(bound)  # it is compared before each turn
            self.scopes.append({name: ["int", turn, np.ones(self.fragments, bool)]})
            self._block(at)
            self.scopes.pop()
            if not self.active.any():
                break
        self.active = outer
        return self._after_block(at)

    # Expressions: a value is a type and an array (fragments, components), or an int for integers

    def _expression(self, at: int) -> tuple[tuple[str, Any], int]:
        value, at = self._binary(at, 0)
        if self.tokens[at] == "?":
            self._count()
            outer, condition = self.active, value[1]
            self.active = outer & condition[:, 0]
            first, at = self._binary(at + 1, 0)
            self.active = outer & ~condition[:, 0]
            second, at = self._binary(at + 1, 0)
            self.active = outer
            return (first[0], np.where(condition, first[1], second[1])), at
        return value, at

    def _binary(self, at: int, level: int) -> tuple[tuple[str, Any], int]:
        if level == len(_LEVELS):
            return self._unary(at)
        value, at = self._binary(at, level + 1)
        while self.tokens[at] in _LEVELS[level]:
            sign = self.tokens[at]
            other, at = self._binary(at + 1, level + 1)
            self._count()
            value = self._product(value, other) if sign == "*" else self._calculated(sign, value, other)
            if value[0] not in ("int", "bool"):
                value = value[0], np.broadcast_to(value[1], (self.fragments, value[1].shape[1])), *value[2:]
        return value, at

    def _product(self, left: Any, right: Any) -> Any:
        """Return a product; of a driver that multiplies constants first, with its variable and its constant factor."""
        if not self.fast or "int" in (left[0], right[0]):
            return self._calculated("*", left, right)
        operands = [value[2:] or (value, None) for value in (left, right)]
        variable, factor = (
            self._product_of([operand[k] for operand in operands if operand[k] is not None]) for k in (0, 1)
        )
        product = self._product_of([value for value in (variable, factor) if value is not None])
        return (*product[:2], variable, factor)

    def _product_of(self, values: list[Any]) -> Any:
        """Return the product of two values, the only value, or None."""
        if len(values) == 2:
            return self._calculated("*", *values)
        return values[0][:2] if values else None

    def _calculated(self, sign: str, left: Any, right: Any) -> tuple[str, Any]:
        if not self.fast or "int" in (left[0], right[0]):
            return _calculated(sign, left, right)
        if sign == "/":
            ones = np.ones_like(right[1])
            return self._calculated("*", left, self._flushed(_calculated("/", (right[0], ones), right)))
        return self._flushed(_calculated(sign, left, right))

    def _constant(self, literal: tuple[str, Any]) -> Any:
        literal = self._flushed(literal)
        return (*literal, None, literal)

    def _flushed(self, value: tuple[str, Any]) -> tuple[str, Any]:
        kind, array = value
        if kind == "bool":
            return value
        return kind, np.where(np.abs(array) < np.finfo(np.float32).tiny, np.float32(0.0), array)

    def _unary(self, at: int) -> tuple[tuple[str, Any], int]:
        if self.tokens[at] == "-":
            self._count()
            negated, at = self._unary(at + 1)
            return (negated[0], -negated[1]), at
        value, at = self._primary(at)
        if self.tokens[at] == ".":
            parts = _components(self.tokens[at + 1])
            return (f"vec{len(parts)}" if len(parts) > 1 else "float", value[1][:, parts]), at + 2
        return value, at

    def _primary(self, at: int) -> tuple[tuple[str, Any], int]:
        token, at = self.tokens[at], at + 1
        if token == "(":
            value, at = self._expression(at)
            return value, at + 1
        if token[0].isdigit():
            if token.isdigit():
                return ("int", int(token, 8) if token[0] == "0" else int(token)), at
            literal = ("float", np.full((self.fragments, 1), np.float32(token)))
            return (self._constant(literal), at) if self.fast else (literal, at)
        if self.tokens[at] == "(":
            return self._call(token, at + 1)
        kind, value, defined = self._find(token)
        if self.tokens[at] == "[":
            (_, index), at = self._expression(at + 1)
            return (kind, value[:, int(index)]), at + 1
        if not defined[self.active].all():
            raise UnsoundError(f"'{token}' is undefined")
        return (kind, value), at

    def _call(self, name: str, at: int) -> tuple[tuple[str, Any], int]:
        if name == "texture2D":
            value, at = self._expression(at + 2)
            coordinate = value[1]
            self._count(4)
            if np.isnan(coordinate[self.active]).any():
                raise UnsoundError("NaN is a coordinate")
            return ("vec4", self.texels(coordinate)), at + 1
        arguments = []
        while self.tokens[at] != ")":
            at += self.tokens[at] == ","
            value, at = self._expression(at)
            arguments.append(value[:2])
        at += 1
        self._count()
        kinds = tuple(kind for kind, _ in arguments)
        if (name, kinds) in self.functions:
            return self._called(name, kinds, arguments), at
        return self._builtin(name, arguments), at

    def _called(self, name: str, kinds: tuple[str, ...], arguments: list[tuple[str, Any]]) -> tuple[str, Any]:
        self.calls += 1
        if self.calls > 12:
            raise UnsoundError(f"'{name}' calls itself")
        (kind, *names), body = self.functions[name, kinds]
        outer = self.scopes
        variables = {key: [type_, value, self.active] for key, (type_, value) in zip(names, arguments)}
        self.scopes = [outer[0], variables]
        _, result = self._block(body)
        self.scopes = outer
        self.calls -= 1
        if result is None and kind != "void":
            raise UnsoundError(f"'{name}' returns nothing")
        return result or ("void", None)

    def _builtin(self, name: str, arguments: list[tuple[str, Any]]) -> tuple[str, Any]:
        if name == "int":
            return "int", int(arguments[0][1] if arguments[0][0] == "int" else arguments[0][1][0, 0])
        arrays = [
            np.full((self.fragments, 1), np.float32(value)) if kind == "int" else value.astype("f4")
            for kind, value in arguments
        ]
        if name in _SIZES:
            return name, self._made(_SIZES[name], arrays)
        size = max(array.shape[1] for array in arrays)
        kind = f"vec{size}" if size > 1 else "float"
        x = arrays[0]
        if name in _UNARY_FUNCTIONS:
            return kind, _UNARY_FUNCTIONS[name](x)
        if name == "length":
            return "float", np.sqrt((x * x).sum(1, keepdims=True, dtype="f4"))
        y = arrays[1] if len(arrays) > 1 else x
        if name in ("min", "max"):
            return kind, (np.fmin if name == "min" else np.fmax)(x, y)
        if name == "clamp":
            return kind, np.fmin(np.fmax(x, y), arrays[2])
        if name == "mix":
            share = arrays[2]
            return kind, x * (np.float32(1.0) - share) + y * share
        if name == "step":
            return kind, (y >= x).astype("f4")
        if name == "dot":
            return "float", (x * y).sum(1, keepdims=True, dtype="f4")
        if name == "pow":
            return kind, x**y
        raise KeyError(name)

    def _made(self, size: int, arrays: list[Array]) -> Array:
        if len(arrays) == 1 and arrays[0].shape[1] == 1:
            return np.repeat(arrays[0], size, 1)
        return np.concatenate(arrays, 1)[:, :size]


def _calculated(sign: str, left: tuple[str, Any], right: tuple[str, Any]) -> tuple[str, Any]:
    a, b = left[1], right[1]
    if sign in ("+", "-", "*", "/"):
        if "int" in (left[0], right[0]):
            if sign == "/":
                raise UnsoundError("integers are divided")
            whole = a + b if sign == "+" else a - b if sign == "-" else a * b
            if not -(2**31) <= whole < 2**31:
                raise UnsoundError("an integer overflows")
            return "int", whole
        result = a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a / b
        return (f"vec{result.shape[1]}" if result.shape[1] > 1 else "float"), result
    compared = {
        "||": lambda: a | b,
        "&&": lambda: a & b,
        "==": lambda: a == b,
        "!=": lambda: a != b,
        "<": lambda: a < b,
        ">": lambda: a > b,
        "<=": lambda: a <= b,
        ">=": lambda: a >= b,
    }[sign]()
    return "bool", np.atleast_2d(compared)


def _components(text: str) -> list[int]:
    return ["xyzw".find(letter) if letter in "xyzw" else "rgba".find(letter) for letter in text]


def _preprocessed(text: str, device: frozenset[str]) -> Iterator[str]:
    """Yield the tokens after preprocessing."""
    macros: dict[str, tuple[list[str] | None, list[str]]] = {name: (None, []) for name in device}
    live = [True]
    waiting: list[str] = []
    for line in [*text.split("\n"), "#end"]:
        word, _, arguments = line.partition(" ")
        if not line.startswith("#"):
            if all(live):
                waiting += _TOKEN.findall(line.split("//")[0])
            continue
        yield from _expanded(waiting, macros, frozenset())
        waiting = []
        if word in ("#ifdef", "#ifndef"):
            live.append((arguments in macros) == (word == "#ifdef"))
        elif word == "#if":
            terms = re.findall(r"(!?)defined\((\w+)\)", arguments)
            live.append(all((name in macros) != bool(sign) for sign, name in terms))
        elif word == "#else":
            live[-1] = not live[-1]
        elif word == "#endif":
            live.pop()
        elif word == "#undef" and all(live):
            macros.pop(arguments, None)
        elif word == "#define" and all(live):
            definition = re.fullmatch(r"(\w+)(?:\(([^)]*)\))?(?: (.*))?", arguments)
            assert definition is not None
            macros[definition[1]] = (
                definition[2].split(", ") if definition[2] else None,
                _TOKEN.findall(definition[3] or ""),
            )


def _expanded(
    tokens: list[str], macros: Mapping[str, tuple[list[str] | None, list[str]]], hidden: frozenset[str]
) -> Iterator[str]:
    at = 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if token not in macros or token in hidden:
            yield token
            continue
        params, body = macros[token]
        if params is not None:
            arguments: list[list[str]] = [[]]
            depth, at = 0, at + 1
            while depth or tokens[at] != ")":
                depth += (tokens[at] in "([") - (tokens[at] in ")]")
                if tokens[at] == "," and not depth:
                    arguments.append([])
                else:
                    arguments[-1].append(tokens[at])
                at += 1
            at += 1
            bound = {param: list(_expanded(words, macros, hidden)) for param, words in zip(params, arguments)}
            body = [replaced for word in body for replaced in bound.get(word, [word])]
        yield from _expanded(body, macros, hidden | {token})

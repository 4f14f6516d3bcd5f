"""Expressions of the GLSL that bundles hold: what they may be worth, and what they cost.

A value is a tuple: whether it is an integer, the smallest and largest number that it may be as a constant (NaN where
no compiler can know), and marks: ``WILD`` may be no number at all, as 0 / 0; ``PLAIN`` is made of uniforms.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from glsl_infer.bundle.format_constants import (
    GLSL_CURVES,
    GLSL_FUNCTIONS,
    GLSL_LIMITS,
    GLSL_TYPES,
    GLSL_WILD,
    MAX_NUMBER,
)
from glsl_infer.bundle.shader_lines import Lines, Macro
from glsl_infer.errors import BundleError

Value = tuple[bool, float, float, int]
WILD, PLAIN = 1, 2
NAN = float("nan")
ANY: Value = (False, NAN, NAN, 0)
INTEGER: Value = (True, NAN, NAN, 0)
UNIFORM: Value = (False, NAN, NAN, PLAIN)
KINDS = frozenset(GLSL_TYPES)
SWIZZLE = re.compile(r"[xyzw]{1,4}|[rgba]{1,4}")
END = ""
_NAME = re.compile(r"(?!gl_|webgl_|_webgl_)(?!\w*__)[A-Za-z_]\w*", re.ASCII)
_WORDS = KINDS | {"for", "if", "return", "void", "const"}
_LEVELS = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6}
_TINY = 1e-30


@dataclass(frozen=True)
class Function:
    """What calls of it cost; whether it fetches texels, and whether what it returns may be no number."""

    written: int = 0
    executed: int = 0
    fetches: bool = False
    wild: int = 0


@dataclass(eq=False)
class Variable:
    """What is known of a name. ``value`` is None before anything is assigned."""

    kind: str
    value: Value | None
    size: int = 0


def known(value: Value) -> bool:
    """Return whether a value may be a constant."""
    return value[1] == value[1]


def hull(one: Value, other: Value) -> Value:
    """Return what holds one value or the other: a constant, if one of them is."""
    marks = (one[3] | other[3]) & WILD | (one[3] & other[3])
    if not known(one) or not known(other):
        return (*(other if known(other) else one)[:3], marks)
    return one[0], min(one[1], other[1]), max(one[2], other[2]), marks


class Expressions:
    """Reads tokens from left to right. Every method leaves ``at`` behind what it has understood."""

    def __init__(self, lines: Lines) -> None:
        self.lines, self.tokens, self.at = lines, [*lines.tokens, END], 0
        self.macros: dict[str, list[Macro]] = {}
        self.functions: dict[str, Function] = {}
        self.scopes: list[dict[str, Variable]] = [{"gl_FragColor": Variable("vec4", None)}]
        self.bound: dict[str, tuple[Value, tuple[int, int]]] = {}
        self.branches: list[tuple[int, list[Variable], list[Variable]]] = []
        self.written = self.executed = self.used = 0
        self.depth = self.deep = self.expanding = self.operators = self.conditional = 0
        self.coordinate = self.fetches = False
        self.wild = 0  # of what the function returns
        self.place: int | None = None
        self.main = False

    def refused(self, what: str) -> BundleError:
        """Return the refusal of the token at which the parser is."""
        at = self.at if self.place is None else self.place
        number = self.lines.numbers[min(at, len(self.lines.numbers) - 1)] if self.lines.numbers else 1
        return self.lines.refuse(number, what)

    def next(self) -> str:
        """Return the next token and go behind it."""
        token = self.tokens[self.at]
        self.at += token != END
        self.used += 1
        if self.used > GLSL_LIMITS["expanded"]:
            raise self.refused(f"the shader has more than {GLSL_LIMITS['expanded']} tokens with its macros")
        return token

    def take(self, token: str) -> bool:
        """Return whether the next token is this one, and go behind it then."""
        if self.tokens[self.at] != token:
            return False
        self.next()
        return True

    def expect(self, *tokens: str) -> None:
        """Go behind these tokens."""
        for token in tokens:
            if not self.take(token):
                raise self.refused(f"'{token}' is expected, not '{self.tokens[self.at]}'")

    def cost(self, written: int, executed: int) -> None:
        """Count operations."""
        self.written += written
        self.executed += executed
        if self.written > GLSL_LIMITS["written"] or self.executed > GLSL_LIMITS["executed"]:
            raise self.refused("the shader has more operations than any of this format")

    def name(self) -> str:
        """Return the next token, a name that a shader may give."""
        token = self.next()
        if not _NAME.fullmatch(token) or token in _WORDS:
            raise self.refused(f"a name is expected, not '{token}'")
        return token

    def declare(self, name: str, kind: str, value: Value | None, size: int = 0) -> None:
        """Make a variable of the innermost block; ``size``: elements of an array, or 0."""
        self.cost(1, 1)
        if name in self.macros:
            raise self.refused(f"'{name}' is a macro already")
        before = self.scopes[-1].get(name)
        if before and before.value and value and self.branches:
            value = hull(before.value, value)
        self.scopes[-1][name] = Variable(kind, value, size)

    def find(self, name: str) -> Variable | None:
        """Return the variable of this name."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def expression(self) -> Value:
        """Parse an expression."""
        value = self.binary(1)
        if self.take("?"):
            self.cost(1, 1)
            value = self.binary(1)
            self.expect(":")
            value = hull(value, self.binary(1))
        return value

    def binary(self, level: int) -> Value:
        """Parse operations of this level and of those that bind more."""
        value = self.unary()
        while _LEVELS.get(self.tokens[self.at], 0) >= level:
            sign = self.next()
            value = self.combine(sign, value, self.binary(_LEVELS[sign] + 1))
        return value

    def combine(self, sign: str, left: Value, right: Value) -> Value:
        """Return the value of an operation, if it is one that no compiler can choke on."""
        self.operators += 1
        self.cost(1, 1)
        if self.operators > GLSL_LIMITS["operators"]:
            raise self.refused(f"a statement has more than {GLSL_LIMITS['operators']} operations")
        if _LEVELS[sign] < 5:
            return ANY
        (whole, a, b, marks), (_, c, d, others) = left, right
        plain = (known(left) or marks & PLAIN) and (known(right) or others & PLAIN)
        wild = (marks | others) & WILD
        if sign == "/" and not known(right) and not others & PLAIN:
            wild = WILD
        if sign == "/" and (left[0] or right[0] or (c <= _TINY and d >= -_TINY)):
            raise self.refused("a division by a constant that is 0 or may be, or of integers")
        if sign == "*" and ((a == b == 0.0) or (c == d == 0.0)):
            return whole, 0.0, 0.0, wild
        if not known(left) or not known(right):
            return whole, NAN, NAN, wild | (PLAIN if plain and sign == "*" else 0)
        if sign == "+":
            ends = [a + c, b + d]
        elif sign == "-":
            ends = [a - d, b - c]
        elif sign == "*":
            ends = [a * c, a * d, b * c, b * d]
        else:
            ends = [a / c, a / d, b / c, b / d]
        return self.constant((whole, min(ends), max(ends), wild))

    def constant(self, value: Value) -> Value:
        """Return a constant, if it is neither infinite nor too far from the texture in a coordinate."""
        most = GLSL_LIMITS["coordinate"] if self.coordinate else MAX_NUMBER
        if max(-value[1], value[2]) > most:
            raise self.refused("a constant is infinite, or too large for a coordinate")
        return value

    def unary(self) -> Value:
        """Parse an operand with its sign and its components."""
        if self.take("-"):
            self.cost(1, 1)
            if self.tokens[self.at] == "-":
                raise self.refused("two signs in a row")
            whole, least, most, marks = self.unary()
            return whole, -most, -least, marks
        value = self.primary()
        if self.take(".") and not SWIZZLE.fullmatch(self.next()):
            raise self.refused("a component is expected")
        return value

    def primary(self) -> Value:
        """Parse an operand."""
        token = self.next()
        if token == "(":
            self.nested(1)
            value = self.expression()
            self.expect(")")
            self.nested(-1)
            return value
        if token[:1].isdigit():
            return self.constant((token.isdigit(), float(token), float(token), 0))
        if token in KINDS or token in self.macros or token in self.bound:
            return self.word(token)
        if self.tokens[self.at] == "(":
            return self.call([token])
        return self.word(token)

    def word(self, token: str) -> Value:
        """Parse what begins with a name."""
        if token in self.bound:
            value, (written, executed) = self.bound[token]
            self.cost(written, executed)
            return value
        if token in self.macros:
            return self.macro(token, self.expression)
        if token in KINDS:
            return self.call([token])
        variable = self.find(token)
        if variable is None or variable.kind == "sampler2D":
            raise self.refused(f"'{token[:20]}' is no name of a number here")
        if variable.size:
            self.expect("[")
            whole, least, most, _ = self.expression()
            self.expect("]")
            if not whole or not 0 <= least <= most < variable.size:
                raise self.refused(f"an index of '{token}' is a constant from 0 to {variable.size - 1}")
        if variable.value is None:
            raise self.refused(f"'{token}' is used before it has a value")
        return self.constant(variable.value) if known(variable.value) else variable.value

    def nested(self, step: int) -> None:
        """Count brackets in each other."""
        self.deep += step
        if self.deep > GLSL_LIMITS["brackets"]:
            raise self.refused(f"brackets are more than {GLSL_LIMITS['brackets']} deep in each other")

    def call(self, names: list[str]) -> Value:
        """Parse the arguments of a function; ``names`` are all that a macro may stand for."""
        self.nested(1)
        self.expect("(")
        if names == ["texture2D"]:
            return self.fetch()
        given: list[Value] = []
        while not self.take(")"):
            if given:
                self.expect(",")
            variable = self.find(self.tokens[self.at])
            if variable and variable.kind == "sampler2D":
                self.next()
                given.append(ANY)
            else:
                given.append(self.expression())
            if len(given) > 16:
                raise self.refused("a function has more than 16 arguments")
        self.nested(-1)
        constant = bool(given) and all(known(value) for value in given)
        ends = min((v[1] for v in given), default=NAN), max((v[2] for v in given), default=NAN)
        bounded = bool(given) and set(names) <= {"min", "max", "clamp"}  # by any of them
        wild = (min if bounded else max)((value[3] & WILD for value in given), default=0)
        for name in names:
            self.cost(1, 1)
            if name in self.functions:
                function = self.functions[name]
                self.cost(function.written, function.executed)
                self.forget()
                self.fetches |= function.fetches
                if function.fetches and (wild or any((v.value or ANY)[3] & WILD for v in self.scopes[0].values())):
                    raise self.refused(f"'{name}' fetches, and is given what may be no number")
                wild |= function.wild
            elif name in KINDS or name in GLSL_FUNCTIONS or name in GLSL_CURVES:
                if constant == (name in GLSL_CURVES) and (constant or name == "int"):
                    raise self.refused(f"'{name}' of constants, or 'int' of what is none")
                wild |= WILD if name in GLSL_WILD else 0
            else:
                raise self.refused(f"'{name[:20]}' is no function of this format")
        if not constant or names[0] in self.functions:
            return False, NAN, NAN, wild
        if names[0] in KINDS:
            return (names[0] == "int", *ends, wild)
        if bounded:
            return self.constant((False, *ends, wild))
        most = 4.0 * max(1.0, -ends[0], ends[1]) ** 2  # of any of the others
        return self.constant((False, -most, most, wild))

    def forget(self) -> None:
        """Forget the values of global variables: a function of the shader may have changed each."""
        for name, variable in self.scopes[0].items():
            if variable.kind == "global":
                if variable.value is None:
                    raise self.refused(f"'{name}' has no value yet, and a function is called")
                variable.value = (*ANY[:3], variable.value[3] & WILD)

    def fetch(self) -> Value:
        """Parse what texture2D is given, behind its bracket."""
        variable = self.find(self.next())
        if variable is None or variable.kind != "sampler2D":
            raise self.refused("texture2D reads a sampler of the shader")
        self.expect(",")
        outer, self.coordinate = self.coordinate, True
        value = self.expression()
        self.coordinate = outer
        self.fetches = True
        if known(value) or value[3] & WILD:
            raise self.refused("a coordinate is constant, or may be no number")
        self.expect(")")
        self.nested(-1)
        self.cost(GLSL_LIMITS["fetch"], GLSL_LIMITS["fetch"])
        return ANY

    def macro(self, name: str, parse: Callable[[], Value | None]) -> Value:
        """Parse every definition that a macro may have here, in its place; return what it may be worth."""
        first, *others = definitions = self.macros[name]
        if any(len(other.params or ()) != len(first.params or ()) for other in others) or self.expanding > 1:
            raise self.refused(f"macro '{name}' has other parameters elsewhere, or stands in a macro of a macro")
        if first.params is None and self.tokens[self.at] == "(":  # another name of a function
            return self.call([definition.body[0] if len(definition.body) == 1 else name for definition in definitions])
        alone = self.tokens[self.at - 2] in ("=", "(", ",", "<", "return")
        cost = self.written, self.executed
        given: list[tuple[Value, tuple[int, int]]] = []
        for _ in first.params or ():
            self.expect("," if given else "(")
            value = self.expression()
            given.append((value, (self.written - cost[0], self.executed - cost[1])))
            self.written, self.executed = cost  # where it is used it counts
        if given:
            self.expect(")")
        alone = alone and self.tokens[self.at] in (";", ")", ",")
        outer = self.tokens, self.at, self.bound, self.place
        self.nested(1)
        self.expanding += 1
        most, result = cost, None
        for definition in definitions:
            if definition.loose and not alone and parse == self.expression:
                raise self.refused(f"macro '{name}' is a sum without brackets around it")
            self.place = outer[1] if outer[3] is None else outer[3]
            self.tokens, self.at = [*definition.body, END], 0
            self.bound = dict(zip(definition.params or (), given))
            self.written, self.executed = cost
            if definition.body or parse == self.expression:
                value = parse() or ANY
                result = value if result is None else hull(result, value)
                self.expect(END)
            most = max(most[0], self.written), max(most[1], self.executed)
            self.tokens, self.at, self.bound, self.place = outer
        self.expanding -= 1
        self.nested(-1)
        self.written, self.executed = most
        return result or ANY

"""Expressions of the GLSL that bundles hold: what they may be worth, and what they cost."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from glsl_infer.bundle.format_constants import GLSL_LIMITS, MAX_NUMBER
from glsl_infer.bundle.shader_cursor import KINDS, Cursor
from glsl_infer.bundle.shader_values import ANY, Value, hull, known, mixed

_SWIZZLE = re.compile(r"[xyzw]{1,4}|[rgba]{1,4}")
_LEVELS = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6}


class Expressions(Cursor, ABC):
    """Operations, operands and constants; what calls and macros are worth is for ``Calls``."""

    @abstractmethod
    def call(self, names: list[str]) -> Value:
        """Parse the arguments of a function."""

    @abstractmethod
    def macro(self, name: str, parse: Callable[[], Value | None]) -> Value:
        """Parse what a macro stands for."""

    def expression(self) -> Value:
        """Parse an expression."""
        value = self.binary(1)
        if self.tokens[self.at] == "?":
            self.next()
            self.cost(GLSL_LIMITS["choice"], 1)
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
        value = mixed(sign, left, right)
        if value is None:
            raise self.refused("a division by a constant that is 0 or may be, or of integers")
        return self.constant(value) if known(value) else value

    def constant(self, value: Value) -> Value:
        """Return a constant, if it is neither infinite nor too far from the texture in a coordinate."""
        most = GLSL_LIMITS["coordinate"] if self.coordinate else MAX_NUMBER
        if max(-value[1], value[2]) > most:
            raise self.refused("a constant is infinite, or too large for a coordinate")
        return value

    def unary(self) -> Value:
        """Parse an operand with its sign and its components."""
        if self.tokens[self.at] == "-":
            self.next()
            self.cost(1, 1)
            if self.tokens[self.at] == "-":
                raise self.refused("two signs in a row")
            whole, least, most, marks = self.unary()
            return whole, -most, -least, marks
        value = self.primary()
        if self.tokens[self.at] == ".":
            self.component()
        return value

    def component(self) -> None:
        """Go behind a point and the components that it picks."""
        self.expect(".")
        if not _SWIZZLE.fullmatch(self.next()):
            raise self.refused("a component is expected")

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

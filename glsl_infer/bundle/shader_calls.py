"""Calls of functions and uses of macros in the GLSL that bundles hold: what they may be worth, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from glsl_infer.bundle.format_constants import (
    GLSL_CURVES,
    GLSL_FUNCTIONS,
    GLSL_LIMITS,
    GLSL_SLOW,
    GLSL_SLOWEST,
    GLSL_WILD,
    MAX_NUMBER,
)
from glsl_infer.bundle.shader_cursor import END, KINDS
from glsl_infer.bundle.shader_expressions import Expressions
from glsl_infer.bundle.shader_values import ANY, NAN, WILD, Value, hull, known

_VECTORS = frozenset(("vec2", "vec3", "vec4"))
_NUMBERS = re.compile(r"\( (?:- )?\d[^ ]*(?: , (?:- )?\d[^ ]*){0,15}")
_MOST_NUMBERS = 48
_COSTS = {**dict.fromkeys(GLSL_SLOW, GLSL_LIMITS["slow"]), **dict.fromkeys(GLSL_SLOWEST, GLSL_LIMITS["slowest"])}


class Calls(Expressions):
    """Expressions with calls of functions, fetches and macros."""

    def call(self, names: list[str]) -> Value:
        """Parse the arguments of a function; ``names`` are all that a macro may stand for."""
        if len(names) == 1 and names[0] in _VECTORS and (alone := self.numbers()):
            self.cost(1, 1)
            return False, *alone, 0
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
            self.cost(_COSTS.get(name, 1), 1)
            if name in self.functions:
                function = self.functions[name]
                self.cost(function.written, function.executed)
                self.loops += [replace(loop, depth=loop.depth + self.turning) for loop in function.loops]
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

    def numbers(self) -> tuple[float, float] | None:
        """Go behind arguments that are numbers alone, as weights are, and return their ends; it saves most of the work.

        Others are for ``expression``, and so are numbers that it may refuse.
        """
        if self.deep >= GLSL_LIMITS["brackets"] or ")" not in self.tokens[self.at : self.at + _MOST_NUMBERS]:
            return None
        end = self.tokens.index(")", self.at)
        text = " ".join(self.tokens[self.at : end])
        if not _NUMBERS.fullmatch(text) or self.used + len(text) > GLSL_LIMITS["expanded"]:
            return None
        values = [float(number) for number in text[2:].replace("- ", "-").split(" , ")]
        least, most = min(values), max(values)
        if max(-least, most) > (GLSL_LIMITS["coordinate"] if self.coordinate else MAX_NUMBER):
            return None
        signs = text.count("- ")
        self.cost(signs, signs)
        self.used += end + 1 - self.at
        self.at = end + 1
        return least, most

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

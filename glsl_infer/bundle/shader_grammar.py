"""The GLSL that bundles hold: a subset that a reader understands, so that no driver meets anything else.

docs/bundle-format.md (The GLSL of bundles) has the rules, ``format.json`` its words and limits. Every token is looked
at once, and once more for each use of a macro; ``GLSL_LIMITS`` bounds all of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from glsl_infer.bundle.format_constants import GLSL_CURVES, GLSL_FUNCTIONS, GLSL_LIMITS, GLSL_STATEMENTS
from glsl_infer.bundle.shader_expressions import (
    ANY,
    END,
    INTEGER,
    KINDS,
    SWIZZLE,
    UNIFORM,
    WILD,
    Expressions,
    Function,
    hull,
    known,
)
from glsl_infer.bundle.shader_lines import read


@dataclass
class Shader:
    """What a shader declares and costs.

    Attributes:
        uniforms: kind (``sampler2D``, ``float``, ``vec2`` ...) by name.
        written: operations as a compiler sees them: with functions in their places, of a loop those of one turn.
        executed: operations of one fragment, loops with all their turns.
    """

    uniforms: dict[str, str] = field(default_factory=dict)
    written: int = 0
    executed: int = 0


def parse(member: str, text: str) -> Shader:
    """Check a fragment shader, without the prelude.

    Raises:
        BundleError: it is not of the format's GLSL; the message names the member and the line.
    """
    return _Parser(read(member, text)).shader()


class _Parser(Expressions):
    def shader(self) -> Shader:
        made = Shader()
        while not self.take(END):
            if self.directive():
                continue
            word = self.next()
            if word in ("varying", "uniform"):
                kind, name = self.next(), self.name()
                size = self.size() if word == "uniform" and kind == "vec4" and self.take("[") else 0
                if kind not in KINDS - {"int"} or (word == "varying" and not re.fullmatch(r"coord[0-6]", name)):
                    raise self.refused(f"the {word} '{name}' is not of this format")
                self.expect(";")
                self.declare(
                    name, "sampler2D" if kind == "sampler2D" else word, UNIFORM if word == "uniform" else ANY, size
                )
                if word == "uniform":
                    made.uniforms[name] = kind
            elif word == "const":
                self.declaration(self.next(), constant=True)
            elif self.tokens[self.at + 1 : self.at + 2] == ["("]:
                self.function(word)
            else:
                self.declaration(word, constant=False)
        if not self.main:
            raise self.refused("the shader has no main")
        made.written, made.executed = self.functions["main"].written, self.functions["main"].executed
        return made

    def size(self) -> int:
        _, least, most, _ = self.expression()
        self.expect("]")
        if not 1 <= least <= most <= GLSL_LIMITS["array"]:
            raise self.refused(f"an array has a constant size of 1 to {GLSL_LIMITS['array']}")
        return int(least)

    def function(self, kind: str) -> None:
        name = self.name()
        self.expect("(")
        self.scopes.append({})
        while not self.take(")"):
            given = self.next()
            if given not in KINDS:
                raise self.refused(f"a parameter of '{name}' has the type '{given}'")
            value = INTEGER if given == "int" else ANY
            self.declare(self.name(), "sampler2D" if given == "sampler2D" else "parameter", value)
            if self.tokens[self.at] != ")":
                self.expect(",")
        main = name == "main" and kind == "void"
        builtin = name in GLSL_FUNCTIONS or name in GLSL_CURVES or name == "texture2D" or name in self.macros
        if self.main or builtin or kind not in (*KINDS, "void") or kind == "sampler2D" or (name == "main") != main:
            raise self.refused(f"the function '{name}' is not of this format, or stands behind main")
        for variable in self.scopes[0].values():
            if variable.kind == "global":
                variable.value = None if main else ANY
        self.main = main
        self.written = self.executed = self.wild = 0
        self.fetches = False
        self.block()
        self.scopes.pop()
        before = self.functions.get(name, Function())
        self.functions[name] = Function(
            max(before.written, self.written),
            max(before.executed, self.executed),
            before.fetches or self.fetches,
            before.wild | self.wild,
        )

    def directive(self) -> bool:
        token = self.tokens[self.at]
        if token[:1] != "#":
            return False
        self.next()
        if token == "#if":
            self.branches.append((self.depth, [], []))
        elif token in ("#else", "#endif"):
            depth, now, before = self.branches.pop()
            if depth != self.depth:
                raise self.refused("a condition ends in another block than it begins")
            for variable in now:
                if token == "#else" or variable not in before:
                    variable.value = None
                elif self.branches:
                    self.branches[-1][1].append(variable)
            if token == "#else":
                self.branches.append((depth, [], now))
        else:
            macro = self.lines.macros[int(token[1:])]
            if isinstance(macro, str):
                self.macros.pop(macro, None)
            elif self.find(macro.name) or macro.name in self.functions:
                raise self.refused(f"macro '{macro.name}' has the name of a variable or function")
            else:
                self.macros[macro.name] = [*([] if macro.certain else self.macros.get(macro.name, [])), macro]
        return True

    def block(self) -> None:
        """Parse statements up to a closing bracket, with names of their own."""
        self.expect("{")
        self.depth += 1
        if self.depth > GLSL_LIMITS["blocks"]:
            raise self.refused("blocks are too deep in each other")
        self.scopes.append({})
        open_branches = len(self.branches)
        while not self.take("}"):
            if not self.directive():
                self.statement()
        if len(self.branches) != open_branches:
            raise self.refused("a condition ends in another block than it begins")
        self.scopes.pop()
        self.depth -= 1

    def statement(self) -> None:
        self.operators = 0
        token = self.tokens[self.at]
        after = self.tokens[self.at + 1 : self.at + 2]
        if token in KINDS and after != ["("]:
            self.declaration(self.next(), constant=False)
        elif token == "const":
            self.next()
            self.declaration(self.next(), constant=True)
        elif token == "for":
            self.loop()
        elif token == "if":
            self.next()
            self.expect("(")
            self.expression()
            self.expect(")")
            self.conditional += 1
            if self.tokens[self.at] in ("if", "for", "{", "const") or self.tokens[self.at] in KINDS:
                raise self.refused("an assignment or 'break' is expected behind 'if'")
            self.statement()
            self.conditional -= 1
        elif token == "break":
            self.next()
            self.expect(";")
        elif token == "return":
            self.next()
            self.wild |= self.expression()[3] & WILD
            self.expect(";")
        elif token in GLSL_STATEMENTS and token in self.macros:
            self.macro(self.next(), self.statement)
        elif after == ["("]:
            if token not in self.functions:
                raise self.refused(f"'{token}' is no function of the shader")
            self.expression()
            self.expect(";")
        else:
            self.assignment()

    def declaration(self, kind: str, *, constant: bool) -> None:
        if kind not in KINDS - {"sampler2D", "int"}:
            raise self.refused(f"'{kind[:20]}' is not of this format")
        local = len(self.scopes) > 1
        while True:
            self.operators = 0
            name = self.name()
            value = None
            if (local or constant) and self.take("="):
                value = self.expression()
            if constant and (value is None or not known(value)):
                raise self.refused(f"'{name}' is no constant")
            self.declare(name, "const" if constant else "local" if local else "global", value)
            if self.take(";"):
                return
            self.expect(",")

    def assignment(self) -> None:
        name = self.next() if self.tokens[self.at] == "gl_FragColor" else self.name()
        if name in self.macros:
            raise self.refused(f"a macro, '{name}', is no variable")
        variable = self.find(name)
        if variable is None or (variable.kind not in ("local", "global", "parameter") and name != "gl_FragColor"):
            raise self.refused(f"'{name}' is no variable that can be assigned to")
        part = self.take(".")
        if part and not SWIZZLE.fullmatch(self.next()):
            raise self.refused("a component is expected")
        sign = self.next()
        if sign not in ("=", "+=", "-=", "*=", "/="):
            raise self.refused(f"an assignment is expected, not '{sign}'")
        if variable.value is None and (part or sign != "="):
            raise self.refused(f"'{name}' is used before it has a value")
        value = self.expression()
        if sign != "=":
            value = self.combine(sign[0], variable.value or ANY, value)
        self.expect(";")
        if variable.value is None:
            if self.conditional:
                return
            if self.branches:
                self.branches[-1][1].append(variable)
            variable.value = value
        elif part or self.conditional or self.branches:
            variable.value = hull(variable.value, value)
        else:
            variable.value = value

    def loop(self) -> None:
        self.expect("for", "(", "int")
        turn = self.name()
        self.expect("=", "0", ";", turn, "<")
        bound = self.at
        whole, least, most, _ = self.expression()
        self.expect(";")
        if not (self.take("++") and self.take(turn)):
            self.expect(turn, "++")
        self.expect(")")
        if not whole or not most <= GLSL_LIMITS["turns"]:
            raise self.refused(f"a loop has a constant number of turns, at most {GLSL_LIMITS['turns']}")
        count = self.tokens[bound + 2]
        header = " ".join(self.tokens[bound : bound + 4] + self.tokens[self.at : self.at + 7])
        if header == f"TURNS ( {count} ) {{ END_AFTER ( {count} , {turn} )":
            most = least  # of what TURNS may be: it ends there
        self.scopes.append({})
        self.declare(turn, "turn", INTEGER)
        executed = self.executed
        self.block()
        self.scopes.pop()
        self.cost(0, int(max(most, 1) - 1) * (self.executed - executed))

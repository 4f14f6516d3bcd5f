"""Statements of the GLSL that bundles hold: which are understood, and what they assign and cost."""

from __future__ import annotations

from glsl_infer.bundle.format_constants import GLSL_LIMITS, GLSL_STATEMENTS
from glsl_infer.bundle.shader_calls import Calls
from glsl_infer.bundle.shader_cursor import KINDS
from glsl_infer.bundle.shader_values import ANY, INTEGER, WILD, Loop, hull, known


class Statements(Calls):
    """Directives, blocks and statements; functions are for the grammar."""

    def directive(self) -> bool:
        """Read a condition or a definition, if one is next; return whether it was."""
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
        """Parse one statement."""
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
            self.cost(GLSL_LIMITS["choice"], 1)
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
        """Parse the names that a type declares."""
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
        """Parse an assignment to a variable."""
        name = self.next() if self.tokens[self.at] == "gl_FragColor" else self.name()
        if name in self.macros:
            raise self.refused(f"a macro, '{name}', is no variable")
        variable = self.find(name)
        if variable is None or (variable.kind not in ("local", "global", "parameter") and name != "gl_FragColor"):
            raise self.refused(f"'{name}' is no variable that can be assigned to")
        part = self.tokens[self.at] == "."
        if part:
            self.component()
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
        """Parse a loop of a constant number of turns."""
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
        executed, place, turns = self.executed, len(self.loops), int(max(most, 1))
        self.turning += 1
        self.block()
        self.scopes.pop()
        once = self.executed - executed
        self.cost(GLSL_LIMITS["loop"], (turns - 1) * once)
        self.loops.insert(place, Loop(self.turning, turns, turns * once))
        self.turning -= 1

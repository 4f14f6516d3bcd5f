"""A reader's place in the tokens of a shader: what comes next, which names there are, and what was counted so far."""

from __future__ import annotations

import re

from glsl_infer.bundle.format_constants import GLSL_LIMITS, GLSL_TYPES
from glsl_infer.bundle.shader_lines import Lines, Macro
from glsl_infer.bundle.shader_values import Function, Loop, Value, Variable, hull
from glsl_infer.errors import BundleError

KINDS = frozenset(GLSL_TYPES)
END = ""
_MOST_TOKENS = GLSL_LIMITS["expanded"]
_NAME = re.compile(r"(?!gl_|webgl_|_webgl_)(?!\w*__)[A-Za-z_]\w*", re.ASCII)
_WORDS = KINDS | {"for", "if", "return", "void", "const"}


class Cursor:
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
        self.loops: list[Loop] = []  # of the function, in order
        self.turning = 0  # loops around the place
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
        if self.used > _MOST_TOKENS:
            raise self._too_many()
        return token

    def _too_many(self) -> BundleError:
        return self.refused(f"the shader has more than {_MOST_TOKENS} tokens with its macros")

    def take(self, token: str) -> bool:
        """Return whether the next token is this one, and go behind it then."""
        if self.tokens[self.at] != token:
            return False
        self.at += 1
        self.used += 1
        if self.used > _MOST_TOKENS:
            raise self._too_many()
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
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def nested(self, step: int) -> None:
        """Count brackets in each other."""
        self.deep += step
        if self.deep > GLSL_LIMITS["brackets"]:
            raise self.refused(f"brackets are more than {GLSL_LIMITS['brackets']} deep in each other")

"""The GLSL that bundles hold: a subset that a reader understands, so that no driver meets anything else.

bundle-format.md (The GLSL of bundles) has the rules, ``format.json`` its words and limits. Every token is looked
at once, and once more for each use of a macro; ``GLSL_LIMITS`` bounds all of it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

from glsl_infer.bundle.format_constants import GLSL_CURVES, GLSL_FUNCTIONS, GLSL_LIMITS
from glsl_infer.bundle.shader_cursor import END, KINDS
from glsl_infer.bundle.shader_lines import read
from glsl_infer.bundle.shader_statements import Statements
from glsl_infer.bundle.shader_values import ANY, INTEGER, UNIFORM, Function, Loop


@dataclass
class Shader:
    """What a shader declares and costs.

    Attributes:
        uniforms: kind (``sampler2D``, ``float``, ``vec2`` ...) by name.
        written: operations as a compiler sees them: with functions in their places, of a loop those of one turn.
        executed: operations of one fragment, loops with all their turns.
        loops: of ``main`` and the functions that it calls, in order; of a condition that a device decides, both sides'.
    """

    uniforms: dict[str, str] = field(default_factory=dict)
    written: int = 0
    executed: int = 0
    loops: tuple[Loop, ...] = ()


_MOST_KNOWN = 4096
_known: dict[bytes, Shader] = {}
"""What texts declare and cost that were right, by their hash: an export looks at each when it is made and when read."""


def parse(member: str, text: str) -> Shader:
    """Check a fragment shader, without the prelude.

    Raises:
        BundleError: it is not of the format's GLSL; the message names the member and the line.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    if digest not in _known:
        made = _Parser(read(member, text)).shader()
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[digest] = made
    return _known[digest]


class _Parser(Statements):
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
        main = self.functions["main"]
        made.written, made.executed, made.loops = main.written, main.executed, main.loops
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
        self.loops = []
        self.block()
        self.scopes.pop()
        before = self.functions.get(name, Function())
        self.functions[name] = Function(
            max(before.written, self.written),
            max(before.executed, self.executed),
            before.fetches or self.fetches,
            before.wild | self.wild,
            (*before.loops, *self.loops),
        )

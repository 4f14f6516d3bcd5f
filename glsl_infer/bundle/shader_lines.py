"""The lines of a fragment shader: comments go, conditions are decided where they can be, the rest becomes tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from glsl_infer.bundle.format_constants import (
    GLSL_DEVICE,
    GLSL_LIMITS,
    GLSL_LINES,
    GLSL_MACRO_PATTERN,
    GLSL_STATEMENTS,
    GLSL_TOKEN_PATTERN,
)
from glsl_infer.errors import BundleError

_TOKEN = re.compile(GLSL_TOKEN_PATTERN)
_MACRO = re.compile(GLSL_MACRO_PATTERN)
_CONDITION = re.compile(r"!?defined\(\w+\)(?: && !?defined\(\w+\))*", re.ASCII)
_TERM = re.compile(r"(!?)defined\((\w+)\)", re.ASCII)
_DEFINE = re.compile(r"(\w+)(?:\((\w+(?:, \w+)*)\))?(?: (.*))?", re.ASCII)
_OPERATORS = frozenset(("+", "*", "/", "-", "?", "<", "==", ">", "&&", "||", "!=", "<=", ">="))
_BESIDE = frozenset(("*", "/", "-", "["))


@dataclass(frozen=True)
class Macro:
    """One definition. ``params`` is None without brackets; ``loose``: an operator stands outside of brackets."""

    name: str
    params: tuple[str, ...] | None
    body: list[str]
    certain: bool
    loose: bool


@dataclass
class Lines:
    """The tokens of a shader, the line of each (from 1), and the definitions that tokens ``#0``, ``#1`` ... stand for.

    ``#if``, ``#else`` and ``#endif`` are left where a device decides.
    """

    member: str
    tokens: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    macros: list[Macro | str] = field(default_factory=list)

    def refuse(self, number: int, what: str) -> BundleError:
        """Return the refusal of a line."""
        return BundleError(f"shader '{self.member}' line {number}: {what}; export the model again")


def read(member: str, text: str) -> Lines:
    """Return the tokens of a shader.

    Raises:
        BundleError: a line is not of the format's GLSL; it names the member and the line.
    """
    made = Lines(member)
    known: dict[str, bool | None] = dict.fromkeys(GLSL_DEVICE)  # whether a macro is defined; None: perhaps
    branches: list[bool | None] = []
    if not text.endswith("\n"):
        raise made.refuse(text.count("\n") + 1, "it does not end with a line feed")
    for number, whole in enumerate(text[:-1].split("\n"), 1):
        if re.search(r"[^ -~]|\\|/\*", whole):
            raise made.refuse(number, "a character that is not allowed, or a comment with /*")
        line = whole.split("//", 1)[0].rstrip(" ")
        if line.startswith("#"):
            _directive(made, number, line[1:], known, branches)
        elif line and False not in branches:
            tokens = tokens_of(made, number, line)
            made.tokens += tokens
            made.numbers += [number] * len(tokens)
            if len(made.tokens) > GLSL_LIMITS["tokens"]:
                raise made.refuse(number, f"the shader has more than {GLSL_LIMITS['tokens']} tokens")
    if branches:
        raise made.refuse(text.count("\n"), "a condition without #endif")
    return made


def tokens_of(made: Lines, number: int, line: str) -> list[str]:
    """Return the tokens of a line without its spaces."""
    tokens: list[str] = _TOKEN.findall(line)  # what fits no token is left out
    if "".join(tokens) == line and max(map(len, tokens), default=0) <= GLSL_LIMITS["name"]:
        return [token for token in tokens if token[0] != " "]
    at = 0
    while True:
        found = _TOKEN.match(line, at)
        if found is None or found.end() - at > GLSL_LIMITS["name"]:
            raise made.refuse(number, f"'{line[at : at + 12]}' is no GLSL of this format")
        at = found.end()


def _directive(made: Lines, number: int, line: str, known: dict[str, bool | None], branches: list[bool | None]) -> None:
    word, _, rest = line.partition(" ")
    live = False not in branches
    if word in ("ifdef", "ifndef", "if"):
        if word != "if":
            rest = f"{'!' if word == 'ifndef' else ''}defined({rest})"
        terms = _TERM.findall(rest)
        named = all(_MACRO.fullmatch(name) for _, name in terms)
        if not _CONDITION.fullmatch(rest) or not named or len(branches) >= GLSL_LIMITS["conditions"]:
            raise made.refuse(number, "a condition that is not of this format, or too deep")
        states = [_not(known.get(name, False), sign == "!") for sign, name in terms]
        state = False if False in states else None if None in states else True
        branches.append(state)
    elif word in ("else", "endif") and not rest:
        if not branches:
            raise made.refuse(number, f"#{word} without a condition")
        state = branches.pop()
        live = False not in branches
        if word == "else":
            branches.append(_not(state, True))
    elif word in ("define", "undef"):
        if live:
            _definition(made, number, word, rest, known, None not in branches)
        return
    else:
        raise made.refuse(number, f"#{word[:12]} is not used in this format")
    if live and state is None:
        made.tokens.append("#if" if word[0] == "i" else f"#{word}")
        made.numbers.append(number)


def _not(state: bool | None, inverse: bool) -> bool | None:
    return state if state is None else state != inverse


def _definition(made: Lines, number: int, word: str, rest: str, known: dict[str, bool | None], certain: bool) -> None:
    found = _DEFINE.fullmatch(rest)
    exempt = rest in GLSL_LINES
    reserved = word == "define" and found is not None and found[1] in GLSL_STATEMENTS
    if found is None or not (exempt or _MACRO.fullmatch(found[1])) or (reserved and not exempt):
        raise made.refuse(number, "a macro that is not of this format")
    name, params, text = found[1], tuple(found[2].split(", ")) if found[2] else None, found[3] or ""
    known[name] = (word == "define") if certain else None
    made.tokens.append(f"#{len(made.macros)}")
    made.numbers.append(number)
    if word == "undef":
        made.macros.append(name if certain else "")
        return
    body = tokens_of(made, number, text)
    if len(body) > GLSL_LIMITS["macro"] or len(params or ()) > 4:
        raise made.refuse(number, f"macro '{name}' is longer than any of this format")
    depth, loose = 0, False
    unequal = made.refuse(number, f"macro '{name}' has unequal brackets, or an operator beside a parameter")
    for at, token in enumerate(body):
        depth += (token in "([") - (token in ")]")
        loose = loose or (depth == 0 and at > 0 and token in _OPERATORS)
        before, after = body[at - 1] if at else "", body[at + 1] if at + 1 < len(body) else ""
        beside = before == "." or before in _BESIDE or after in _BESIDE
        if depth < 0 or (not exempt and token in (params or ()) and beside):
            raise unequal
    if depth:
        raise unequal
    made.macros.append(Macro(name, params, body, certain, loose))

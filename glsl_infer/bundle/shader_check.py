"""The GLSL of bundles: a subset, which the reader understands completely. Drivers compile nothing else.

``docs/reference/bundle-format.md`` (The GLSL of bundles) has the rules, ``format.json`` its words and limits. The
checker is an abstract interpreter. The abstract value of an expression is an interval that contains its results in
32-bit floats. Intervals are followed through assignments, both sides of conditions, loops (to a fixed point) and calls
(once for each set of arguments). Macros are expanded as the preprocessor expands them.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import NamedTuple

from glsl_infer.bundle.format_constants import (
    GLSL_CAN_BE_NAN,
    GLSL_DEFINES,
    GLSL_DEVICE,
    GLSL_FUNCTIONS,
    GLSL_LIMITS,
    GLSL_MACRO_PATTERN,
    GLSL_SLOW,
    GLSL_SLOWEST,
    GLSL_STATEMENTS,
    GLSL_TOKEN_PATTERN,
    GLSL_TRANSCENDENTAL,
    GLSL_TYPES,
    MAX_FLOAT,
)
from glsl_infer.errors import BundleError

_TOKEN = re.compile(GLSL_TOKEN_PATTERN)
_TOKEN_WITHOUT_SPACES = re.compile(GLSL_TOKEN_PATTERN.removeprefix(" +|"))
_LONGEST_TOKEN = GLSL_LIMITS["name"]
_TOO_LONG = " " * (_LONGEST_TOKEN + 1)
_MACRO = re.compile(GLSL_MACRO_PATTERN)
_CONDITION = re.compile(r"!?defined\(\w+\)(?: && !?defined\(\w+\))*", re.ASCII)
_TERM = re.compile(r"(!?)defined\((\w+)\)", re.ASCII)
_DEFINE = re.compile(r"(\w+)(?:\((\w+(?:, \w+)*)\))?(?: (.*))?", re.ASCII)
_NAME = re.compile(r"(?!gl_|webgl_|_webgl_)(?!\w*__)[A-Za-z_]\w*", re.ASCII)
_SWIZZLES = frozenset(
    "".join(parts) for names in ("xyzw", "rgba") for size in range(1, 5) for parts in product(names, repeat=size)
)
_END = ""
_VECTORS = frozenset(("vec2", "vec3", "vec4"))
_LONGEST_VECTOR = 24  # tokens of a constructor of numbers, which is read at once
_WORDS = frozenset((*GLSL_TYPES, "for", "if", "return", "void", "const", "break"))
_LEVELS = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6}
_TIGHTEST = max(_LEVELS.values())
_COSTS = {**dict.fromkeys(GLSL_SLOW, GLSL_LIMITS["slow"]), **dict.fromkeys(GLSL_SLOWEST, GLSL_LIMITS["slowest"])}
_EXACT = frozenset(line.split(" ")[1] for line in GLSL_DEFINES if "(" not in line)
_ARGUMENTS = {"clamp": 3, "mix": 3} | dict.fromkeys(("dot", "lessThan", "max", "min", "pow", "step"), 2)
_BEFORE, _AFTER = frozenset(("=", "(", ",", "<", "return")), frozenset((";", ")", ",", _END))

INT, FLOAT, BOOL, SAMPLER = 0, 1, 5, 6
_TYPES = {"int": INT, "float": FLOAT, "vec2": 2, "vec3": 3, "vec4": 4, "sampler2D": SAMPLER}
_NO_ASSIGNMENT = frozenset((*_TYPES, "const", "for", "if", "break", "return", *GLSL_STATEMENTS))
"""First words of statements that are not assignments."""
WILD, CONST, GROWN = 1, 2, 4
_INF = math.inf
_EPSILON = 2.0**-22
"""More than four roundings of 32-bit floats, as drivers divide by multiplying, and add in another order."""
_TINY = 1e-30
_MOST_WRITTEN, _MOST_EXECUTED = GLSL_LIMITS["written"], GLSL_LIMITS["executed"]
_MOST_ITERATIONS = GLSL_LIMITS["iterations"]
_MOST_OPERATORS, _MOST_BRACKETS = GLSL_LIMITS["operators"], GLSL_LIMITS["brackets"]
_SMALL, _MOST_GROWN = 1e24, 1e34
"""A sum of at most 10**10 numbers of up to ``_SMALL`` is at most ``_MOST_GROWN``: shaders compute less."""
_LARGEST_INT = 1 << 30
_MAX_PRODUCT = 1e36
"""Products of factors beyond it can be infinite in another order, and sums of such products."""


class Value(NamedTuple):
    """An abstract value.

    Attributes:
        type: INT, BOOL, SAMPLER, or the number of components.
        least: the smallest possible value of a component; infinite if it can overflow.
        most: the largest.
        marks: WILD if it can be NaN, CONST if compilers know it, GROWN if it is a sum of small numbers, of any length.
        uniform: the name of its uniform, or "".
        reach: the largest product of factors within it in any order, because drivers multiply constants first, and the
            inverse of the smallest.
    """

    type: int
    least: float
    most: float
    marks: int = 0
    uniform: str = ""
    reach: float = 1.0


_new: Callable[..., Value] = tuple.__new__
"""Makes a ``Value`` of a tuple of all fields, in half the time of ``Value()``."""


class Variable(NamedTuple):
    """A variable; ``value`` is None before it is assigned, ``size`` the elements of an array or 0."""

    kind: str
    type: int
    value: Value | None
    size: int = 0


class Macro(NamedTuple):
    """A definition; ``params`` is None without brackets; ``certain`` if it is made on every device."""

    name: str
    params: tuple[str, ...] | None
    body: list[str]
    certain: bool


class Function(NamedTuple):
    """A function: where its body begins, its parameters, and the macros and functions defined before."""

    kind: str
    at: int
    params: list[tuple[str, int]]
    macros: dict[str, list[Macro]]
    functions: dict[str, list[Function]]


@dataclass(frozen=True)
class Loop:
    """A loop of the source.

    Attributes:
        depth: 1 for a loop outside of other loops, 2 for a loop in it, and so on.
        turns: number of iterations.
        executed: operations of all iterations.
    """

    depth: int
    turns: int
    executed: int


@dataclass
class Shader:
    """Declarations and costs of a shader.

    Attributes:
        uniforms: kind (``sampler2D``, ``float``, ``vec2`` ...) by name.
        sizes: numbers of each uniform; 0 of a sampler.
        divisors: uniforms by which the shader divides: no component can be 0.
        needs_coordinates_inside: loops end after their counted turns only if ``coord0.x`` is at most 2.
        read: tokens, including repeated ones.
        written: operations as a compiler sees them: functions in their places, of a loop those of one turn.
        executed: operations of one fragment, with all turns of loops.
        loops: of ``main`` and the functions that it calls, in order; of a condition that a device decides, both sides'.
    """

    uniforms: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    divisors: set[str] = field(default_factory=set)
    needs_coordinates_inside: bool = False
    read: int = field(default=0, compare=False)
    written: int = 0
    executed: int = 0
    loops: tuple[Loop, ...] = ()


_MOST_KNOWN = 4096
_known: dict[bytes, Shader] = {}
"""Accepted texts by hash: an export checks each when it is made and when it is read."""


def parse(member: str, text: str) -> Shader:
    """Check a fragment shader, without the prelude.

    Raises:
        BundleError: it is not of the format's GLSL; the message names the member and the line.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    if digest not in _known:
        shader = _Checker(_Lines(member, text)).shader()
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[digest] = shader
    return _known[digest]


class _Lines:
    """The tokens of a shader without comments, and the line of each.

    Conditions that no device decides are decided; ``#if``, ``#else`` and ``#endif`` are left of the others. ``#0``,
    ``#1`` ... stand for ``macros``: a definition, or the name of one that ends. ``reserved`` are the names of all
    macros, which are not names of anything else.
    """

    def __init__(self, member: str, text: str) -> None:
        self.member = member
        self.tokens: list[str] = []
        self.numbers: list[int] = []
        self.macros: list[Macro | str] = []
        self.reserved = set(GLSL_DEVICE)
        self._known: dict[str, bool | None] = dict.fromkeys(GLSL_DEVICE)  # None: the device decides
        self._branches: list[bool | None] = []
        self._number = self._conditions = 0
        self._line_tokens: dict[str, list[str]] = {}  # many lines occur again
        self._next_line = ""  # the line that has to follow, because a loop's bound and its end belong together
        if not text.endswith("\n"):
            raise self.refuse(text.count("\n") + 1, "it does not end with a line feed")
        foreign = re.search(r"[^ -~\n]|\\|/\*", text)
        last = text.count("\n", 0, foreign.start()) + 1 if foreign else -1
        for self._number, whole in enumerate(text[:-1].split("\n"), 1):
            if self._number == last:
                raise self.refuse(last, "a character that is not allowed, or /*")
            line = whole.split("//", 1)[0].rstrip(" ")
            if self._next_line and line != self._next_line:
                raise self._refused(f"'{self._next_line}' is expected")
            if line.startswith("#"):
                self._directive(line[1:])
            elif line and False not in self._branches:
                tokens = self._line_tokens.get(line)
                if tokens is None:
                    tokens = self._line_tokens[line] = self._tokens_of(line)
                self.tokens += tokens
                self.numbers += [self._number] * len(tokens)
                if len(self.tokens) > GLSL_LIMITS["tokens"]:
                    raise self._refused(f"the shader has more than {GLSL_LIMITS['tokens']} tokens")
        if self._branches:
            raise self._refused("a condition without #endif")

    def refuse(self, number: int, problem: str) -> BundleError:
        """Return the refusal of a line."""
        return BundleError(f"shader '{self.member}' line {number}: {problem}; export the model again")

    def decimals(self) -> list[tuple[str, float]]:
        """Return the numbers with a decimal point, and their values."""
        texts = [token for token in set(self.tokens) if token[0] in "0123456789" and ("." in token or "e" in token)]
        return [(token, float(token)) for token in texts if float(token) <= MAX_FLOAT]

    def _refused(self, problem: str) -> BundleError:
        return self.refuse(self._number, problem)

    def _tokens_of(self, line: str) -> list[str]:
        """Return the tokens of a line without its spaces."""
        tokens: list[str] = _TOKEN_WITHOUT_SPACES.findall(line)  # without all other characters
        if "".join(tokens) == line.replace(" ", "") and (
            len(line) <= _LONGEST_TOKEN
            or (max(map(len, tokens), default=0) <= _LONGEST_TOKEN and _TOO_LONG not in line)
        ):
            return tokens
        at = 0
        while True:
            match = _TOKEN.match(line, at)
            if match is None or match.end() - at > _LONGEST_TOKEN:
                raise self._refused(f"'{line[at : at + 12]}' is no GLSL of this format")
            at = match.end()

    def _directive(self, line: str) -> None:
        """Read a line that begins with #; decide its condition if no device decides it.

        Raises:
            BundleError: it is not a directive of the format.
        """
        word, _, remainder = line.partition(" ")
        branches = self._branches
        live = False not in branches
        if word in ("ifdef", "ifndef", "if"):
            if word != "if":
                remainder = f"{'!' if word == 'ifndef' else ''}defined({remainder})"
            terms = _TERM.findall(remainder)
            named = all(_MACRO.fullmatch(name) for _, name in terms)
            if not _CONDITION.fullmatch(remainder) or not named or len(branches) >= GLSL_LIMITS["conditions"]:
                raise self._refused("a condition of another form, or too deep")
            states = [_not(self._known.get(name, False), sign == "!") for sign, name in terms]
            state = False if False in states else None if None in states else True
            branches.append(state)
        elif word in ("else", "endif") and not remainder:
            if not branches:
                raise self._refused(f"#{word} without a condition")
            state = branches.pop()
            live = False not in branches
            if word == "else":
                branches.append(_not(state, True))
        elif word in ("define", "undef"):
            if live:
                self._definition(word, remainder)
            return
        else:
            raise self._refused(f"#{word[:12]} is not used in this format")
        if live and state is None:
            self._conditions += word[0] == "i"
            if self._conditions > GLSL_LIMITS["names"]:
                raise self._refused(f"the shader has more than {GLSL_LIMITS['names']} conditions of devices")
            self.tokens.append("#if" if word[0] == "i" else f"#{word}")
            self.numbers.append(self._number)

    def _definition(self, word: str, remainder: str) -> None:
        """Read a definition of a macro, or its end; ``word`` is define or undef."""
        definition = _DEFINE.fullmatch(remainder)
        certain = None not in self._branches
        statement = definition is not None and definition[1] in GLSL_STATEMENTS
        follows = f"#define {remainder}" == self._next_line
        exempt = (
            word == "define" and remainder in GLSL_DEFINES and (follows or not remainder.startswith(GLSL_STATEMENTS[1]))
        )
        if definition is None or not (exempt or (_MACRO.fullmatch(definition[1]) and not statement)):
            raise self._refused("a macro that is not of this format")
        self._next_line = ""
        if definition[1] == GLSL_STATEMENTS[0]:
            self._next_line = f"#define {GLSL_DEFINES[GLSL_DEFINES.index(remainder) + 1]}"
        name, params = definition[1], tuple(definition[2].split(", ")) if definition[2] else None
        self._known[name] = (word == "define") if certain else None
        self.reserved.add(name)
        if len(self.macros) >= GLSL_LIMITS["names"]:
            raise self._refused(f"the shader has more than {GLSL_LIMITS['names']} definitions of macros")
        self.tokens.append(f"#{len(self.macros)}")
        self.numbers.append(self._number)
        if word == "undef":
            self.macros.append(name if certain else "")
            return
        body = self._tokens_of(definition[3] or "")
        if len(body) > GLSL_LIMITS["macro"] or len(params or ()) > 4:
            raise self._refused(f"macro '{name}' is longer than any of this format")
        self.macros.append(Macro(name, params, body, certain))


def _not(state: bool | None, inverse: bool) -> bool | None:
    return state if state is None else state != inverse


_Scopes = list[dict[str, Variable]]


def _hull(first: Value, other: Value) -> Value:
    """Return a value that holds both."""
    marks = ((first.marks | other.marks) & WILD) | (first.marks & other.marks & CONST)
    least, most = min(first.least, other.least), max(first.most, other.most)
    if (first.marks | other.marks) & GROWN and all(value.marks & GROWN or _is_small(value) for value in (first, other)):
        marks |= GROWN
    return Value(first.type, least, most, marks, "", max(first.reach, other.reach))


def _is_small(value: Value) -> bool:
    return value.least >= -_SMALL and value.most <= _SMALL


def _may_be_zero(value: Value) -> bool:
    return value.least <= _TINY and value.most >= -_TINY


def _is_infinite(value: Value) -> bool:
    return value.least == -_INF or value.most == _INF


def _reach(value: Value) -> float:
    """Return the largest product of factors, and the inverse of the smallest that is not 0 anyway."""
    _, least, most, _, _, reach = value
    if least > 0.0:
        return max(reach, most, 1.0 / least)
    return max(reach, -least, -1.0 / most if most < 0.0 else most)


def _rounded(kind: int, least: float, most: float, marks: int, reach: float = 1.0) -> Value:
    """Return a value with its ends rounded outward, and to 0 where GPUs flush small numbers to 0."""
    if least > -_INF:
        least -= abs(least) * _EPSILON
    if most < _INF:
        most += abs(most) * _EPSILON
    least = 0.0 if 0.0 < least <= _TINY else least if least >= -MAX_FLOAT else -_INF
    most = 0.0 if -_TINY <= most < 0.0 else most if most <= MAX_FLOAT else _INF
    return _new(Value, (kind, least, most, marks, "", reach))


def _add(kind: int, left: Value, right: Value, marks: int) -> Value:
    if (left[3] | right[3]) & GROWN:
        other = right if left.marks & GROWN else left
        if not other.marks & GROWN and _is_small(other):
            return Value(kind, -_MOST_GROWN, _MOST_GROWN, marks | GROWN, "", max(left.reach, right.reach))
    _, low, high, _, _, reach = left
    _, least, most, _, _, other_reach = right
    if (high > _MOST_GROWN and least < -_MOST_GROWN) or (low < -_MOST_GROWN and most > _MOST_GROWN):
        return Value(kind, -_INF, _INF, marks | WILD)  # infinite values of both signs, perhaps in another order
    return _rounded(kind, low + least, high + most, marks, reach if reach >= other_reach else other_reach)


def _multiply(kind: int, left: Value, right: Value, marks: int) -> Value:
    reach = _reach(left) * _reach(right)
    if reach > _MAX_PRODUCT:
        return Value(kind, -_INF, _INF, marks | WILD)
    low, high, least, most = left[1], left[2], right[1], right[2]
    if low == high == 0.0 or least == most == 0.0:
        return Value(kind, 0.0, 0.0, marks if marks & WILD else CONST)
    ends = low * least, low * most, high * least, high * most
    return _rounded(kind, min(ends), max(ends), marks, reach)


def _divide(kind: int, left: Value, right: Value, marks: int) -> Value:
    """Return the product with the reciprocal, as drivers divide: that of a large number can be 0 on a GPU."""
    if _may_be_zero(right):
        return Value(kind, -_INF, _INF, marks | WILD)
    return _multiply(kind, left, _rounded(kind, 1.0 / right.most, 1.0 / right.least, right.marks), marks)


def _plain(kind: int, value: Value) -> Value:
    """Return a value as another type, and no longer as a part of a uniform."""
    if value[0] == kind and not value[4]:
        return value
    return _new(Value, (kind, value[1], value[2], value[3], "", value[5]))


def _negative(value: Value) -> Value:
    return _new(Value, (value[0], -value[2], -value[1], value[3], "", value[5]))


def _bounded(kind: int, first: Value, other: Value, least: Callable[..., float]) -> Value:
    """Return the smaller (``min``) or larger (``max``) of two; of NaN and a number, the number."""
    marks = first.marks & other.marks & (WILD | CONST)
    low, high = least(first.least, other.least), least(first.most, other.most)
    if (first.marks | other.marks) & WILD:
        others = [other] * (first.marks & WILD) + [first] * (other.marks & WILD)
        low, high = min(low, *[value.least for value in others]), max(high, *[value.most for value in others])
    elif (first.marks | other.marks) & GROWN and low >= -_MOST_GROWN and high <= _MOST_GROWN:
        bounded = [
            value.marks & GROWN or (-value.least if least is min else value.most) <= _SMALL for value in (first, other)
        ]
        marks |= GROWN if all(bounded) else 0
    return Value(kind, low, high, marks)


def _clamped(kind: int, value: Value, low: Value, high: Value) -> Value:
    """Return a value between two bounds; if they can be in the wrong order, drivers return either."""
    clipped = _bounded(kind, _bounded(kind, value, low, max), high, min)
    if low.most <= high.least:
        return clipped
    return _hull(clipped, _bounded(kind, _bounded(kind, value, high, min), low, max))


class CallResult(NamedTuple):
    """Result of a call.

    Attributes:
        value: the returned value, None of a void function.
        globals_: the global variables after the call.
        written, executed, loops: as of ``Shader``.
        uses_globals: whether it reads or changes global variables.
    """

    value: Value | None
    globals_: dict[str, Variable]
    written: int
    executed: int
    loops: list[Loop]
    uses_globals: bool


class _Position(NamedTuple):
    """State of a checker in a statement, apart from the counts of the shader; attributes as of ``_Checker``."""

    tokens: list[str]
    at: int
    macros: dict[str, list[Macro]]
    functions: dict[str, list[Function]]
    scopes: _Scopes
    place: int | None
    alone: bool
    in_coordinate: bool
    returns: str
    returned: Value | None
    conditional: int
    breaks: list[_Scopes]
    branches: list[_Branch]
    operators: int
    globals_read: list[str]
    called_in_statement: bool
    changed_in_statement: list[str]
    uses_globals: bool
    written: int
    executed: int
    loops: list[Loop]
    turning: int


class _Branch(NamedTuple):
    """A condition that a device decides, while the checker reads its sides.

    Attributes:
        blocks: number of blocks around the condition.
        scopes: variables before it.
        returned: value returned before it.
        first_side: variables and returned value after the first side, once the second is read.
    """

    blocks: int
    scopes: _Scopes
    returned: Value | None
    first_side: tuple[_Scopes, Value | None] | None


class _Checker:
    """Reads the tokens of a shader from left to right; every method leaves ``at`` after its part."""

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.code = [*lines.tokens, _END]
        self.tokens, self.at = self.code, 0
        self.summary = Shader()
        self.macros: dict[str, list[Macro]] = {}
        self.functions: dict[str, list[Function]] = {}
        self.results: dict[object, CallResult] = {}
        self.scopes: _Scopes = [{"gl_FragColor": Variable("output", 4, None)}]
        self.branches: list[_Branch] = []
        self.written = self.executed = self.used = self.operators = 0
        self.blocks = self.brackets = self.calls = self.expanding = 0
        self.place: int | None = None  # of the first macro around the current tokens
        self.alone = True  # nothing is next to that macro
        self.in_coordinate = False
        self.returns = "void"
        self.returned: Value | None = None
        self.conditional = 0
        self.chosen = 0  # choices around the place, of which a fragment executes one side
        self.changeable = ["gl_FragColor"]  # names of global variables, also of those of other devices
        self.globals_read: list[str] = []  # by the statement, and whether it calls functions, which change these
        self.called_in_statement, self.changed_in_statement = False, list[str]()
        self.uses_globals = False  # the function so far
        self.numbers = {token: _rounded(FLOAT, number, number, CONST) for token, number in lines.decimals()}
        self.names = set[str]()  # free for shaders
        self.loops: list[Loop] = []
        self.turning = 0  # loops around the place
        self.breaks: list[_Scopes] = []

    def refused(self, problem: str) -> BundleError:
        """Return the refusal of the token at which the checker is."""
        numbers = self.lines.numbers
        at = self.at if self.place is None else self.place
        return self.lines.refuse(numbers[min(at, len(numbers) - 1)] if numbers else 1, problem)

    # Tokens

    def next(self) -> str:
        """Return the next token and go on."""
        token = self.tokens[self.at]
        self.at += token != _END
        return token

    def take(self, token: str) -> bool:
        """Return whether the next token is this one, and go on if it is."""
        matches = self.tokens[self.at] == token
        self.at += matches
        return matches

    def expect(self, *tokens: str) -> None:
        """Go on after these tokens."""
        for token in tokens:
            if self.tokens[self.at] != token:
                raise self.refused(f"'{token}' is expected, not '{self.tokens[self.at]}'")
            self.at += 1

    def name(self) -> str:
        """Return the next token, a name free for shaders."""
        token = self.next()
        if token not in self.names:
            if not _NAME.fullmatch(token) or token in _WORDS or token in self.lines.reserved:
                raise self.refused(f"a name is expected, not '{token}'")
            self.names.add(token)
        return token

    def cost(self, written: int, executed: int = 1) -> None:
        """Count operations."""
        self.written += written
        self.executed += executed
        if self.written > _MOST_WRITTEN or self.executed > _MOST_EXECUTED:
            raise self.refused("too many operations")

    def again(self, tokens: int) -> None:
        """Count repeated tokens: of a macro, a function or a loop."""
        self.used += tokens
        if self.used > GLSL_LIMITS["expanded"]:
            raise self.refused(f"the shader has more than {GLSL_LIMITS['expanded']} tokens with its macros")

    def nested(self, step: int) -> None:
        """Count brackets in each other."""
        self.brackets += step
        if self.brackets > GLSL_LIMITS["brackets"]:
            raise self.refused(f"brackets are more than {GLSL_LIMITS['brackets']} deep in each other")

    # Variables

    def declare(self, name: str, kind: str, type_: int, value: Value | None, size: int = 0) -> None:
        """Make a variable of the innermost block."""
        self.cost(1)
        self.scopes[-1][name] = Variable(kind, type_, value, size)
        if kind == "global":
            self.changeable.append(name)
        if sum(map(len, self.scopes)) > GLSL_LIMITS["names"]:
            raise self.refused(f"more than {GLSL_LIMITS['names']} variables at once")

    def find(self, name: str) -> Variable | None:
        """Return the variable of this name."""
        for scope in reversed(self.scopes):
            variable = scope.get(name)
            if variable is not None:
                return variable
        return None

    def saved(self) -> _Scopes:
        """Return the values of all variables."""
        return [dict(scope) for scope in self.scopes]

    def join(self, other: _Scopes, hull: Callable[[Value, Value], Value] = _hull) -> bool:
        """Let each variable hold its values in ``other`` as well; return whether that changed one."""
        changed = False
        for scope, variables in zip(self.scopes, other):
            for name, variable in variables.items():
                mine = scope.get(name)
                if mine is None:
                    scope[name] = variable
                elif mine is not variable:
                    if mine[:2] != variable[:2]:
                        raise self.refused(f"'{name}' is declared in two ways")
                    both = mine.value and variable.value and hull(mine.value, variable.value)
                    joined = Variable(mine.kind, mine.type, both or None, min(mine.size, variable.size))
                    changed |= joined != mine
                    scope[name] = joined
        return changed

    # Declarations and functions

    def shader(self) -> Shader:
        """Check the whole shader."""
        summary = self.summary
        main = False
        while not self.take(_END):
            if self.directive():
                continue
            word = self.next()
            if main:
                raise self.refused("code after main")
            if word in ("varying", "uniform"):
                self.interface(word)
            elif word == "const":
                self.declaration(self.next(), constant=True)
            elif self.tokens[self.at + 1 : self.at + 2] == ["("]:
                main = self.function(word)
            else:
                self.declaration(word, constant=False)
        if not main:
            raise self.refused("the shader has no main")
        summary.read = len(self.code) + self.used
        summary.written, summary.executed, summary.loops = self.written, self.executed, tuple(self.loops)
        return summary

    def interface(self, word: str) -> None:
        """Read a varying or a uniform after its first word."""
        kind, name = self.next(), self.name()
        size = 0
        if word == "uniform" and kind == "vec4" and self.take("["):
            bound = self.expression()
            self.expect("]")
            size = int(bound.least)
            if bound.type != INT or bound.least != bound.most or not 1 <= size <= GLSL_LIMITS["array"]:
                raise self.refused(f"an array has a size of 1 to {GLSL_LIMITS['array']}")
        if kind not in _TYPES or kind == "int" or (word == "varying" and not re.fullmatch(r"coord[0-6]", name)):
            raise self.refused(f"the {word} '{name}' is not of this format")
        self.expect(";")
        largest = float(GLSL_LIMITS[word]) if kind != "sampler2D" else 0.0
        value = Value(_TYPES[kind], -largest, largest, 0, name if word == "uniform" else "")
        self.declare(name, "sampler2D" if kind == "sampler2D" else word, _TYPES[kind], value, size)
        if word == "uniform":
            self.summary.uniforms[name] = kind
            self.summary.sizes[name] = 0 if kind == "sampler2D" else _TYPES[kind] * max(size, 1)

    def function(self, kind: str) -> bool:
        """Read a function after its type, with unknown arguments; return whether it is main."""
        name = self.name()
        self.expect("(")
        params: list[tuple[str, int]] = []
        while not self.take(")"):
            param_type = self.next()
            if param_type not in _TYPES or param_type == "int":
                raise self.refused(f"a parameter of '{name}' has the type '{param_type}'")
            params.append((self.name(), _TYPES[param_type]))
            if self.tokens[self.at] != ")":
                self.expect(",")
        main = name == "main" and kind == "void"
        builtin = name in GLSL_FUNCTIONS or name in GLSL_TRANSCENDENTAL or name == "texture2D"
        builtin |= bool(self.branches) and name not in _EXACT  # on other devices it can be a function of the driver
        if builtin or kind in ("int", "sampler2D") or kind not in (*_TYPES, "void") or (name == "main") != main:
            raise self.refused(f"the function '{name}' is not of this format")
        function = Function(kind, self.at, params, dict(self.macros), dict(self.functions))
        outer = self.scopes[0]
        if not main:
            self.scopes[0] = {
                key: variable._replace(value=Value(variable.type, -1.0, 1.0))
                if variable.kind in ("global", "output")
                else variable
                for key, variable in outer.items()
            }
        self.written = self.executed = 0
        self.loops = []
        self.body(function, [Value(type_, -1.0, 1.0) for _, type_ in params])
        if not main:
            self.scopes[0] = outer
        elif self.scopes[0]["gl_FragColor"].value is None:
            raise self.refused("gl_FragColor has no value")
        signature = f"{name}({','.join(str(type_) for _, type_ in params)}"
        self.functions = {**self.functions, signature: [*self.functions.get(signature, ()), function]}
        if len(self.functions) > GLSL_LIMITS["names"]:
            raise self.refused(f"more than {GLSL_LIMITS['names']} functions")
        return main

    def body(self, function: Function, arguments: Sequence[Value]) -> Value | None:
        """Read the body of a function; return the value of a call."""
        self.returns, self.returned = function.kind, None
        self.scopes[1:] = [{}]
        for (name, type_), value in zip(function.params, arguments):
            self.declare(name, "sampler2D" if type_ == SAMPLER else "parameter", type_, value)
        outer = self.blocks
        self.block()
        self.blocks = outer
        self.scopes[1:] = []
        returned = self.returned
        self.returned = None
        if function.kind != "void" and returned is None:
            self.at -= 1
            raise self.refused("a function ends without 'return'")
        return returned

    def call(self, name: str, signature: str, arguments: list[Value]) -> Value:
        """Return the value of a call of a function of the shader, and change global variables as it does."""
        if self.chosen:
            raise self.refused(f"'{name}' is called in one side of a choice, or in the bound of a loop")
        self.calls += 1
        if self.calls > GLSL_LIMITS["calls"]:
            raise self.refused("calls are too deep in each other")
        caller = self.position()  # nothing changes its scopes: a body has a copy of the global variables
        outer = caller.scopes[0]
        global_values = [(key, outer[key].value) for key in self.changeable if key in outer]
        written, executed, loops, uses_globals = 0, 0, list[Loop](), False
        result: Value | None = None
        after: _Scopes = []
        for function in self.functions[signature]:
            called = self.called_result(function, arguments, outer, global_values)
            written, executed = max(written, called.written), max(executed, called.executed)
            loops += [replace(loop, depth=loop.depth + caller.turning) for loop in called.loops]
            uses_globals |= called.uses_globals
            self.scopes = [dict(called.globals_)]
            if after:
                self.join(after)
            after, value = self.scopes, called.value
            result = _hull(result, self.typed(result.type, value)) if result and value else result or value
        self.go_back(caller)
        self.calls -= 1
        self.scopes = [after[0], *caller.scopes[1:]]
        self.change_globals(name, [key for key, value in global_values if after[0][key].value != value], uses_globals)
        self.loops = [*caller.loops, *loops]
        self.cost(1 + written, 1 + executed)
        return result or Value(BOOL, 0.0, 0.0)

    def called_result(
        self,
        function: Function,
        arguments: Sequence[Value],
        globals_: Mapping[str, Variable],
        global_values: Sequence[tuple[str, Value | None]],
    ) -> CallResult:
        """Return the result of a function for some arguments, read again unless it is known.

        Args:
            function: the function.
            arguments: values of its parameters.
            globals_: the global variables before the call.
            global_values: values of those that functions can change.
        """
        key = function.at, tuple(arguments), tuple(global_values)
        if key not in self.results:
            self.tokens, self.at = self.code, function.at
            self.macros, self.functions = function.macros, function.functions
            self.scopes = [dict(globals_)]
            self.place, self.alone, self.in_coordinate, self.conditional, self.breaks = None, True, False, 0, []
            self.branches, self.written, self.executed, self.loops, self.turning = [], 0, 0, [], 0
            self.uses_globals = False
            value = self.body(function, arguments)
            self.again(self.at - function.at)
            self.results[key] = CallResult(
                value, self.scopes[0], self.written, self.executed, self.loops, self.uses_globals
            )
        return self.results[key]

    def change_globals(self, name: str, changed: list[str], uses_globals: bool) -> None:
        """Record the global variables that a call changes, and refuse a statement that also uses these otherwise.

        Args:
            name: name of the function.
            changed: names of the changed variables.
            uses_globals: whether the function reads or changes global variables.
        """
        calls_before = self.called_in_statement
        self.called_in_statement = calls_before or uses_globals
        self.uses_globals |= uses_globals
        self.changed_in_statement = self.changed_in_statement or changed
        if calls_before and uses_globals and self.changed_in_statement:
            raise self.refused(f"'{name}' is not the only call of a statement that changes global variables")
        if self.globals_read:
            self.unchanged(self.globals_read)

    def position(self) -> _Position:
        """Return the state of reading, to go back after a call."""
        return _Position(*(getattr(self, name) for name in _Position._fields))

    def go_back(self, position: _Position) -> None:
        """Restore the state of reading."""
        for name, state in zip(_Position._fields, position):
            setattr(self, name, state)

    def unchanged(self, names: Sequence[str]) -> None:
        """Refuse variables that a call of the statement changes: drivers can read them before or after it."""
        for name in names:
            if name in self.changed_in_statement:
                raise self.refused(f"'{name}' is read in a statement with a call that changes it")

    # Statements

    def directive(self) -> bool:
        """Read a condition or a definition, if one is next; return whether it was."""
        token = self.tokens[self.at]
        if token[:1] != "#":
            return False
        self.at += 1
        if token == "#if":
            self.branches.append(_Branch(self.blocks, self.saved(), self.returned, None))
        elif token in ("#else", "#endif"):
            branch = self.branches.pop() if self.branches else _Branch(-1, [], None, None)
            if branch.blocks != self.blocks:
                raise self.refused("a condition ends in another block")
            if token == "#else":
                self.branches.append(branch._replace(first_side=(self.scopes, self.returned)))
                self.scopes, self.returned = branch.scopes, branch.returned
            else:
                self.join_sides(*(branch.first_side or (branch.scopes, branch.returned)))
        elif self.blocks:
            raise self.refused("a macro is defined in a function")
        else:
            self.define(self.lines.macros[int(token[1:])])
        return True

    def join_sides(self, scopes: _Scopes, returned: Value | None) -> None:
        """End a condition: continue with the values of both sides. The arguments are those of the other side."""
        for depth, (mine, others) in enumerate(zip(self.scopes, scopes)):
            for name in mine.keys() ^ others.keys():
                if any(name in outer for outer in self.scopes[:depth]):
                    raise self.refused(f"'{name}' is another variable on one side of a condition")
        self.join(scopes)
        if (self.returned is None) != (returned is None):
            raise self.refused("'return' on one side of a condition")
        self.returned = self.returned and returned and _hull(self.returned, returned)

    def define(self, macro: Macro | str) -> None:
        """Add a definition to those that a macro can have, or end a macro by its name."""
        if isinstance(macro, str):
            self.macros.pop(macro, None)
            return
        definitions = [] if macro.certain else self.macros.get(macro.name, [])
        if not macro.certain and not definitions and not _MACRO.fullmatch(macro.name):
            definitions = [Macro(macro.name, None, [macro.name], True)]  # a function of GLSL on other devices
        self.macros[macro.name] = [*definitions, macro]

    def block(self) -> None:
        """Read statements up to a closing bracket, with names of their own."""
        self.expect("{")
        self.blocks += 1
        if self.blocks > GLSL_LIMITS["blocks"] + self.calls:
            raise self.refused("blocks are too deep in each other")
        self.scopes.append({})
        conditions = len(self.branches)
        while not self.take("}"):
            if not self.directive():
                self.statement()
        if len(self.branches) != conditions:
            raise self.refused("a condition ends in another block")
        self.scopes.pop()
        self.blocks -= 1

    def begin(self) -> None:
        """Begin a statement."""
        self.operators = 0
        self.globals_read, self.called_in_statement, self.changed_in_statement = [], False, []

    def statement(self) -> None:
        """Read one statement."""
        self.begin()
        token = self.tokens[self.at]
        after = self.tokens[self.at + 1] if token else _END
        if self.returned is not None:
            raise self.refused("a statement after 'return'")
        if after != "(" and token not in _NO_ASSIGNMENT:
            self.assignment()
        elif token in _TYPES and after != "(":
            self.declaration(self.next(), constant=False)
        elif token == "const":
            self.at += 1
            self.declaration(self.next(), constant=True)
        elif token == "for":
            self.loop()
        elif token == "if":
            self.condition()
        elif token == "break":
            if not (self.conditional and self.turning):
                raise self.refused("'break' belongs to an 'if' in a loop")
            self.at += 1
            self.expect(";")
            self.breaks.append(self.saved())
        elif token == "return":
            self.at += 1
            if self.returns == "void" or self.conditional or self.turning:
                raise self.refused("'return' ends a function with a result")
            value = self.typed(_TYPES[self.returns], self.expression())
            self.expect(";")
            self.returned = value
        elif token in GLSL_STATEMENTS and token in self.macros:
            self.at += 1
            self.macro(token, self.statement)
        elif after == "(":
            start = f"{token}("
            if not any(key.startswith(start) for key in self.functions):
                raise self.refused(f"'{token}' is no function of the shader")
            self.expression()
            self.expect(";")
        else:
            self.assignment()

    def condition(self) -> None:
        """Read 'if', its condition, and the assignment, call or 'break' after the condition."""
        self.at += 1
        self.cost(GLSL_LIMITS["choice"])
        self.expect("(")
        self.typed(BOOL, self.expression())
        self.expect(")")
        if self.tokens[self.at] in ("if", "for", "{", "const", "return", *GLSL_STATEMENTS, *_TYPES):
            raise self.refused("another statement after 'if'")
        before = self.saved()
        self.conditional += 1
        self.statement()
        self.conditional -= 1
        self.join(before)

    def declaration(self, kind: str, *, constant: bool) -> None:
        """Read the names of a declaration."""
        if kind not in _TYPES or kind in ("int", "sampler2D"):
            raise self.refused(f"'{kind[:20]}' is not of this format")
        local = len(self.scopes) > 1
        while True:
            self.begin()
            name = self.name()
            value = None
            if (local or constant) and self.take("="):
                value = self.typed(_TYPES[kind], self.expression())
            if constant and (value is None or not value.marks & CONST):
                raise self.refused(f"'{name}' is no constant")
            self.declare(name, "const" if constant else "local" if local else "global", _TYPES[kind], value)
            if self.take(";"):
                return
            self.expect(",")

    def typed(self, type_: int, value: Value) -> Value:
        """Return a value, if it is of this type."""
        if value.type != type_:
            raise self.refused("a value of another type")
        return value

    def assignment(self) -> None:
        """Read an assignment to a variable."""
        tokens = self.tokens
        name = self.next() if tokens[self.at] == "gl_FragColor" else self.name()
        variable = self.find(name)
        if variable is None or variable.kind not in ("local", "global", "parameter", "output"):
            raise self.refused(f"'{name}' cannot be assigned to")
        part = self.component() if tokens[self.at] == "." else 0
        sign = self.next()
        if sign not in ("=", "+=", "-=", "*=", "/="):
            raise self.refused(f"an assignment is expected, not '{sign}'")
        if variable.value is None and (part or sign != "="):
            raise self.refused(f"'{name}' is used before it has a value")
        if variable.kind in ("global", "output"):
            self.uses_globals = True
            if sign != "=":
                self.globals_read.append(name)
        value = (self.product() if sign == "+=" else None) or self.expression()
        type_ = part or variable.type
        scope = self.scopes[-1]
        if name not in scope:
            scope = next(scope for scope in reversed(self.scopes) if name in scope)
        before = scope[name].value  # a call in the expression can have changed it
        if sign != "=":
            value = self.combine(sign[0], _plain(type_, before or value), value)
        value = self.typed(type_, value)
        self.expect(";")
        if part and before:
            value = _hull(before, value)
        scope[name] = Variable(variable.kind, variable.type, _plain(variable.type, value))

    def loop(self) -> None:
        """Read a loop of a constant number of turns, until its variables hold their values in all turns."""
        self.expect("for", "(", "int")
        turn = self.name()
        self.expect("=", "0", ";", turn, "<")
        bound, before = self.at, self.executed
        self.chosen += 1
        turns = self.expression()
        self.chosen -= 1
        compared = self.executed - before
        self.expect(";")
        if not (self.take("++") and self.take(turn)):
            self.expect(turn, "++")
        self.expect(")")
        if turns.type != INT or not turns.marks & CONST or not 0 <= turns.least <= turns.most <= _MOST_ITERATIONS:
            raise self.refused(f"a loop has a constant bound of at most {_MOST_ITERATIONS}")
        most = max(int(self.counted(turns, bound, turn)), 1)
        self.cost(1)
        counter = Variable("turn", INT, Value(INT, 0.0, max(turns.most - 1.0, 0.0)))
        start, written, executed, depth = self.at, self.written, self.executed, len(self.loops)
        outer = self.breaks
        self.turning += 1
        passes = 0
        while True:
            head = self.saved()
            self.breaks = []
            self.scopes.append({turn: counter})
            self.block()
            self.scopes.pop()
            ends, self.scopes = self.scopes, head
            if not self.join(ends, _hull if not passes else _widened):
                break
            passes += 1
            self.again(self.at - start)
            self.at, self.written, self.executed = start, written, executed
            del self.loops[depth:]
        for scopes in self.breaks:
            self.join(scopes)
        self.breaks = outer
        once = self.executed - executed
        self.cost(GLSL_LIMITS["loop"], (most - 1) * once + most * compared)
        self.loops.insert(depth, Loop(self.turning, most, most * once))
        self.turning -= 1

    def counted(self, turns: Value, bound: int, turn: str) -> float:
        """Return the most turns of a loop; ``TURNS`` with ``END_AFTER`` ends it where coordinates are at most 2."""
        count, at = self.tokens[bound + 2], self.at
        header = " ".join(self.tokens[bound : bound + 4] + self.tokens[at : at + 7])
        coordinate = self.find("coord0")
        if header != f"TURNS ( {count} ) {{ END_AFTER ( {count} , {turn} )" or not coordinate:
            return turns.most
        if coordinate.kind != "varying":
            return turns.most
        self.at = bound + 2
        most = self.expression().most
        self.at = at
        self.summary.needs_coordinates_inside |= most < turns.most
        return most

    # Expressions

    def expression(self) -> Value:
        """Read an expression."""
        value = self.binary(1)
        if self.tokens[self.at] == "?":
            self.typed(BOOL, value)
            self.at += 1
            self.cost(GLSL_LIMITS["choice"])
            self.chosen += 1
            value = self.binary(1)
            self.expect(":")
            value = _hull(value, self.typed(value.type, self.binary(1)))
            self.chosen -= 1
        return value

    def binary(self, level: int) -> Value:
        """Read operations of this level and of tighter ones."""
        tokens, levels = self.tokens, _LEVELS
        value = self.unary() if tokens[self.at] == "-" else self.operand()
        while True:
            sign = tokens[self.at]
            own = levels.get(sign, 0)
            if own < level:
                return value
            self.at += 1
            if own == _TIGHTEST:
                value = self.combine(sign, value, self.unary() if tokens[self.at] == "-" else self.operand())
                continue
            self.chosen += own < 3
            value = self.combine(sign, value, self.binary(own + 1))
            self.chosen -= own < 3

    def product(self) -> Value | None:
        """Read a constant times a component of a local variable up to the semicolon, faster than ``expression`` does.

        Most statements of a convolution with constant weights end like this. The result is None if anything else is
        next, or if it could be refused.
        """
        tokens, at = self.tokens, self.at
        token = tokens[at]
        signs, left = 0, self.numbers.get(token)
        if left is not None:
            at += 1
        elif token == "-":
            signs, left = 1, self.numbers.get(tokens[at + 1])
            if left is None:
                return None
            left = _negative(left)
            at += 2
        elif token in _VECTORS and tokens[at + 1] == "(" and token not in self.macros:
            vector = self.literals(token, at + 2)
            if vector is None:
                return None
            left, signs, at = vector
            signs += 1
        else:
            return None
        if tokens[at] != "*" or tokens[at + 2 : at + 5 : 2] != [".", ";"] or self.in_coordinate or left[0] == INT:
            return None
        name, written, executed = tokens[at + 1], self.written + signs + 1, self.executed + signs + 1
        variable = None if name in self.macros else self.find(name)
        right = variable.value if variable is not None and variable.kind == "local" else None
        if right is None or right[3] & CONST or not 2 <= right[0] <= 4 or len(tokens[at + 3]) != 1:
            return None
        if tokens[at + 3] not in _SWIZZLES or max(-left[1], left[2]) > MAX_FLOAT:
            return None
        if written > _MOST_WRITTEN or executed > _MOST_EXECUTED or self.operators >= _MOST_OPERATORS:
            return None
        self.at, self.written, self.executed = at + 4, written, executed
        self.operators += 1
        return _multiply(left[0], left, right, right[3] & WILD)

    def combine(self, sign: str, left: Value, right: Value) -> Value:
        """Return the value of an operation, if it is one that no compiler can choke on."""
        self.operators += 1
        self.written += 1
        self.executed += 1
        if self.written > _MOST_WRITTEN or self.executed > _MOST_EXECUTED:
            self.cost(0, 0)
        if self.operators > _MOST_OPERATORS:
            raise self.refused(f"a statement has more than {GLSL_LIMITS['operators']} operations")
        left_type, right_type = left[0], right[0]
        if _LEVELS[sign] < 5:
            if (left_type != right_type) or (_LEVELS[sign] < 3 and left_type != BOOL):
                raise self.refused("values of two types")
            return Value(BOOL, 0.0, 1.0)
        kind = left_type if right_type == FLOAT else right_type
        if kind > 4 or (left_type not in (kind, FLOAT)) or (kind == INT) != (left_type == right_type == INT):
            raise self.refused("values of two types")
        if sign == "-":
            right = _negative(right)
        marks = ((left[3] | right[3]) & WILD) | (left[3] & right[3] & CONST)
        if kind == INT:
            return self.integer(sign, left, right, marks)
        if sign != "/":
            value = _multiply(kind, left, right, marks) if sign == "*" else _add(kind, left, right, marks)
            return self.constant(value) if value[3] & CONST else value
        if _may_be_zero(right) and right.marks & CONST:
            raise self.refused("a division by a constant that can be 0")
        if right.uniform:
            self.summary.divisors.add(right.uniform)
            most = float(GLSL_LIMITS["uniform"])
            return self.constant(_multiply(kind, left, Value(kind, -most, most), marks))
        return self.constant(_divide(kind, left, right, marks))

    def integer(self, sign: str, left: Value, right: Value, marks: int) -> Value:
        """Return the value of an operation on integers, which none may leave."""
        if sign == "/":
            raise self.refused("a division of integers")
        ends = [a * b if sign == "*" else a + b for a in left[1:3] for b in right[1:3]]
        if sign != "*":
            ends = [left.least + right.least, left.most + right.most]
        if min(ends) < -_LARGEST_INT or max(ends) > _LARGEST_INT:
            raise self.refused("an integer that is too large")
        return Value(INT, min(ends), max(ends), marks)

    def constant(self, value: Value) -> Value:
        """Return a value; as a constant, if it is neither infinite nor too far from the texture in a coordinate."""
        if value.marks & CONST:
            most = GLSL_LIMITS["coordinate"] if self.in_coordinate else MAX_FLOAT
            if max(-value.least, value.most) > most or value.marks & WILD:
                raise self.refused("a constant is too large")
        return value

    def unary(self) -> Value:
        """Read an operand with its sign and its components."""
        if self.tokens[self.at] == "-":
            self.at += 1
            self.cost(1)
            if self.tokens[self.at] == "-":
                raise self.refused("two signs in a row")
            return _negative(self.unary())
        return self.operand()

    def operand(self) -> Value:
        """Read an operand with its components."""
        tokens, at = self.tokens, self.at
        token = tokens[at]
        after = tokens[at + 1] if token else _END
        if after == "(" or token in self.macros:
            vector = self.vector(token, at + 2) if token in _VECTORS and token not in self.macros else None
            value = self.primary() if vector is None else vector
        elif token[:1].isdigit():
            self.at = at + 1
            value = self.number(token)
        else:
            variable = self.find(token)
            if variable is None or variable.size or variable.value is None or variable.type > BOOL:
                value = self.primary()
            else:
                self.at = at + 1
                value = variable.value
                if variable.kind in ("global", "output"):
                    self.uses_globals = True
                    self.globals_read.append(token)
                    self.unchanged([token])
                if value[3] & CONST:
                    self.constant(value)
        if tokens[self.at] == ".":
            if not 2 <= value[0] <= 4:
                raise self.refused("components of a number")
            return _new(Value, (self.component(), value[1], value[2], value[3], value[4], value[5]))
        return value

    def component(self) -> int:
        """Go on after a point and the components that it picks; return their number."""
        token = self.tokens[self.at + 1]
        self.at += 2 if token else 1
        if token not in _SWIZZLES:
            raise self.refused("a component is expected")
        return len(token)

    def primary(self) -> Value:
        """Read an operand without its components."""
        token = self.next()
        if token == "(":
            self.nested(1)
            value = self.expression()
            self.expect(")")
            self.nested(-1)
            return value
        if token[:1].isdigit():
            return self.number(token)
        if token in self.macros:
            return self.macro(token, self.expression)
        if token in _TYPES or self.tokens[self.at] == "(":
            return self.called([token])
        variable = self.find(token)
        if variable is None or variable.kind == "sampler2D":
            raise self.refused(f"'{token[:20]}' is no name of a number here")
        if variable.size:
            self.expect("[")
            index = self.expression()
            self.expect("]")
            constant = index.type == INT and index.marks & CONST
            if not constant or not 0 <= index.least <= index.most < variable.size:
                raise self.refused(f"an index of '{token}' is a constant from 0 to {variable.size - 1}")
        if variable.value is None:
            raise self.refused(f"'{token}' is used before it has a value")
        return self.constant(variable.value)

    def number(self, token: str) -> Value:
        """Return the value of a literal."""
        value = self.numbers.get(token)
        if value is None:
            number = float(token)
            if token.isdigit():
                if number > _LARGEST_INT or (token[0] == "0" and token != "0"):
                    raise self.refused("an integer that is too large, or octal")
                value = Value(INT, number, number, CONST)
            else:
                if number > MAX_FLOAT:
                    raise self.refused("a constant is too large")
                value = _rounded(FLOAT, number, number, CONST)
            self.numbers[token] = value
        if self.in_coordinate and value[2] > GLSL_LIMITS["coordinate"]:
            return self.constant(value)
        return value

    def vector(self, name: str, start: int) -> Value | None:
        """Read a constructor whose arguments are numbers alone, as weights are; None if one is not.

        ``start`` is the index of the first argument.
        """
        vector = self.literals(name, start)
        if vector is None:
            return None
        value, signs, self.at = vector
        self.cost(1 + signs, 1 + signs)
        return self.constant(value)

    def literals(self, name: str, start: int) -> tuple[Value, int, int] | None:
        """Return the value of a constructor of numbers, the number of their signs, and the index after its bracket.

        Arguments and None as for ``vector``.
        """
        if self.brackets >= _MOST_BRACKETS:
            return None
        tokens, at, constants = self.tokens, start, self.numbers
        least, most, signs = _INF, -_INF, 0
        while True:
            token = tokens[at]
            if token == "-":
                at += 1
                value = constants.get(tokens[at])
                if value is None:
                    return None
                signs += 1
                low, high = -value[2], -value[1]
            else:
                value = constants.get(token)
                if value is None:
                    return None
                low, high = value[1], value[2]
            least = low if low < least else least
            most = high if high > most else most
            at += 1
            if tokens[at] == ")":
                break
            if tokens[at] != ",":
                return None
            at += 1
        if at - start >= _LONGEST_VECTOR:
            return None
        return _new(Value, (_TYPES[name], least, most, CONST, "", 1.0)), signs, at + 1

    def called(self, names: list[str]) -> Value:
        """Read the arguments of a function; ``names`` are all that a macro can stand for."""
        name = names[0]
        self.nested(1)
        self.expect("(")
        if names == ["texture2D"]:
            return self.fetch()
        arguments: list[Value] = []
        others = self.called_in_statement
        while not self.take(")"):
            if arguments:
                self.expect(",")
            variable = self.find(self.tokens[self.at])
            if variable and variable.kind == "sampler2D":
                self.at += 1
                arguments.append(Value(SAMPLER, 0.0, 0.0))
            else:
                arguments.append(self.expression())
        self.nested(-1)
        inner, self.called_in_statement = self.called_in_statement, others  # arguments are computed before the call
        plain_arguments = [_plain(value.type, value) if value.uniform else value for value in arguments]
        signature = "(" + ",".join([str(value.type) for value in arguments])
        result: Value | None = None
        before = self.saved() if len(names) > 1 else []
        after: _Scopes = []
        for name in names:
            if name + signature in self.functions:
                value = self.call(name, name + signature, plain_arguments)
            else:
                value = self.constant(self.builtin(name, plain_arguments))
            if before:
                if after:
                    self.join(after)
                after, self.scopes = self.scopes, [dict(scope) for scope in before]
            result = value if result is None else _hull(result, self.typed(result.type, value))
        if before:
            self.scopes = after
        self.called_in_statement |= inner
        assert result is not None
        return result

    def builtin(self, name: str, arguments: list[Value]) -> Value:
        """Return the value of a function of GLSL."""
        self.cost(_COSTS.get(name, 1))
        kind, least_kind, all_marks, any_marks = 0, SAMPLER, CONST if arguments else 0, 0
        for value in arguments:
            kind = value[0] if value[0] > kind else kind
            least_kind = value[0] if value[0] < least_kind else least_kind
            all_marks &= value[3]
            any_marks |= value[3]
        constant, wild = all_marks & CONST, any_marks & WILD
        marks = constant | wild
        if name in _TYPES and name != "sampler2D" and arguments and kind <= BOOL:
            return self.constructed(name, arguments, marks)
        is_transcendental = name in GLSL_TRANSCENDENTAL
        if not (is_transcendental or name in GLSL_FUNCTIONS) or kind > 4 or not arguments or least_kind < FLOAT:
            raise self.refused(f"'{name[:20]}' is no function of this format and arguments")
        if len(arguments) != _ARGUMENTS.get(name, 1):
            raise self.refused(f"'{name}' has {len(arguments)} arguments")
        if is_transcendental and constant:
            if not self.calls:
                raise self.refused(f"'{name}' of constants")
            marks = wild  # in a function, for some of its arguments: no exact value is known here
        if any(_is_infinite(value) for value in arguments) and name in ("sin", "cos", "fract"):
            marks |= WILD
        return _function_value(name, kind, arguments, marks)

    def constructed(self, name: str, arguments: list[Value], marks: int) -> Value:
        """Return the value of a constructor."""
        least, most = min([value.least for value in arguments]), max([value.most for value in arguments])
        if name == "int":
            if not marks & CONST or not -_LARGEST_INT < least <= most < _LARGEST_INT:
                raise self.refused("'int' of a variable")
            return Value(INT, float(math.trunc(least)), float(math.trunc(most)), marks)
        grown = any([value.marks & GROWN for value in arguments])
        if grown and all(value.marks & GROWN or _is_small(value) for value in arguments):
            marks |= GROWN
        return Value(_TYPES[name], least, most, marks, "", max([value.reach for value in arguments]))

    def fetch(self) -> Value:
        """Read the arguments of texture2D after its bracket."""
        variable = self.find(self.next())
        if variable is None or variable.kind != "sampler2D":
            raise self.refused("texture2D reads a sampler of the shader")
        self.expect(",")
        outer, self.in_coordinate = self.in_coordinate, True
        value = self.expression()
        self.in_coordinate = outer
        # In a function a coordinate can be constant for one call and not for the next.
        if value.type != 2 or value.marks & (WILD if self.calls else CONST | WILD):
            raise self.refused("a coordinate is constant, or can be NaN")
        self.expect(")")
        self.nested(-1)
        self.cost(GLSL_LIMITS["fetch"], GLSL_LIMITS["fetch"])
        return Value(4, 0.0, 1.0)

    def macro(self, name: str, parse: Callable[[], Value | None]) -> Value:
        """Read every definition that a macro can have here, in its place."""
        definitions = self.macros[name]
        start = self.at - 1
        params = definitions[0].params
        several = len(definitions) > 1
        differ = several and len({len(other.params or ()) for other in definitions}) > 1
        if differ or self.expanding > 3:
            raise self.refused(f"macro '{name}' has other parameters elsewhere, or is too deep")
        if params is None and self.tokens[self.at] == "(":  # another name of a function
            if any(token != name and token in self.macros for entry in definitions for token in entry.body):
                raise self.refused(f"macro '{name}' is another name of a macro")
            return self.called([entry.body[0] if len(entry.body) == 1 else name for entry in definitions])
        alone = self.tokens[start - 1] in _BEFORE if start else self.alone
        arguments = self.arguments(name, len(params)) if params else []
        follows = self.tokens[self.at]
        alone = alone and (self.alone if follows == _END else follows in _AFTER)
        outer = self.tokens, self.at, self.place, self.alone
        cost = self.written, self.executed
        most, result = cost, None
        statement = parse == self.statement
        # An expression changes variables by calls only, and each makes a new list of scopes.
        before = self.saved() if several and statement else self.scopes
        after: list[_Scopes] = []
        self.nested(1)
        self.expanding += 1
        for definition in definitions:
            body = _substituted(definition, arguments)
            self.again(len(body))
            self.place = start if outer[2] is None else outer[2]
            self.tokens, self.at, self.alone = [*body, _END], 0, alone
            self.written, self.executed = cost
            if statement:
                if body:
                    self.statement()
            else:
                value = self.expression() if alone else self.unary()
                result = value if result is None else _hull(result, self.typed(result.type, value))
            if self.tokens[self.at] != _END:
                raise self.refused(f"macro '{name}' needs brackets")
            most = max(most[0], self.written), max(most[1], self.executed)
            self.tokens, self.at, self.place, self.alone = outer
            if several:
                after.append(self.scopes)
                self.scopes = [dict(scope) for scope in before] if statement else before
        if any([scopes is not before for scopes in after]):
            self.join_all(after)
        self.expanding -= 1
        self.nested(-1)
        self.written, self.executed = most
        return result or Value(BOOL, 0.0, 0.0)

    def join_all(self, alternatives: Sequence[_Scopes]) -> None:
        """Let each variable hold its values in all alternatives."""
        self.scopes = [dict(scope) for scope in alternatives[0]]
        for scopes in alternatives[1:]:
            self.join(scopes)

    def arguments(self, name: str, count: int) -> list[list[str]]:
        """Return the tokens of each argument of a macro."""
        self.expect("(")
        arguments: list[list[str]] = [[]]
        depth = 0
        while depth or self.tokens[self.at] != ")":
            token = self.next()
            if token == _END or token[0] == "#":
                raise self.refused(f"the arguments of macro '{name}' do not end")
            depth += (token in "([") - (token in ")]")
            if token == "," and not depth:
                arguments.append([])
            else:
                arguments[-1].append(token)
        self.at += 1
        if len(arguments) != count:
            raise self.refused(f"macro '{name}' has {count} parameters")
        return arguments


def _substituted(macro: Macro, arguments: Sequence[list[str]]) -> list[str]:
    """Return the tokens of a macro's body with arguments in place of its parameters."""
    if not arguments:
        return macro.body
    tokens = dict(zip(macro.params or (), arguments))
    return [part for token in macro.body for part in tokens.get(token, (token,))]


def _function_value(name: str, kind: int, arguments: Sequence[Value], marks: int) -> Value:
    """Return the value of a function of GLSL for the right number of arguments.

    Args:
        name: name of the function.
        kind: type of the widest argument.
        arguments: their values.
        marks: marks of the value.
    """
    first = arguments[0]
    if name == "lessThan":
        return Value(BOOL, 0.0, 1.0)
    if name in GLSL_CAN_BE_NAN:
        return Value(kind, -_INF, _INF, marks | WILD)
    if name in ("min", "max"):
        return _bounded(kind, first, arguments[1], min if name == "min" else max)
    if name == "clamp":
        return _clamped(kind, *arguments)
    if name == "mix":
        return _mixed(kind, *arguments)
    if name == "dot":
        product, count = _multiply(FLOAT, first, arguments[1], marks), first.type
        low, high = min(product.least, product.least * count), max(product.most, product.most * count)
        return _rounded(FLOAT, low, high, product.marks, product.reach)
    if name == "abs":
        least = 0.0 if first.least < 0.0 < first.most else min(abs(first.least), abs(first.most))
        return Value(kind, least, max(abs(first.least), abs(first.most)), marks, "", first.reach)
    if name == "floor":
        least, most = (float(math.floor(end)) if math.isfinite(end) else end for end in (first.least, first.most))
        return Value(kind, least, most, marks)
    return Value(kind, *_RANGES[name], marks)


_RANGES = {
    "cos": (-1.01, 1.01),
    "exp": (0.0, _INF),
    "exp2": (0.0, _INF),
    "fract": (0.0, 1.0),
    "sin": (-1.01, 1.01),
    "step": (0.0, 1.0),
}


def _mixed(kind: int, left: Value, right: Value, share: Value) -> Value:
    """Return a value between two others, by a share that can be outside of 0 to 1."""
    marks = ((left.marks | right.marks | share.marks) & WILD) | (left.marks & right.marks & share.marks & CONST)
    if share.least >= -1e-5 and share.most <= 1.00001:
        both = _hull(left, right)
        if _reach(both) * share.reach > _MAX_PRODUCT:
            return Value(kind, -_INF, _INF, marks | WILD)
        reach = both.reach * share.reach
        if both.marks & GROWN:
            return Value(kind, -_MOST_GROWN, _MOST_GROWN, marks | GROWN, "", reach)
        margin = 1e-4 * max(abs(both.least), abs(both.most))
        return _rounded(kind, both.least - margin, both.most + margin, marks, reach)
    complement = _add(FLOAT, Value(FLOAT, 1.0, 1.0, CONST), _negative(share), marks)
    first, second = _multiply(kind, left, complement, marks), _multiply(kind, right, share, marks)
    return _add(kind, first, second, marks | ((first.marks | second.marks | complement.marks) & WILD))


def _widened(first: Value, other: Value) -> Value:
    """Return a value that holds both, and sums that grow from one to the other."""
    both = _hull(first, other)
    reach = both.reach if both.reach <= first.reach else _INF
    if both.least >= first.least and both.most <= first.most:
        return both._replace(reach=reach)
    if _is_small(both) or both.marks & GROWN:
        return Value(first.type, -_MOST_GROWN, _MOST_GROWN, (both.marks & ~CONST) | GROWN, "", reach)
    return Value(first.type, -_INF, _INF, both.marks & ~GROWN, "", reach)

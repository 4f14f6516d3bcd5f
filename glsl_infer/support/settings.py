"""Groups of settings: frozen dataclasses whose annotations define the allowed values of each field.

    @dataclass(frozen=True)
    class Noise(Settings):
        share: Annotated[float, Between(0, 1)] = 0.5
        kind: Literal["grey", "colour"] = "grey"

A field is an int or a float, optionally with ``Between``, a str, optionally with ``Text``, a bool, a ``Literal`` of
words, a pair of numbers (lowest, highest), another group, or a tuple of groups. ``support.strict_yaml`` reads and
writes them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from glsl_infer.errors import InputError


@dataclass(frozen=True)
class Between:
    """Limits of a number.

    Attributes:
        low: lowest allowed value.
        high: highest allowed value.
        above: exclude ``low`` itself.
        below: exclude ``high`` itself.
    """

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False

    def holds(self, value: float) -> bool:
        """Return whether ``value`` is allowed."""
        low = self.low < value if self.above else self.low <= value
        high = value < self.high if self.below else value <= self.high
        return low and high

    def __str__(self) -> str:
        low, high = f"{self.low:.10g}", f"{self.high:.10g}"
        if self.high == math.inf:
            return f"above {low}" if self.above else f"of at least {low}"
        if self.above:
            return f"above {low} and {'below' if self.below else 'up to'} {high}"
        return f"from {low} to {'below ' if self.below else ''}{high}"


@dataclass(frozen=True)
class Text:
    """Allowed form of a text.

    Attributes:
        pattern: regular expression for the entire text.
        words: description of the pattern for messages, following 'must be'.
    """

    pattern: str
    words: str

    def holds(self, text: str) -> bool:
        """Return whether ``text`` is allowed."""
        return re.fullmatch(self.pattern, text) is not None

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Settings:
    """Base class of a group of settings. Its constructor checks every field, then the combination.

    Raises:
        InputError: a value is not allowed; the message names the field and the allowed values.
    """

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for field in fields(self):
            value, hint = getattr(self, field.name), hints[field.name]
            if not fits(hint, value) and not value == field.default == ():  # an omitted list
                raise InputError(f"{field.name} is {value!r}; it must be {allowed(hint)}")
            object.__setattr__(self, field.name, _plain(hint, value))
        conflict = self.conflict()
        if conflict:
            raise InputError(conflict)

    def conflict(self) -> str | None:
        """Describe a contradiction between settings; None without one."""
        return None


def hints_of(group: type) -> dict[str, Any]:
    """Return the annotated type of each field of a group."""
    return _hints_of(group)


@cache
def _hints_of(group: Any) -> dict[str, Any]:
    hints = get_type_hints(group, include_extras=True)
    return {field.name: hints[field.name] for field in fields(group)}


def group_in(hint: Any) -> type[Settings] | None:
    """Return the group in a field, itself or in a tuple; None for plain values."""
    inner = get_args(hint)[0] if get_origin(hint) is tuple else hint
    return inner if isinstance(inner, type) and issubclass(inner, Settings) else None


def fits(hint: Any, value: Any) -> bool:
    """Return whether ``value`` is allowed for a field of type ``hint``."""
    value_type, limits = _parts(hint)
    if group := group_in(value_type):
        if get_origin(value_type) is tuple:
            return isinstance(value, tuple) and bool(value) and all(isinstance(item, group) for item in value)
        return isinstance(value, group)
    if get_origin(value_type) is Literal:
        return isinstance(value, str) and value in get_args(value_type)
    if get_origin(value_type) is tuple:
        pair = isinstance(value, tuple) and len(value) == 2 and all(_is_number(float, item, limits) for item in value)
        return pair and value[0] <= value[1]
    if value_type is bool:
        return isinstance(value, bool)
    if value_type is str:
        return isinstance(value, str) and (not isinstance(limits, Text) or limits.holds(value))
    return _is_number(value_type, value, limits)


def allowed(hint: Any) -> str:
    """Describe the allowed values of a field of type ``hint``, in words to follow 'must be'."""
    value_type, limits = _parts(hint)
    if group_in(value_type):
        return "a list of groups, at least one" if get_origin(value_type) is tuple else "a group of settings"
    if get_origin(value_type) is Literal:
        return " or ".join(get_args(value_type))
    if get_origin(value_type) is tuple:
        return f"[lowest, highest], two numbers {limits or ''}".rstrip()
    if value_type is bool:
        return "true or false"
    if value_type is str:
        return str(limits or "a text")
    return f"a {'whole ' if value_type is int else ''}number {limits or ''}".rstrip()


def _parts(hint: Any) -> tuple[Any, Between | Text | None]:
    if get_origin(hint) is Annotated:
        value_type, limits = get_args(hint)[:2]
        return value_type, limits
    return hint, None


def _is_number(value_type: type, value: Any, limits: Between | Text | None) -> bool:
    kinds = (int,) if value_type is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
        return False
    return not isinstance(limits, Between) or limits.holds(value)


def _plain(hint: Any, value: Any) -> Any:
    """Convert a value to the type of its field, such as 1 to 1.0."""
    value_type, _ = _parts(hint)
    if value_type in (int, float):
        return value_type(value)
    if get_origin(value_type) is tuple and not group_in(value_type):
        return tuple(float(item) for item in value)
    return value

"""What a reader knows of the numbers in a shader: constants as intervals, and marks.

A value is a tuple: whether it is an integer, the smallest and largest number that it may be as a constant (NaN where
no compiler can know), and marks: ``WILD`` may be no number at all, as 0 / 0; ``PLAIN`` is made of uniforms.
"""

from __future__ import annotations

from dataclasses import dataclass

Value = tuple[bool, float, float, int]
WILD, PLAIN = 1, 2
NAN = float("nan")
ANY: Value = (False, NAN, NAN, 0)
INTEGER: Value = (True, NAN, NAN, 0)
UNIFORM: Value = (False, NAN, NAN, PLAIN)
_TINY = 1e-30


@dataclass(frozen=True)
class Loop:
    """A loop as it is written: in how many loops it stands, itself among them; its turns; what all of them compute."""

    depth: int
    turns: int
    executed: int


@dataclass(frozen=True)
class Function:
    """What calls of it cost; whether it fetches texels, whether what it returns may be no number; its loops."""

    written: int = 0
    executed: int = 0
    fetches: bool = False
    wild: int = 0
    loops: tuple[Loop, ...] = ()


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


def mixed(sign: str, left: Value, right: Value) -> Value | None:
    """Return the value of an operation with numbers; None for a division that may be by 0, or of integers."""
    (whole, a, b, marks), (_, c, d, others) = left, right
    plain = (known(left) or marks & PLAIN) and (known(right) or others & PLAIN)
    wild = (marks | others) & WILD
    if sign == "/" and not known(right) and not others & PLAIN:
        wild = WILD
    if sign == "/" and (left[0] or right[0] or (c <= _TINY and d >= -_TINY)):
        return None
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
    return whole, min(ends), max(ends), wild

"""Escape untrusted text for display: labels, layer names, file names, logs of drivers.

Control characters can move a terminal's cursor, change its title or hide lines. Others change the direction of text or
are invisible, so that two labels look alike. Spreadsheets execute some cells as formulas. All other characters stay,
including those that join letters and the parts of an emoji.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

_CONTROLS = "\x00-\x1f\x7f-\x9f"
_DIRECTIONS_AND_LINES = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # change the direction, or end a line
_INVISIBLE = (
    "\xad\u115f\u1160\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f"
)
_SURROGATES = "\ud800-\udfff"  # cannot be encoded

_ESCAPED = f"{_CONTROLS}{_DIRECTIONS_AND_LINES}{_INVISIBLE}{_SURROGATES}"

_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are the full-width forms
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)"


@cache
def escaped_characters(layout: bool = True) -> re.Pattern[str]:
    """Return the pattern of the characters to escape, with or without line ends and tabs.

    It is compiled at its first use, which takes a Pi Zero 4 million instructions. Plain ASCII needs no pattern.
    """
    return re.compile(f"[{_ESCAPED}]" if layout else f"(?![\n\t])[{_ESCAPED}]")


def visible(text: str) -> str:
    r"""Escape control characters as JSON does (``\u001b``), except line ends and tabs.

    Escaped JSON is the same JSON, because JSON has such characters only within strings.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return escaped_characters(layout=False).sub(_escape, text)


def one_line(text: object) -> str:
    """Escape control characters, line ends and tabs, to keep text from outside on one line."""
    line = str(text)
    return line if line.isascii() and line.isprintable() else escaped_characters().sub(_escape, line)


def first_of(texts: Sequence[str], most: int = 5) -> str:
    """Return the first ``most`` texts separated by commas, and the number of the others: ``a, b and 3 more``."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def sides(shape: Iterable[int | None]) -> str:
    """Return a shape as text, such as ``224x224x3``, with ``?`` for an unknown size."""
    return "x".join("?" if size is None else str(size) for size in shape) or "1"


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a table: the first ``left`` columns flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            text.ljust(width) if index < left else text.rjust(width)
            for index, (text, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def cell(value: object) -> str:
    """Return the text of a CSV cell: one line, with an apostrophe before formulas; empty for None.

    A formula is text with ``=``, ``+``, ``-`` or ``@`` at its beginning, unless it is a number.
    """
    text = "" if value is None else one_line(value)
    return f"'{text}" if text.startswith(_FORMULA) and not re.fullmatch(_NUMBER, text) else text


def _escape(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

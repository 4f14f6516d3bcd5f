"""Text of strangers made safe to show: labels, layer names, file names and drivers' logs may hold anything.

A terminal obeys control characters: it moves the cursor, changes its title, hides lines. Other characters change the
order in which text is shown. A spreadsheet takes some cells for formulas. All other characters stay as they are.
"""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x1f\x7f-\x9f"
_DIRECTIONS_AND_LINES = "\u2028-\u202e\u2066-\u2069"  # line and paragraph separators, then what turns text around

_ANYWHERE = re.compile(f"[{_CONTROLS}{_DIRECTIONS_AND_LINES}]")
_BUT_LAYOUT = re.compile(f"(?![\n\t])[{_CONTROLS}{_DIRECTIONS_AND_LINES}]")

_FORMULA = ("=", "+", "-", "@")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")


def visible(text: str) -> str:
    r"""Return text whose control characters are written out as JSON does (``\u001b``); line ends and tabs stay.

    JSON stays the same JSON, for it has such characters in strings alone.
    """
    return _BUT_LAYOUT.sub(_written_out, text)


def one_line(text: object) -> str:
    """Return ``visible`` text in which line ends and tabs are written out too: a name that cannot begin a line."""
    return _ANYWHERE.sub(_written_out, str(text))


def cell(value: object) -> str:
    """Return a cell of a CSV file: one line, and an apostrophe before what a spreadsheet would compute.

    That is text which begins with ``=``, ``+``, ``-`` or ``@`` and is no number. None is an empty cell.
    """
    text = "" if value is None else one_line(value)
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _written_out(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"

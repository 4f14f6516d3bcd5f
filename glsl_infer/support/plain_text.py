"""Text of strangers made safe to show: labels, layer names, file names and drivers' logs may hold anything.

A terminal obeys control characters: it moves the cursor, changes its title, hides lines. Other characters change the
order in which text is shown, or are not shown at all, so that two labels look alike. A spreadsheet takes some cells for
formulas. All other characters stay as they are: those that join the parts of an emoji, or letters, too.
"""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x1f\x7f-\x9f"
_DIRECTIONS_AND_LINES = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # what turns text around, or ends a line
_UNSEEN = "\xad\u115f\u1160\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f"
_HALVES = "\ud800-\udfff"  # of pairs: no stream takes them

_HIDDEN = f"{_CONTROLS}{_DIRECTIONS_AND_LINES}{_UNSEEN}{_HALVES}"
ANYWHERE = re.compile(f"[{_HIDDEN}]")
_BUT_LAYOUT = re.compile(f"(?![\n\t])[{_HIDDEN}]")

_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # and the wide ones of East Asia
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")


def visible(text: str) -> str:
    r"""Return text whose control characters are written out as JSON does (``\u001b``); line ends and tabs stay.

    JSON stays the same JSON, for it has such characters in strings alone.
    """
    return _BUT_LAYOUT.sub(_written_out, text)


def one_line(text: object) -> str:
    """Return ``visible`` text in which line ends and tabs are written out too: a name that cannot begin a line."""
    return ANYWHERE.sub(_written_out, str(text))


def cell(value: object) -> str:
    """Return a cell of a CSV file: one line, and an apostrophe before what a spreadsheet would compute.

    That is text which begins with ``=``, ``+``, ``-`` or ``@`` and is no number. None is an empty cell.
    """
    text = "" if value is None else one_line(value)
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _written_out(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

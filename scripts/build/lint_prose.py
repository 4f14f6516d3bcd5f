#!/usr/bin/env python3
"""Measure habits that make docstrings and comments hard to read; exit code 1 if one is too frequent.

    python scripts/build/lint_prose.py                     # glsl_infer, training, scripts and tests
    python scripts/build/lint_prose.py glsl_infer/gl       # one folder

Printed is how often each habit occurs in 1,000 words. A rate above its limit is a symptom: write the sentence again as
you would explain it to a colleague. `make lint` runs this.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("glsl_infer", "training", "scripts", "tests")

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_DIRECTIVE = re.compile(r"#\s*(noqa|type:|fmt|pragma|ruff|!)")


@dataclass(frozen=True)
class Habit:
    """A habit.

    Attributes:
        name: its name in the table.
        pattern: regular expression of an occurrence.
        limit: largest rate in 1,000 words. It can be lowered, not raised.
    """

    name: str
    pattern: str
    limit: float


HABITS = (
    Habit("a clause with what, as a noun", r"\bwhat (?!is (?:wrong|missing)\b)[a-z]+", 0.3),
    Habit("a summary that begins with a question word", r"^(What|Which|Where|How|Whether|Why)\b", 0.05),
    Habit("that", r"\bthat\b", 9.0),
    Habit("code that speaks", r"\b(told|tells?|says?|said|hears?|asks?|knows?|meets?|met)\b", 0.2),
    Habit("data that lies or stands", r"\b(lies?|lying|stands?|stood)\b", 0.1),
    Habit("is none, is no", r"\b(is|are|was|if) (none|no such|no [a-z]+)\b", 0.25),
    Habit("somebody, nobody", r"\b(person|persons|somebody|nobody|anybody|strangers?)\b", 0.3),
    Habit("beside, behind", r"\b(beside|behind)\b", 0.1),
    Habit("of it, at the end", r"\b(of|with|to|in|by|for) (it|them|these|those|that)[.,;:]", 0.5),
)


def texts(folder: Path) -> Iterator[str]:
    """Yield the docstrings and comments of the Python files of a folder, each on one line."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            docstring = ast.get_docstring(node) if isinstance(node, _DOCUMENTED) else None
            if docstring:
                yield " ".join(docstring.split())
        with tokenize.open(path) as file:
            for token in tokenize.generate_tokens(file.readline):
                if token.type == tokenize.COMMENT and not _DIRECTIVE.match(token.string):
                    yield token.string.lstrip("# ")


def rates(folder: Path) -> list[float]:
    """Return the rate of each of ``HABITS`` in 1,000 words."""
    all_texts = list(texts(folder))
    words = max(sum(len(text.split()) for text in all_texts), 1)
    return [1000 * sum(len(re.findall(habit.pattern, text)) for text in all_texts) / words for habit in HABITS]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table; return 1 if a rate is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / name for name in FOLDERS])
    args = parser.parse_args(argv)
    columns = [rates(folder) for folder in args.folders]
    print(f"{'':44}{'limit':>8}", *(f"{folder.name[:12]:>12}" for folder in args.folders))
    for index, habit in enumerate(HABITS):
        print(f"{habit.name:44}{habit.limit:8.2f}", *(f"{column[index]:12.2f}" for column in columns))
    worse = {habit.name for column in columns for habit, rate in zip(HABITS, column) if rate > habit.limit}
    if worse:
        print(f"too frequent: {', '.join(sorted(worse))}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

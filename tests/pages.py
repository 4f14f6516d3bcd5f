"""The pages of the documentation, parsed for tests: their headings, their links, and the commands they show."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "models/*.md", "android/runner/*.md", ".github/**/*.md")
    for path in ROOT.glob(pattern)
)
"""Every page of the project; node_modules and build folders are excluded."""

OPERATORS = {"&&", "||", "|", ";", "&"}
SHELLS = {"", "sh", "bash", "console"}
KEYWORDS = {"do", "done", "then", "fi", "sudo"}
FIRST_WORD = re.compile(r"glsl-infer|classify|make|pip|python3?|(?:scripts|training|android|\.ci)/[\w./-]+")


@dataclass(frozen=True)
class Command:
    """A command on a page.

    Attributes:
        page: path relative to the repository.
        words: program and arguments, without comments, redirections, leading variables and ``.venv/bin/``.
        inline: True if it is in a sentence, where it may only be a name.
    """

    page: str
    words: tuple[str, ...]
    inline: bool

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def without_code(text: str) -> str:
    """Return a page without fenced and indented blocks and inline code, which cannot contain headings or links."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(?:^|(?<=\n\n))(?: {4}.*\n|\n(?= {4}))+", "", text)
    return re.sub(r"`[^`\n]*`", lambda code: re.sub(r"[\[\]()]", "", code[0]), text)


def anchors(text: str) -> set[str]:
    """Return GitHub's anchors for a page's headings."""
    names: set[str] = set()
    for head in re.findall(r"^#+ (.+?)\s*$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head)
        name = plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        repetition = 0
        while name in names:
            repetition += 1
            name = f"{plain}-{repetition}"
        names.add(name)
    return names


def links(text: str) -> list[str]:
    """Return the link targets of a page, images included."""
    plain = without_code(text)
    return re.findall(r"\]\(\s*<?([^)\s>]+)", plain) + re.findall(r"(?:src|href)=\"([^\"]+)\"", plain)


def commands(page: Path) -> list[Command]:
    """Return the commands in a page's blocks and sentences that start with a known word."""
    text = page.read_text("utf-8")
    unwrapped = re.sub(r"\\\n\s*", " ", text)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", unwrapped, re.MULTILINE | re.DOTALL)
    lines = [line for line in unwrapped.splitlines() if line.startswith("    ")]
    lines += [line for language, block in blocks if language in SHELLS for line in block.splitlines()]
    words_shown = [(words, False) for line in lines for words in _split(line.strip().removeprefix("$ "))]
    sentences = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    words_shown += [(words, True) for code in re.findall(r"`([^`\n]+)`", sentences) for words in _split(code)[:1]]
    name = page.relative_to(ROOT).as_posix()
    listed = [Command(name, words, inline) for words, inline in words_shown if FIRST_WORD.fullmatch(words[0])]
    return list(dict.fromkeys(listed))


def arguments_of(command: Command) -> tuple[str, ...]:
    """Return the arguments after the program: ``glsl-infer COMMAND``, ``python SCRIPT`` or the program itself."""
    return command.words[2 if command.words[0] in ("glsl-infer", "python", "python3") else 1 :]


def script_of(command: Command) -> str:
    """Return the path of the project's script in a command, or an empty string."""
    word = (
        command.words[1] if command.words[0] in ("python", "python3") and len(command.words) > 1 else command.words[0]
    )
    return word if "/" in word and (ROOT / word).is_file() and word.rpartition("/")[0] != "tests" else ""


def has_parser(script: str) -> bool:
    """Return whether a script is Python with argparse; one script passes its arguments to libFuzzer."""
    return bool(re.match(r"#!.*python(.*\n)*import argparse", (ROOT / script).read_text("utf-8")))


def script_lines() -> dict[str, list[Command]]:
    """Return the commands that run each of our Python scripts, without mere mentions in sentences."""
    lines: dict[str, list[Command]] = {}
    for command in (command for page in PAGES for command in commands(page)):
        script = script_of(command)
        if script and has_parser(script) and (arguments_of(command) or not command.inline):
            lines.setdefault(script, []).append(command)
    return lines


def _split(line: str) -> list[tuple[str, ...]]:
    """Return the commands of a line of shell, each as its words, or an empty list if the line is not shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []
    split: list[list[str]] = [[]]
    redirected = False
    for word in words:
        if word in OPERATORS:
            split.append([])
        elif redirected or set(word) <= set("<>"):
            redirected = not redirected
        elif split[-1] or not (word in KEYWORDS or re.match(r"[A-Z_]+=", word)):
            split[-1].append(word.removeprefix(".venv/bin/"))
    return [tuple(words) for words in split if words]

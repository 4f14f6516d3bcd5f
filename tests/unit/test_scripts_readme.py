"""scripts/README.md has a row for each script, with the first sentence of its docstring or comment."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scripts"
SUFFIXES = {
    "",
    ".gradle",
    ".html",
    ".java",
    ".js",
    ".json",
    ".md",
    ".mjs",
    ".py",
    ".sh",
    ".toml",
    ".ts",
    ".txt",
    ".yaml",
    ".yml",
}
README = (FOLDER / "README.md").read_text("utf-8")


def scripts() -> list[Path]:
    """Return the files that can be run."""
    files = (path for path in sorted(FOLDER.rglob("*")) if path.suffix in ("", ".py", ".sh") and path.is_file())
    return [path for path in files if _is_script(path.read_text("utf-8"))]


def _is_script(text: str) -> bool:
    return text.startswith("#!") or '\nif __name__ == "__main__":' in text


def summary(text: str) -> str:
    """Return the first sentence of a script's docstring, or of its first comment."""
    if "python" in text.split("\n", 1)[0] or not text.startswith("#!"):
        about = ast.get_docstring(ast.parse(text)) or ""
    else:
        about = re.sub(r"^# ?", "", text.split("\n", 1)[1], flags=re.MULTILINE)
    paragraph = " ".join(about.split("\n\n")[0].split())
    return re.split(r"(?<=[\w)'`])[.:](?= |$)", paragraph)[0]


@pytest.mark.parametrize("path", scripts(), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_script_has_its_row(path: Path) -> None:
    row = f"| `{path.relative_to(FOLDER).as_posix()}` | {summary(path.read_text('utf-8'))} |"
    assert row in README.splitlines(), "scripts/README.md: write or correct this row"


def test_no_row_is_of_a_deleted_script() -> None:
    rows = re.findall(r"^\| `(\S+)` \|", README, re.MULTILINE)
    assert sorted(rows) == sorted(set(rows)) == sorted(path.relative_to(FOLDER).as_posix() for path in scripts())


def texts() -> Iterator[Path]:
    """Yield the text files of the project that name scripts today; the change log names those of its time."""
    for folder, folders, files in os.walk(ROOT):
        hidden = {name for name in folders if name.startswith(".") and name not in (".ci", ".github")}
        built = {"node_modules", "__pycache__", "data", "runs", *(() if folder == str(FOLDER) else ("build", "dist"))}
        folders[:] = [name for name in folders if name not in hidden | built]
        paths = (Path(folder, name) for name in files if name != "CHANGELOG.md")
        yield from (path for path in paths if path.suffix in SUFFIXES and path.stat().st_size < 1 << 20)


def test_every_script_that_is_named_exists() -> None:
    named = re.compile(r"(?<![\w./-])scripts/[\w/-]*\w(?:\.\w+)?(?!\w)")
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in texts()
        if path.name not in ("test_doc_commands.py", "test_vc4_driver.py")  # they name others on purpose
        for name in named.findall(path.read_text("utf-8", "ignore"))
        if not (ROOT / name).exists() and "NAME" not in name
    ]
    assert missing == []

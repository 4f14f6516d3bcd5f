"""scripts/README.md has a row for each script, with the first sentence of its docstring or comment."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "scripts"
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

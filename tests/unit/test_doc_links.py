"""Links and scripts that pages name exist, and no page suggests installing glsl-infer by name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import PAGES, ROOT, anchors, links

LINKS = [(page, link) for page in PAGES for link in links(page.read_text("utf-8"))]
WITHIN = [(page, link) for page, link in LINKS if not urlsplit(link).scheme]


def label(value: object) -> str:
    return value.relative_to(ROOT).as_posix() if isinstance(value, Path) else str(value)


def test_pages_and_links_are_found() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/reference/tools.md"} <= {label(page) for page in PAGES}
    assert ("docs/reference/README.md", "tools.md") in {(label(page), link) for page, link in WITHIN}


def problem(page: Path, link: str) -> str:
    """Return the fault of a link, or an empty string."""
    parts = urlsplit(link)
    if parts.scheme:
        complete = (parts.scheme in ("http", "https") and "." in parts.netloc) or parts.scheme == "mailto"
        return "" if complete else "is not a whole address"
    target = page.parent / unquote(parts.path) if parts.path else page
    if not target.exists():
        return "leads to no file"
    if not target.resolve().is_relative_to(ROOT):
        return "leads out of the repository"
    if parts.fragment and unquote(parts.fragment) not in anchors(target.read_text("utf-8")):
        return "leads to no heading"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_the_links_of_a_page(page: Path) -> None:
    results = {link: problem(page, link) for link in links(page.read_text("utf-8"))}
    assert {link: fault for link, fault in results.items() if fault} == {}


def test_wrong_links_are_found() -> None:
    page = ROOT / "README.md"
    wrong = (
        "none.md",
        "../../../etc/passwd",
        "docs/reference/tools.md#none",
        "https://nowhere",
        "ftp://a.b/c",
        "#none",
    )
    assert all(problem(page, link) for link in wrong)


def test_every_page_of_docs_is_in_the_readme() -> None:
    named = {(ROOT / link.partition("#")[0]).resolve() for page, link in WITHIN if page == ROOT / "README.md"}
    reachable = named | {(page.parent / link.partition("#")[0]).resolve() for page, link in WITHIN if page in named}
    pages = {page for page in PAGES if page.is_relative_to(ROOT / "docs") and page.parent.name != "images"}
    assert len(pages) > 30 and pages <= reachable


def test_anchors_are_those_of_github() -> None:
    text = "# What `info` prints, and why\n\n## Twice\n\n## Twice\n\n## [A page](x.md): über_all\n"
    assert anchors(text) == {"what-info-prints-and-why", "twice", "twice-1", "a-page-über_all"}


def test_code_holds_no_links() -> None:
    text = "see [one](a.md)\n\n    not [two](b.md)\n\nnor `x[3](c)` but ![four](d.png)\n\n```\n[five](e.md)\n```\n"
    assert links(text) == ["a.md", "d.png"]


FOLDER = ROOT / "scripts"
PROGRAMS = {"", ".gradle", ".java", ".js", ".mjs", ".py", ".sh", ".ts"}
SUFFIXES = PROGRAMS | {".html", ".json", ".md", ".toml", ".txt", ".yaml", ".yml"}
README = (FOLDER / "README.md").read_text("utf-8")


def scripts() -> list[Path]:
    """Return the files that can be run."""
    files = (path for path in sorted(FOLDER.rglob("*")) if path.suffix in ("", ".py", ".sh") and path.is_file())
    return [path for path in files if _is_script(path.read_text("utf-8"))]


def _is_script(text: str) -> bool:
    return text.startswith("#!") or '\nif __name__ == "__main__":' in text


def test_every_script_has_one_row() -> None:
    rows = re.findall(r"^\| `(\S+)` \| .+ \|$", README, re.MULTILINE)
    assert sorted(rows) == sorted(path.relative_to(FOLDER).as_posix() for path in scripts()), "write the rows"


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


SKIPPED = {"build", "data", "dist", "node_modules", "runs", "__pycache__"}
CHECKED_HIDDEN_FOLDERS = {".ci", ".github"}
"""Hidden folders of the project. Others belong to programs."""

TEXT_SUFFIXES = {
    "",
    ".cfg",
    ".gradle",
    ".html",
    ".java",
    ".json",
    ".md",
    ".mjs",
    ".py",
    ".sh",
    ".toml",
    ".ts",
    ".yaml",
    ".yml",
}

BY_NAME = re.compile(
    r"(?:pip[\w.]*|pipx|uv|npm|npx|yarn)\W+(?:[\w-]+\W+){0,3}?(?:install|add|run|exec|download)\b[^\n`;|]*?"
    r"(?<![\w/.])(?<!\w-)glsl[-_]infer(?![\w./-])"
)
"""A package manager's command, its options, and the bare package name."""


def project_texts() -> Iterator[tuple[str, str]]:
    """Yield (path, text) of each text file of the project."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if (name not in SKIPPED or Path(folder).name == "scripts")
            and (name in CHECKED_HIDDEN_FOLDERS or name[0] != ".")
        ]
        for name in files:
            path = Path(folder, name)
            if path.suffix in TEXT_SUFFIXES and path != Path(__file__).resolve() and path.stat().st_size < 1 << 20:
                try:
                    yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
                except UnicodeDecodeError:
                    continue


def test_no_text_installs_glsl_infer_by_name() -> None:
    assert [f"{name}: {result}" for name, text in project_texts() for result in BY_NAME.findall(text)] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("pip install glsl-infer", True),
        ("update it: pip install -U glsl-infer", True),
        ("`pip install 'glsl-infer[camera]'`", True),
        ('/venv/bin/pip" install --quiet "${wheel:-glsl-infer}[camera]"', True),
        ("pip3 install --upgrade glsl_infer==2", True),
        ("npm install glsl-infer", True),
        ("pip install '.[train]'", False),
        ("pip install --no-deps --target site glsl_infer-*.whl", False),
        ("pip install ./glsl-infer/", False),
        ("glsl-infer needs av: pip install av", False),
    ],
)
def test_install_commands_by_name_are_recognised(text: str, wrong: bool) -> None:
    assert bool(BY_NAME.search(text)) == wrong

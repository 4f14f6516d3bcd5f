"""Every link of README.md, docs/ and the other pages leads to an existing file, and its anchor to a heading."""

from __future__ import annotations

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
        whole = (parts.scheme in ("http", "https") and "." in parts.netloc) or parts.scheme == "mailto"
        return "" if whole else "is not a whole address"
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

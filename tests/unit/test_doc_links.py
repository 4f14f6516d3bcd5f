"""Every link of README.md, docs/ and the other pages leads to a file that exists, and its anchor to a heading."""

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
    assert {"README.md", "CONTRIBUTING.md", "docs/tools.md"} <= {label(page) for page in PAGES}
    assert ("README.md", "docs/tools.md#check-a-driver") in {(label(page), link) for page, link in WITHIN}


@pytest.mark.parametrize("page, link", WITHIN, ids=label)
def test_a_link_leads_somewhere(page: Path, link: str) -> None:
    parts = urlsplit(link)
    target = page.parent / unquote(parts.path) if parts.path else page
    assert target.exists(), f"{label(page)} links to {link}"
    assert target.resolve().is_relative_to(ROOT), f"{link} leads out of the repository"
    if parts.fragment:
        assert unquote(parts.fragment) in anchors(target.read_text("utf-8")), f"{label(page)}: no heading for {link}"


@pytest.mark.parametrize("page, link", [one for one in LINKS if one not in WITHIN], ids=label)
def test_an_address_is_complete(page: Path, link: str) -> None:
    parts = urlsplit(link)
    assert (parts.scheme in ("http", "https") and "." in parts.netloc) or parts.scheme == "mailto", link


def test_every_page_of_docs_is_in_the_readme() -> None:
    named = {(ROOT / link.partition("#")[0]).resolve() for page, link in WITHIN if page == ROOT / "README.md"}
    reachable = named | {(page.parent / link.partition("#")[0]).resolve() for page, link in WITHIN if page in named}
    assert {page for page in PAGES if page.parent == ROOT / "docs"} <= reachable


def test_anchors_are_those_of_github() -> None:
    text = "# What `info` prints, and why\n\n## Twice\n\n## Twice\n\n## [A page](x.md): über_all\n"
    assert anchors(text) == {"what-info-prints-and-why", "twice", "twice-1", "a-page-über_all"}


def test_code_holds_no_links() -> None:
    text = "see [one](a.md)\n\n    not [two](b.md)\n\nnor `x[3](c)` but ![four](d.png)\n\n```\n[five](e.md)\n```\n"
    assert links(text) == ["a.md", "d.png"]

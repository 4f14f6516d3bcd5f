"""The pages stay short: what a reader needs, in at most so many words and lines."""

from __future__ import annotations

import pytest
from pages import PAGES, ROOT


@pytest.mark.parametrize(("pages", "most"), [("README.md", 1500), ("docs/", 30000)])
def test_words(pages: str, most: int) -> None:
    texts = [page.read_text("utf-8") for page in PAGES if str(page.relative_to(ROOT)).startswith(pages)]
    assert texts
    assert sum(len(text.split()) for text in texts) <= most  # as `cat docs/*.md docs/**/*.md | wc -w` counts


def test_the_first_page_is_a_hundred_lines() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 100

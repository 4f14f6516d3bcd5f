"""The pages stay short: what a reader needs, in at most so many words."""

from __future__ import annotations

import re

import pytest
from pages import PAGES, ROOT


@pytest.mark.parametrize(("pages", "most"), [("README.md", 1500), ("docs/", 30000)])
def test_words(pages: str, most: int) -> None:
    texts = [page.read_text("utf-8") for page in PAGES if str(page.relative_to(ROOT)).startswith(pages)]
    assert texts
    words = sum(bool(re.search(r"\w", word)) for text in texts for word in text.split())  # a bar of a table is none
    assert words <= most

"""The page of glsl-infer inspect --html in a browser: it makes no requests, and boxes link to their rows."""

from __future__ import annotations

from pathlib import Path

from chromium import Browser
from several import several_bundle

from glsl_infer.tools.inspect.bundle_page import bundle_page


def test_the_graph_is_drawn_without_requests(browser: Browser, tmp_path: Path) -> None:
    bundle = several_bundle("several")
    path = tmp_path / "page.html"
    path.write_text(bundle_page(bundle), "utf-8")
    page = browser.page(path.as_uri())
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0
    boxes = len(bundle.graph.nodes) + len(bundle.graph.outputs)
    assert page.evaluate("document.querySelectorAll('rect.box').length") == boxes
    sticking_out = page.evaluate(
        """[...document.querySelectorAll('svg text')].filter((text) => {
            if (!text.textContent) return false;
            const box = text.parentElement.querySelector('rect.box').getBBox(), own = text.getBBox();
            return own.x < box.x || own.x + own.width > box.x + box.width || own.y + own.height > box.y + box.height;
        }).map((text) => text.textContent)"""
    )
    assert sticking_out == []
    page.evaluate("document.querySelector('svg a').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert page.evaluate("document.querySelector('tr:target td').textContent") == bundle.graph.nodes[0].name
    page.close()

"""A user's actions on the demo page, and its status line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chromium import Browser, Page
from web_site import Site

DROP = """async (address, name) => {
    const data = new DataTransfer();
    data.items.add(new File([await (await fetch(address)).blob()], name));
    document.getElementById("stage").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
}"""


@contextmanager
def opened(browser: Browser, site: Site, *, height: int, query: str = "") -> Iterator[Page]:
    """Open the page, 1200 pixels wide, and wait until its model is loaded; check for errors at the end."""
    page = browser.page()
    page.resize(1200, height)
    page.go(f"{site.address}/index.html{query}")
    page.wait_for("!document.getElementById('camera').disabled")
    try:
        yield page
        assert page.errors == []
    finally:
        page.close()


def status(page: Page) -> str:
    """Return the status line under the buttons."""
    return str(page.evaluate("document.getElementById('status').textContent"))


def choose(page: Page, model: str) -> None:
    """Select a model in the page's list by its name."""
    page.evaluate(
        """(name) => {
            const model = document.getElementById("model");
            model.value = `models/${name}.glslnn`;
            model.dispatchEvent(new Event("change"));
        }""",
        model,
    )


def drop(page: Page, address: str) -> None:
    """Drop a file on the page, and wait for labels or an error."""
    page.evaluate(DROP, address, address.rsplit("/", 1)[-1])
    page.wait_for("document.querySelector('#labels li') || document.getElementById('status').className === 'wrong'")

"""What a person does with the demo page, and what it says."""

from __future__ import annotations

from chromium import Page

DROP = """async (address, name) => {
    const data = new DataTransfer();
    data.items.add(new File([await (await fetch(address)).blob()], name));
    document.getElementById("stage").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
}"""


def status(page: Page) -> str:
    """Return the line under the buttons."""
    return str(page.evaluate("document.getElementById('status').textContent"))


def drop(page: Page, address: str) -> None:
    """Drop a file, and wait until something comes of it."""
    page.evaluate(DROP, address, address.rsplit("/", 1)[-1])
    page.wait_for("document.querySelector('#labels li') || document.getElementById('status').className === 'wrong'")

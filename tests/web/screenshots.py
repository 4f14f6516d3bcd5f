#!/usr/bin/env python3
"""Write docs/images/browser.png and browser-runners.png: the demo page with a film and with a comparison.

PYTHONPATH=.:tests .venv/bin/python tests/web/screenshots.py [FOLDER]

It shows web/dist. Build it first: `cd web && node build.mjs`.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

import film
from chromium import Browser, Page
from demo_page import drop
from PIL import Image
from web_site import ROOT, WEB, Site

FILMED, COMPARED = (ROOT / "docs/images" / name for name in ("banana006.jpg", "pineapple007.jpg"))
FRAMES = 30
WIDTH, HEIGHT = 1110, 870
PATIENCE = 180.0


def save(page: Page, target: Path, clip: dict[str, float] | None = None) -> None:
    """Write the page, or a rectangle in CSS pixels, as a PNG file with 256 colours."""
    options = {"clip": {**clip, "scale": 1}} if clip else {}
    png = base64.b64decode(page.call("Page.captureScreenshot", format="png", **options)["data"])
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.convert("P", palette=Image.Palette.ADAPTIVE, colors=256).save(target, optimize=True)
    print(target)


def main() -> None:
    """Save the page with a film as its camera, and with a comparison of the runners on an image."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    with tempfile.TemporaryDirectory() as name, Site({"": WEB / "dist", "images": ROOT / "docs/images"}) as site:
        film.write(film.frames(FILMED), Path(name, "film.mjpeg"))
        flags = (
            "--hide-scrollbars",
            "--use-fake-ui-for-media-stream",
            "--use-fake-device-for-media-stream",
            f"--use-file-for-fake-video-capture={name}/film.mjpeg",
        )
        with Browser(flags, patience=PATIENCE) as browser:
            page = browser.page(f"{site.address}/index.html")
            page.resize(WIDTH, HEIGHT)
            page.wait_for("!document.getElementById('camera').disabled")
            page.evaluate("document.getElementById('camera').click()")
            page.wait_for(f"+document.getElementById('frames').value > {FRAMES}")
            save(page, folder / "browser.png")
            page.evaluate("document.getElementById('camera').click()")
            drop(page, f"/images/{COMPARED.name}")
            page.wait_for("document.getElementById('status').textContent.includes('pixels')")
            page.evaluate("document.getElementById('compare').click()")
            page.wait_for("document.getElementById('status').textContent.startsWith('Compared on')")
            page.resize(WIDTH, 2 * HEIGHT)
            box = page.evaluate("""(() => {
                const {x, y, width, height} = document.getElementById("comparison").getBoundingClientRect();
                return {x: x + scrollX - 12, y: y + scrollY - 12, width: width + 24, height: height + 24};
            })()""")
            save(page, folder / "browser-runners.png", box)


if __name__ == "__main__":
    main()

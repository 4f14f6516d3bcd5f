"""The page without a network: after one visit it loads again and classifies images, and it can be installed."""

from __future__ import annotations

import json
from pathlib import Path

from chromium import Browser, Page
from demo_page import choose, opened
from PIL import Image
from test_page import SAMPLE
from web_site import Site

CARROTS = "document.querySelector('#labels li span')?.textContent === 'Carrots'"


def wait_for_the_worker(page: Page, address: str) -> None:
    """Wait until the service worker handles the page's requests: those of a second visit, if it starts during one."""
    page.wait_for("navigator.serviceWorker.ready")
    page.go(address)
    page.wait_for("navigator.serviceWorker.controller")


def test_the_page_works_when_the_server_is_gone(browser: Browser, dist: Path) -> None:
    with Site({"": dist}) as site:
        page = browser.page(f"{site.address}/")
        page.wait_for("navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller)")
        page.wait_for("!document.getElementById('camera').disabled")
        site.files["/style.css"] = b":root { --seen: new; }"
        page.go(f"{site.address}/")  # the server has priority: a new version is used at once
        seen = "getComputedStyle(document.documentElement).getPropertyValue('--seen')"
        assert page.evaluate(seen).strip() == "new"
        address = site.address
    page.go(f"{address}/")
    page.wait_for("!document.getElementById('camera').disabled")
    page.evaluate(SAMPLE, "carrots014.jpg")
    page.wait_for(CARROTS)
    choose(page, "grocery-x22-385")
    page.wait_for("document.getElementById('about').textContent.startsWith('grocery-x22-385')")
    page.wait_for(CARROTS)
    assert page.errors == []
    page.close()


def test_only_the_pages_own_files_are_kept(browser: Browser, site: Site) -> None:
    with opened(browser, site, height=800) as page:
        wait_for_the_worker(page, f"{site.address}/index.html")
        site.files["/other.txt"] = b"of another page"
        page.evaluate("fetch('/other.txt').then((response) => response.text())")
        result = page.evaluate("""caches.keys()
            .then((names) => Promise.all(names.map((name) => caches.open(name).then((cache) => cache.keys()))))
            .then((found) => found.map((requests) => requests.map(({url}) => new URL(url).pathname)))""")
        assert len(result) == 1  # the previous version is deleted
        assert {"/", "/page.js", "/glsl-infer.js", "/samples/carrots014.jpg"} <= set(result[0])
        assert "/other.txt" not in result[0]


def test_the_page_can_be_installed(browser: Browser, site: Site, dist: Path) -> None:
    with opened(browser, site, height=800) as page:
        result = page.call("Page.getAppManifest")
        assert result["errors"] == []
        assert result["url"] == f"{site.address}/app.webmanifest"
        assert page.call("Page.getInstallabilityErrors")["installabilityErrors"] == []
    manifest = json.loads((dist / "app.webmanifest").read_text("utf-8"))
    assert "share_target" not in manifest
    for icon in manifest["icons"]:
        if icon["type"] == "image/png":
            with Image.open(dist / icon["src"]) as image:
                assert icon["sizes"] == f"{image.width}x{image.height}"

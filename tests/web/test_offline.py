"""The page in any state without accessibility violations, and without a network after one visit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, Page
from demo_page import choose, drop, opened
from PIL import Image
from test_page import SAMPLE
from web_site import WEB, Site

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
        style_property = "getComputedStyle(document.documentElement).getPropertyValue('--seen')"
        assert page.evaluate(style_property).strip() == "new"
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


AXE = WEB / "node_modules/axe-core/axe.min.js"

VIOLATIONS = """axe.run(document, {resultTypes: ["violations"]}).then(({violations, passes}) => [
    passes.length,
    violations.map(({id, help, nodes}) => `${id}: ${help}: ${nodes.map(({html}) => html).join(" ")}`),
])"""


@pytest.fixture
def demo(browser: Browser, site: Site) -> Iterator[Page]:
    with opened(browser, site, height=900) as page:
        page.evaluate(AXE.read_text("utf-8"))
        yield page


def check(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        passed, violations = page.evaluate(VIOLATIONS)
        assert violations == [], scheme
        assert passed > 20


def read_out(page: Page) -> list[tuple[str, str]]:
    """Return the role and name of each element that a screen reader stops at, in its order."""
    nodes = {node["nodeId"]: node for node in page.call("Accessibility.getFullAXTree")["nodes"]}
    stops: list[tuple[str, str]] = []

    def walk(node: dict[str, Any]) -> None:
        role = node.get("role", {}).get("value", "")
        if not node["ignored"] and role in {"heading", "combobox", "button", "status", "image"}:
            stops.append((role, node["name"]["value"]))
        for child in node.get("childIds", []):
            walk(nodes[child])

    walk(next(node for node in nodes.values() if "parentId" not in node))
    return stops


def test_a_screen_reader_reads_headings_and_controls_in_order(demo: Page) -> None:
    before = ["heading glsl-infer", "heading Image", "combobox Find", "combobox Model", "button Start camera"]
    before += ["button Choose image", "status ", "heading Result", "heading Images to try"]
    stops = [f"{role} {name}" for role, name in read_out(demo)]
    assert stops[: len(before)] == before
    samples = demo.evaluate("[...document.querySelectorAll('#samples img')].map((one) => one.alt)")
    after = len(before) + 2 * len(samples)
    assert stops[len(before) : after] == [f"{role} {name}" for name in samples for role in ("button", "image")]
    assert stops[after:][:3] == ["heading Look closer", "button Check this GPU", "button Show every layer"]
    drop(demo, "/images/carrots014.jpg")
    more = read_out(demo)
    assert ("image", "The part of the image that the network reads") in more
    assert all(name for role, name in more if role != "status")


def test_the_page_without_an_image_has_no_violations(demo: Page) -> None:
    check(demo)
    # Check that axe-core works: it reports an image without a text.
    demo.evaluate("document.querySelector('#samples img').removeAttribute('alt')")
    _, violations = demo.evaluate(VIOLATIONS)
    assert [violation.split(":")[0] for violation in violations] == ["button-name", "image-alt"]


@pytest.mark.parametrize("width", [360, 1200])
def test_labels_and_layers_have_no_violations(demo: Page, width: int) -> None:
    demo.resize(width, 800, phone=width < 500)
    drop(demo, "/images/carrots014.jpg")
    demo.evaluate("document.getElementById('layers').click()")
    demo.wait_for("!document.getElementById('activations').hidden")
    assert demo.evaluate("document.getElementById('labels').ariaLive") == "polite"
    check(demo)


def test_an_error_message_has_no_violations(demo: Page, site: Site) -> None:
    site.files["/words.txt"] = b"not a picture"
    drop(demo, "/words.txt")
    check(demo)

"""Accessibility: axe-core finds no violation in any state of the page, in the light and the dark theme."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from chromium import Browser, Page
from demo_page import drop, opened
from web_site import WEB, Site

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

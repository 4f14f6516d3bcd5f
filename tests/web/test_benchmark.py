"""The AI Benchmark in the demo page: its cards, and its message if the networks are missing."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, Page
from demo_page import opened, status
from picture_models import picture_model
from PIL import Image
from tiny import write_tiny
from web_site import ROOT, SHOTS, Site

from glsl_infer.tools.aibench import degraded_input
from glsl_infer.tools.aibench.tests import TESTS

pytestmark = pytest.mark.exhaustive

PHOTOGRAPH = ROOT / "docs/images/pineapple007.jpg"
TESTS_WITH_IMAGES = [test for test in TESTS if test.shown]
RUN = "document.getElementById('bench').click()"
CARDS = """[...document.querySelectorAll("#tests article")].map((card) => ({
    name: card.querySelector("h3").textContent,
    about: card.querySelector(".about").textContent,
    wrong: card.classList.contains("failed"),
    why: card.querySelector(".wrong")?.textContent ?? "",
    labels: card.querySelectorAll("li").length,
    lit: [...card.querySelectorAll("canvas")].map((canvas) => !canvas.hidden && canvas.width > 0),
    ...Object.fromEntries([...card.querySelectorAll("output")].map((cell) => [cell.className, cell.textContent])),
}))"""

PICTURES = """[...document.querySelectorAll("#tests article")].map((card) =>
    [...card.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()).join()
    + card.querySelector("ol").textContent)"""


@pytest.fixture
def demo(browser: Browser, site: Site) -> Iterator[Page]:
    with opened(browser, site, height=1600) as page:
        yield page


def small_networks(site: Site, folder: Path, broken: str) -> None:
    """Serve small networks under the names of the benchmark's networks, one of them ``broken``, and their images."""
    offered = json.loads((ROOT / "web/dist/models/index.json").read_text("utf-8"))
    for test in TESTS_WITH_IMAGES:
        stem = f"{test.network}-{test.width}x{test.height}"
        offered["pictures"].append(f"{stem}.png")
        if test.classes:
            bundle = write_tiny(folder).read_bytes()
        else:
            channels = 1 if test.network == "vdsr" else 3
            bundle = picture_model(folder / f"{stem}.glslnn", (24, 36), "stretch/area-average", channels, "image")
        site.files[f"/models/{stem}.glslnn"] = b"no bundle" if test.network == broken else bundle
        degraded_input.write(test, PHOTOGRAPH, (test.width, test.height), folder / f"{stem}.png")
        site.files[f"/models/{stem}.png"] = (folder / f"{stem}.png").read_bytes()
    site.files["/models/index.json"] = json.dumps(offered).encode()


def test_every_test_has_a_card_with_its_pictures(browser: Browser, site: Site, tmp_path: Path) -> None:
    files = dict(site.files)
    small_networks(site, tmp_path, broken="srgan")
    try:
        with opened(browser, site, height=1600, query="?quick") as demo:
            demo.evaluate(RUN)
            demo.wait_for("document.getElementById('status').textContent.startsWith('The AI Benchmark:')")
            assert status(demo) == "The AI Benchmark: 4 of 5 tests have run."
            cards = {card["name"]: card for card in demo.evaluate(CARDS)}
            demo.screenshot(SHOTS / "benchmark.png")
    finally:
        site.files.clear()
        site.files.update(files)
    assert list(cards) == [f"{test.number} {test.task}" for test in TESTS_WITH_IMAGES]
    failed = cards.pop("6 super-resolution x4")
    assert failed["wrong"] and "srgan-128x128.glslnn" in failed["why"]
    assert failed["about"] == "srgan, weights not trained"
    for card in cards.values():
        assert not card["wrong"] and not card["why"]
        assert float(card["mean"].removesuffix(" ms")) > 0 and card["pictures"] == "4"
        assert card["lit"] == [True, not card["labels"]]
    assert cards["4 deblurring"]["reference"] == "1168 ms"


def test_long_frames_let_the_page_go_on(browser: Browser, site: Site, tmp_path: Path) -> None:
    """A fast clock in the second run makes every layer seem long, so that the page pauses; the images are the same."""
    files = dict(site.files)
    small_networks(site, tmp_path, broken="")
    pauses, pictures = [], []
    try:
        for clock in ("", "performance.now = ((now) => () => now += 200)(0);"):
            with opened(browser, site, height=1600, query="?quick") as demo:
                demo.evaluate(f"""(() => {{
                    {clock}
                    globalThis.pauses = 0;
                    const later = setTimeout;
                    globalThis.setTimeout = (...args) => (globalThis.pauses += args[1] ? 0 : 1, later(...args));
                    {RUN};
                }})()""")
                demo.wait_for("document.getElementById('status').textContent.startsWith('The AI Benchmark:')")
                assert status(demo) == "The AI Benchmark: all of 5 tests have run."
                pauses.append(demo.evaluate("pauses"))
                pictures.append(demo.evaluate(PICTURES))
    finally:
        site.files.clear()
        site.files.update(files)
    assert pauses[1] >= 2 * 5 * 4, "one before each picture, one in it at least"
    assert pictures[0] == pictures[1] and len(pictures[0]) == 5


def test_a_page_without_the_networks_has_the_command_for_them(demo: Page) -> None:
    demo.evaluate(RUN)
    demo.wait_for("document.getElementById('status').className === 'wrong'")
    assert "glsl-infer aibench --only 1,4,5,6,8 --models DIR" in status(demo)
    assert demo.evaluate("document.getElementById('benchmark').hidden")


def test_degraded_images_have_the_size_and_mode_of_their_network(tmp_path: Path) -> None:
    for test in TESTS_WITH_IMAGES:
        path = tmp_path / f"{test.network}.png"
        degraded_input.write(test, PHOTOGRAPH, (test.width, test.height), path)
        with Image.open(io.BytesIO(path.read_bytes())) as picture:
            assert picture.size == (test.width, test.height)
            assert picture.mode == ("L" if test.network == "vdsr" else "RGB")

"""The demo page with a camera that shows a film, frame after frame, and without a camera."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import film
import numpy as np
import pytest
from chromium import Browser, Page
from demo_page import choose
from web_site import DEFAULT_MODEL, ROOT, SHOTS, Site

import glsl_infer

PHOTOGRAPH = ROOT / "docs/images/banana006.jpg"
LABEL = "Banana"
FRAMES = 10

WATCH = """(frames) => {
    globalThis.said = [];
    const watcher = new MutationObserver(() => {
        const label = document.querySelector("#labels li span");
        if (label) said.push(label.textContent);  // else the list is emptied, as the camera stops
        if (said.length === frames) watcher.disconnect();
    });
    watcher.observe(document.getElementById("labels"), {childList: true});
}"""


@pytest.fixture(scope="module")
def film_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a film of a photograph, in which the default model sees one label."""
    path = tmp_path_factory.mktemp("film") / "film.mjpeg"
    pictures = film.frames(PHOTOGRAPH)
    with glsl_infer.Classifier(DEFAULT_MODEL) as classifier:
        shown_labels = Counter(
            classifier.classify(np.asarray(picture), 1)[0].label for picture in pictures[:: film.FRAMES // 8]
        )
    assert set(shown_labels) == {LABEL}
    film.write(pictures, path)
    return path


@pytest.fixture(scope="module")
def filmed(film_file: Path, site: Site) -> Iterator[Page]:
    """The demo page in a browser whose camera shows the film and which grants camera access to every page."""
    flags = (
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        f"--use-file-for-fake-video-capture={film_file}",
    )
    with Browser(flags) as browser:
        page = browser.page(f"{site.address}/index.html")
        page.resize(1200, 800)
        page.wait_for("!document.getElementById('camera').disabled")
        yield page
        assert page.errors == []


def text(page: Page, element: str) -> str:
    return str(page.evaluate(f"document.getElementById('{element}').textContent"))


def watch_the_film(page: Page, model: str) -> None:
    """Start the camera, unless an earlier test has, and load a model."""
    if text(page, "camera") == "Start camera":
        page.evaluate("document.getElementById('camera').click()")
        page.wait_for("document.getElementById('camera').textContent !== 'Start camera'")
    choose(page, model)
    page.wait_for("!document.getElementById('status').textContent.startsWith('Loading')")


def test_the_film_is_labelled_frame_after_frame(filmed: Page) -> None:
    watch_the_film(filmed, DEFAULT_MODEL.stem)
    filmed.evaluate(WATCH, FRAMES)
    filmed.wait_for(f"said.length >= {FRAMES} && +document.getElementById('frames').textContent >= {FRAMES}")
    assert set(filmed.evaluate("said")) == {LABEL}
    assert text(filmed, "time").endswith(" ms")
    assert float(text(filmed, "rate")) > 0
    filmed.screenshot(SHOTS / "camera.png")


def test_another_model_continues_with_the_camera(filmed: Page) -> None:
    watch_the_film(filmed, "superres-x2-96")
    filmed.wait_for("!document.getElementById('output').hidden && +document.getElementById('frames').value > 1")
    assert filmed.evaluate("[document.getElementById('output').width, document.getElementById('output').height]") == [
        192,
        192,
    ]
    assert text(filmed, "labels") == ""
    filmed.screenshot(SHOTS / "superres.png")


def test_stopping_releases_the_camera(filmed: Page) -> None:
    watch_the_film(filmed, DEFAULT_MODEL.stem)
    filmed.wait_for("document.querySelector('#labels li')")
    filmed.evaluate("globalThis.track = document.getElementById('video').srcObject.getTracks()[0]")
    filmed.evaluate("document.getElementById('camera').click()")
    assert filmed.evaluate("track.readyState") == "ended"
    assert text(filmed, "status") == "The camera is off."
    assert text(filmed, "camera") == "Start camera"
    # A frame that was pending when the camera stopped is not shown either.
    filmed.evaluate("new Promise((resolve) => setTimeout(resolve, 1000))")
    assert text(filmed, "labels") == ""
    assert text(filmed, "frames") == "0"
    assert text(filmed, "time") == "–"
    filmed.screenshot(SHOTS / "stopped.png")


def test_without_a_camera_the_page_gives_advice(browser: Browser, site: Site) -> None:
    page = browser.page(f"{site.address}/index.html")
    page.wait_for("!document.getElementById('camera').disabled")
    page.evaluate("document.getElementById('camera').click()")
    page.wait_for("document.getElementById('status').classList.contains('wrong')")
    assert any(word in text(page, "status") for word in ("Choose an image", "Allow it"))
    assert text(page, "camera") == "Start camera"
    page.close()

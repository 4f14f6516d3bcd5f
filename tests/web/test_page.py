"""The demo page with images: labels, layers, keyboard, small screens, and no requests to other servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from chromium import Browser, Page
from demo_page import DROP, choose, drop, opened, status
from picture_models import picture_model
from PIL import Image
from several import several_bundle
from web_site import DEFAULT_MODEL, ROOT, SHOTS, Site

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.bundle.manifest import FITS
from glsl_infer.program.layout import FeatureMap

PHOTOGRAPH = ROOT / "docs/images/carrots014.jpg"


@pytest.fixture
def demo(browser: Browser, site: Site) -> Iterator[Page]:
    with opened(browser, site, height=900) as page:
        yield page


def test_all_models_can_be_chosen_and_one_of_them_is(demo: Page) -> None:
    offered = demo.evaluate("[...document.getElementById('model').options].map((one) => one.text)")
    assert offered == sorted(path.stem for path in (ROOT / "models").glob("*.glslnn"))
    assert demo.evaluate("document.getElementById('model').value") == f"models/{DEFAULT_MODEL.name}"
    about = demo.evaluate("document.getElementById('about').textContent")
    assert about.startswith(f"{DEFAULT_MODEL.name}: ")


def test_a_dropped_picture_gets_the_python_runners_five_labels(demo: Page) -> None:
    drop(demo, f"/images/{PHOTOGRAPH.name}")
    demo.wait_for("document.getElementById('status').textContent.includes('pixels')")
    rows = demo.evaluate("[...document.querySelectorAll('#labels li')].map((row) => row.innerText.split('\\n'))")
    with glsl_infer.Classifier(DEFAULT_MODEL) as classifier:
        expected = classifier.classify(PHOTOGRAPH)
    assert [label for label, _ in rows] == [prediction.label for prediction in expected]
    for (_, percent), prediction in zip(rows, expected):
        assert abs(float(percent.rstrip(" %")) / 100 - prediction.probability) < 0.03
    with Image.open(PHOTOGRAPH) as image:
        assert f"{image.width} × {image.height} pixels" in status(demo)


def test_layers_are_shown_on_request(demo: Page) -> None:
    drop(demo, f"/images/{PHOTOGRAPH.name}")
    assert demo.evaluate("document.getElementById('activations').hidden")
    demo.evaluate("document.getElementById('layers').click()")
    captions = demo.evaluate("[...document.querySelectorAll('#layer-list figcaption')].map((one) => one.textContent)")
    passes = bundles.read(DEFAULT_MODEL).manifest.passes
    assert [caption.split(" · ")[0] for caption in captions] == list(dict.fromkeys(draw.layer for draw in passes))
    lit = demo.evaluate("""[...document.querySelectorAll("#layer-list canvas")].map((one) => {
        const {data} = one.getContext("2d").getImageData(0, 0, one.width, one.height);
        return data.some((byte, i) => i % 4 < 3 && byte > 0);
    })""")
    assert all(lit)
    assert demo.evaluate("document.activeElement.id") == "activations-title"
    demo.resize(1200, 2600)
    demo.screenshot(SHOTS / "layers.png")


def test_every_control_works_by_keyboard(demo: Page) -> None:
    drop(demo, f"/images/{PHOTOGRAPH.name}")
    reached = []
    demo.evaluate("document.activeElement.blur()")
    samples = demo.evaluate("document.querySelectorAll('#samples button').length")
    for _ in range(7 + samples):
        demo.press("Tab")
        focused = "document.activeElement"
        reached.append(demo.evaluate(f"{focused}.id || {focused}.parentElement.parentElement.id"))
        assert demo.evaluate("""(() => {
            const focused = document.activeElement;
            const shown = focused.id === "file" ? focused.nextElementSibling : focused;
            return getComputedStyle(shown).outlineStyle !== "none";
        })()""")
    assert reached == ["task", "model", "camera", "file", *["samples"] * samples, "check", "layers", "compare"]
    demo.evaluate("document.getElementById('layers').focus()")
    demo.press("Enter")
    assert not demo.evaluate("document.getElementById('activations').hidden")


@pytest.mark.parametrize("model", ["grocery-x22-257", "superres-x2-96"])
def test_the_gpu_is_checked_on_demand(demo: Page, model: str) -> None:
    choose(demo, model)
    demo.wait_for("!document.getElementById('check').disabled")
    demo.evaluate("document.getElementById('check').click()")
    match = re.fullmatch(
        r"This GPU computes all (\d+) layers correctly\. The largest error, compared with its limit, is in layer "
        r"'(.+)': (\d+) of (255|65535) steps \((8|16) bits\), where (\d+) are allowed\.",
        status(demo),
    )
    assert match, status(demo)
    manifest = bundles.read(ROOT / f"models/{model}.glslnn").manifest
    [tolerance] = [layer for layer in manifest.probe.layers if layer.layer == match[2]]
    assert int(match[1]) == len(manifest.probe.layers)
    assert (match[4], match[5]) == (("255", "8") if isinstance(tolerance.value, FeatureMap) else ("65535", "16"))
    assert int(match[3]) <= int(match[6]) == tolerance.max_error
    if model == "grocery-x22-257":
        demo.screenshot(SHOTS / "checked.png")


SAMPLE = """(name) =>
    [...document.querySelectorAll("#samples img")].find((one) => one.src.endsWith(name)).closest("button").click()"""


def test_a_sample_picture_is_a_click_away(demo: Page) -> None:
    assert not demo.evaluate("document.getElementById('nothing').hidden")
    demo.evaluate(SAMPLE, PHOTOGRAPH.name)
    demo.wait_for("document.querySelector('#labels li span')?.textContent === 'Carrots'")
    pressed = demo.evaluate("[...document.querySelectorAll('[aria-pressed=true] img')].map((one) => one.alt)")
    assert pressed == ["Carrots"]
    assert demo.evaluate("document.getElementById('nothing').hidden")
    absent = "(picture) => !picture.complete || !picture.naturalWidth"
    missing = demo.evaluate(f"[...document.images].filter({absent}).map((picture) => picture.src)")
    assert missing == []
    demo.screenshot(SHOTS / "desktop.png")


@pytest.mark.parametrize(("width", "height"), [(360, 640), (412, 732), (768, 1024)])
def test_the_labels_are_seen_without_scrolling(demo: Page, width: int, height: int) -> None:
    demo.resize(width, height, phone=True)
    demo.screenshot(SHOTS / f"empty{width}.png")
    assert demo.evaluate("document.querySelector('#samples li').getBoundingClientRect().bottom <= innerHeight")
    demo.evaluate(SAMPLE, PHOTOGRAPH.name)
    demo.wait_for("document.querySelector('#labels li span')?.textContent === 'Carrots'")
    assert demo.evaluate("""[...document.querySelectorAll("#picture, #labels li")]
        .map((part) => part.getBoundingClientRect())
        .every(({top, bottom}) => top >= 0 && bottom <= innerHeight)""")
    demo.screenshot(SHOTS / f"labels{width}.png")


@pytest.mark.parametrize("width", [360, 412])
def test_a_phone_shows_all_without_scrolling_sideways(demo: Page, width: int) -> None:
    demo.resize(width, 1500, phone=True)
    drop(demo, "/images/plastic103.jpg")
    longest = "Math.max(...[...document.querySelectorAll('#labels span')].map((one) => one.textContent.length))"
    assert demo.evaluate(longest) > 25  # of a single word
    demo.evaluate("document.getElementById('layers').click()")
    assert demo.evaluate("document.documentElement.scrollWidth") <= width
    small = demo.evaluate("""[...document.querySelectorAll("button, select, .button")]
        .filter((one) => one.offsetParent) // what is shown
        .map((one) => [one.getBoundingClientRect(), one.closest("#samples")]) // these scroll sideways
        .filter(([box, scrolls]) => box.height < 44 || (!scrolls && box.right > innerWidth)).length""")
    assert small == 0
    demo.screenshot(SHOTS / f"phone{width}.png")


def test_text_has_enough_contrast(demo: Page) -> None:
    for scheme in ("light", "dark"):
        demo.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert min(demo.evaluate(CONTRASTS)) >= 4.5, scheme
    drop(demo, f"/images/{PHOTOGRAPH.name}")
    demo.screenshot(SHOTS / "dark.png")


CONTRASTS = """(() => {
    const light = (color) => {
        const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3)
            .map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (one) => {
        const color = getComputedStyle(one).backgroundColor;
        return color === "rgba(0, 0, 0, 0)" && one.parentElement ? ground(one.parentElement) : color;
    };
    return [...document.querySelectorAll("h1, h2, p, button, select, .button, dt, dd, label")].map((one) => {
        const [a, b] = [light(getComputedStyle(one).color), light(ground(one))];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    });
})()"""


def test_files_other_than_images_are_refused(demo: Page, site: Site) -> None:
    site.files["/words.txt"] = b"not a picture"
    drop(demo, "/words.txt")
    assert status(demo) == "words.txt: this browser cannot read it as an image. JPEG, PNG and WebP work."


def test_errors_have_their_own_colour(demo: Page, site: Site) -> None:
    colour = "getComputedStyle(document.getElementById('status')).color"
    quiet = demo.evaluate(colour)
    site.files["/words.txt"] = b"not a picture"
    drop(demo, "/words.txt")
    demo.screenshot(SHOTS / "wrong.png")
    for scheme, wrong in (("light", "rgb(160, 24, 24)"), ("dark", "rgb(255, 154, 147)")):
        demo.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert demo.evaluate(colour) == wrong != quiet
        assert min(demo.evaluate(CONTRASTS)) >= 4.5, scheme


def test_a_dropped_model_is_used(demo: Page, site: Site) -> None:
    drop_only = DROP.replace("stage", "hint")
    demo.evaluate(drop_only, "/models/superres-x2-96.glslnn", "mine.glslnn")
    demo.wait_for("document.getElementById('about').textContent.startsWith('mine.glslnn')")
    assert status(demo) == "Ready."
    assert chosen(demo) == "mine.glslnn (your file)"
    demo.screenshot(SHOTS / "mine.png")

    site.files["/broken.glslnn"] = b"PK"
    demo.evaluate(drop_only, "/broken.glslnn", "broken.glslnn")
    demo.wait_for("document.getElementById('status').className === 'wrong'")
    assert chosen(demo) == "mine.glslnn (your file)"

    choose(demo, DEFAULT_MODEL.stem)
    demo.wait_for(f"document.getElementById('about').textContent.startsWith('{DEFAULT_MODEL.name}')")
    assert chosen(demo) == DEFAULT_MODEL.stem
    assert "mine" not in demo.evaluate("document.getElementById('model').textContent")


def test_a_model_of_another_shape_shows_the_part_that_it_reads(demo: Page, site: Site, tmp_path: Path) -> None:
    site.files["/wide.glslnn"] = picture_model(tmp_path / "wide.glslnn", (20, 50), FITS[1], 3, "mask")
    demo.evaluate(DROP, f"/images/{PHOTOGRAPH.name}", PHOTOGRAPH.name)
    demo.wait_for("document.getElementById('status').textContent.includes('the centred square')")
    demo.evaluate(DROP, "/wide.glslnn", "wide.glslnn")
    demo.wait_for("document.getElementById('about').textContent.includes('reads 50 × 20 pixels')")
    demo.wait_for("!document.getElementById('output').hidden")
    sizes = "['picture', 'output'].map((id) => document.getElementById(id)).flatMap((one) => [one.width, one.height])"
    result = demo.evaluate(sizes)
    assert abs(result[0] / result[1] - 50 / 20) < 0.02
    assert result[2:] == [50, 20]
    demo.evaluate(DROP, f"/images/{PHOTOGRAPH.name}", PHOTOGRAPH.name)
    demo.wait_for("document.getElementById('status').textContent.includes('in the shape of its own image')")


def test_a_model_with_other_inputs_is_refused(demo: Page, site: Site, tmp_path: Path) -> None:
    bundles.write(several_bundle("several"), tmp_path / "several.glslnn")
    site.files["/several.glslnn"] = (tmp_path / "several.glslnn").read_bytes()
    demo.evaluate(DROP, "/several.glslnn", "several.glslnn")
    demo.wait_for("document.getElementById('status').className === 'wrong'")
    words = "This page shows models that read one image. This one reads image (an image) and numbers (numbers). "
    assert status(demo).startswith(words)
    assert chosen(demo) == DEFAULT_MODEL.stem


def chosen(page: Page) -> str:
    """Return the selected entry in the list of models."""
    return str(page.evaluate("document.getElementById('model').selectedOptions[0].text"))


def test_an_unusable_model_keeps_the_current_one(demo: Page, site: Site) -> None:
    site.files["/broken.glslnn"] = b"PK"
    drop(demo, "/broken.glslnn")
    assert status(demo).startswith("broken.glslnn: not a glsl-infer model, or cut off before its end")
    assert chosen(demo) == DEFAULT_MODEL.stem
    demo.evaluate(DROP, f"/images/{PHOTOGRAPH.name}", PHOTOGRAPH.name)
    demo.wait_for("document.querySelector('#labels li span')?.textContent === 'Carrots'")


def test_the_page_makes_no_requests_to_other_hosts(demo: Page, site: Site) -> None:
    drop(demo, f"/images/{PHOTOGRAPH.name}")
    demo.evaluate("document.getElementById('layers').click()")
    hosts = {urlsplit(address).netloc for address in demo.requests if not address.startswith(("data:", "blob:"))}
    assert hosts == {urlsplit(site.address).netloc}


CONTEXTS = """
    globalThis.contexts = [];
    const original = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (...given) {
        const context = original.apply(this, given);
        if (given[0] === "webgl") contexts.push(context);
        return context;
    };
"""


def test_a_dead_gpu_process_is_named_and_a_smaller_model_is_offered(site: Site) -> None:
    carrots = "document.querySelector('#labels li span')?.textContent === 'Carrots'"
    with Browser() as browser:
        page = browser.page()
        page.call("Page.addScriptToEvaluateOnNewDocument", source=CONTEXTS)
        page.go(f"{site.address}/index.html")
        page.wait_for("!document.getElementById('camera').disabled")
        browser.call("Browser.crashGpuProcess")
        page.evaluate(SAMPLE, PHOTOGRAPH.name)  # the browser starts the process again
        page.wait_for(carrots)
        assert page.evaluate("document.getElementById('smaller').hidden")

        page.evaluate("contexts.at(-1).getExtension('WEBGL_lose_context').loseContext()")
        page.evaluate(SAMPLE, PHOTOGRAPH.name)  # nobody restores it
        page.wait_for("document.getElementById('status').className === 'wrong'")
        assert status(page) == (
            "The browser's graphics process has ended and does not start again with grocery-x22-257.glslnn. "
            "Use a smaller model, or reload the page."
        )
        assert page.evaluate("document.getElementById('smaller').textContent") == "Use trashnet-x22-257"
        page.screenshot(SHOTS / "smaller.png")
        page.evaluate("document.getElementById('smaller').click()")
        page.wait_for("document.getElementById('about').textContent.startsWith('trashnet-x22-257')")
        assert chosen(page) == "trashnet-x22-257"
        assert page.evaluate("document.getElementById('smaller').hidden")
        assert page.errors == []


def test_a_browser_without_webgl_is_reported(site: Site) -> None:
    with Browser(["--disable-3d-apis"]) as browser:
        page = browser.page(f"{site.address}/index.html")
        page.wait_for("document.getElementById('status').className === 'wrong'")
        assert "gives no WebGL 1 context; switch on" in status(page)
        assert ", or use another browser" in status(page)
        page.screenshot(SHOTS / "no-webgl.png")

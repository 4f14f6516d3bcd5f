"""Three runners compared on images and on the camera, and the models converted to tfjs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import film
import numpy as np
import pytest
import ranged
from chromium import Browser, Page
from demo_page import DROP, choose, drop, opened, status
from graphs import classifier, conv_node, input_node
from numpy.typing import NDArray
from web_site import DEFAULT_MODEL, ROOT, SHOTS, WEB, Site

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node, reference

pytestmark = pytest.mark.exhaustive


PHOTOGRAPH = ROOT / "docs/images/pineapple007.jpg"
PATIENCE = 180.0
"""tfjs compiles its shaders for a minute if two cores are busy with other work."""

CARDS = """[...document.querySelectorAll("#runners article")].map((card) => ({
    name: card.querySelector("h3").textContent,
    about: card.querySelector(".about").textContent,
    wrong: card.querySelector(".about").classList.contains("wrong"),
    labels: [...card.querySelectorAll("li")].map((one) => one.innerText.split("\\n")),
    ...Object.fromEntries([...card.querySelectorAll("output")].map((one) => [one.className, one.textContent])),
}))"""

NAMES = ["glsl-infer", "tfjs on the GPU", "tfjs on the CPU"]


@pytest.fixture(scope="module")
def patient(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser with a long timeout whose camera shows a film."""
    path = tmp_path_factory.mktemp("film") / "film.mjpeg"
    film.write(film.frames(PHOTOGRAPH), path)
    flags = (
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        f"--use-file-for-fake-video-capture={path}",
    )
    with Browser(flags, patience=PATIENCE) as running:
        yield running


@pytest.fixture
def demo(patient: Browser, site: Site) -> Iterator[Page]:
    with opened(patient, site, height=1300) as page:
        yield page


@pytest.fixture
def without_tfjs(site: Site) -> Iterator[None]:
    site.files["/tfjs.json"] = json.dumps({"version": None, "models": []}).encode()
    yield
    del site.files["/tfjs.json"]


def compare(page: Page) -> None:
    page.evaluate("document.getElementById('compare').click()")


def wait_for_the_end(page: Page) -> None:
    page.wait_for("document.getElementById('status').textContent.startsWith('Compared on 10 frames')")


def sizes(dist: Path, *names: str) -> int:
    return sum((dist / name).stat().st_size for name in names)


def words(size: int) -> str:
    return f"{-(-size // 1000)} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"


def test_three_runners_agree_on_a_picture(demo: Page, dist: Path, site: Site) -> None:
    drop(demo, f"/images/{PHOTOGRAPH.name}")
    compare(demo)
    wait_for_the_end(demo)
    cards = demo.evaluate(CARDS)
    assert [card["name"] for card in cards] == NAMES
    assert [card["about"].split(",")[0] for card in cards] == ["WebGL 1", "WebGL 2", "WebAssembly"]
    with glsl_infer.Classifier(DEFAULT_MODEL) as classifier:
        expected = {prediction.label: prediction.probability for prediction in classifier.classify(PHOTOGRAPH)}
    for card in cards:
        assert len(card["labels"]) == 3
        assert card["labels"][0][0] == "Pineapple"
        for label, percentage in card["labels"]:
            assert abs(float(percentage.rstrip(" %")) / 100 - expected[label]) < 0.03, card["name"]
        assert card["frame"].endswith(" ms")
        assert card["first"].endswith(" ms")
    network = [f"tfjs/{DEFAULT_MODEL.stem}/{name}" for name in ("model.json", "weights.bin")]
    assert [card["bytes"] for card in cards] == [
        words(sizes(dist, "glsl-infer.js", f"models/{DEFAULT_MODEL.name}")),
        words(sizes(dist, "tfjs/webgl.js", *network)),
        words(sizes(dist, "tfjs/wasm.js", "tfjs/tfjs-backend-wasm-simd.wasm", *network)),
    ]
    assert demo.evaluate("document.getElementById('compare').textContent") == "Compare with tfjs"
    demo.screenshot(SHOTS / "comparison.png")

    requested = {urlsplit(address) for address in demo.requests if not address.startswith(("data:", "blob:"))}
    assert {address.netloc for address in requested} == {urlsplit(site.address).netloc}
    assert "/tfjs/webgl.js" in {address.path for address in requested}  # requests of workers are included

    drop(demo, f"/images/{PHOTOGRAPH.name}")
    demo.wait_for("document.getElementById('comparison').hidden")  # the earlier labels are still there


def test_three_runners_make_the_same_picture(demo: Page) -> None:
    choose(demo, "superres-x2-96")
    demo.wait_for("document.getElementById('about').textContent.startsWith('superres')")
    demo.evaluate(DROP, f"/images/{PHOTOGRAPH.name}", PHOTOGRAPH.name)
    demo.wait_for("document.getElementById('status').textContent.includes('pixels')")
    compare(demo)
    wait_for_the_end(demo)
    pictures = demo.evaluate("""[...document.querySelectorAll("#runners canvas")].map((one) =>
        Array.from(one.getContext("2d").getImageData(0, 0, one.width, one.height).data))""")
    assert [len(picture) for picture in pictures] == [4 * 192 * 192] * 3
    own, gpu, cpu = pictures
    assert sum(own) > 0.1 * 255 * len(own)
    assert max(abs(a - b) for a, b in zip(gpu, cpu)) <= 1
    differences = [abs(a - b) for a, b in zip(own, cpu)]
    assert sum(differences) / len(differences) < 0.5  # one stores bytes between layers, the others floats
    assert demo.evaluate("document.querySelectorAll('#runners li').length") == 0
    demo.screenshot(SHOTS / "comparison-superres.png")


def test_the_comparison_on_the_camera_can_be_stopped(demo: Page) -> None:
    demo.evaluate("document.getElementById('camera').click()")
    demo.wait_for("document.getElementById('frames').value > 1")
    compare(demo)
    demo.wait_for("""document.querySelectorAll("#runners .frame").length === 3 &&
        [...document.querySelectorAll("#runners .frame")].every((one) => one.value !== "–")""")
    cards = demo.evaluate(CARDS)
    assert {card["labels"][0][0] for card in cards} == {"Pineapple"}
    compare(demo)
    demo.wait_for("document.getElementById('status').textContent === 'The comparison has ended.'")
    demo.evaluate("globalThis.before = +document.getElementById('frames').value")
    demo.wait_for("+document.getElementById('frames').value > before + 2")  # the film continues
    assert not demo.evaluate("document.getElementById('comparison').hidden")
    demo.evaluate("document.getElementById('camera').click()")


def test_without_tfjs_the_page_names_the_missing_file(demo: Page, without_tfjs: None) -> None:
    drop(demo, f"/images/{PHOTOGRAPH.name}")
    compare(demo)
    wait_for_the_end(demo)
    own, *other_runners = demo.evaluate(CARDS)
    assert not own["wrong"]
    assert own["labels"][0][0] == "Pineapple"
    for card in other_runners:
        assert card["wrong"]
        assert "npm could not fetch it" in card["about"]
        assert "make web" in card["about"]
        assert card["frame"] == "–"


def test_another_model_ends_the_comparison(demo: Page, without_tfjs: None) -> None:
    drop(demo, f"/images/{PHOTOGRAPH.name}")
    compare(demo)
    demo.wait_for("document.querySelector('#runners li')")
    demo.evaluate(DROP, "/models/superres-x2-96.glslnn", "mine.glslnn")
    demo.wait_for("document.getElementById('about').textContent.startsWith('mine.glslnn')")
    assert demo.evaluate("document.getElementById('comparison').hidden")
    demo.wait_for("document.getElementById('compare').textContent === 'Compare with tfjs'")
    compare(demo)
    demo.wait_for("document.getElementById('status').className === 'wrong'")
    assert status(demo).startswith("Only models of the list can be compared")


def test_three_runners_fit_on_a_phone(demo: Page, without_tfjs: None) -> None:
    demo.resize(360, 2300, phone=True)
    drop(demo, f"/images/{PHOTOGRAPH.name}")
    compare(demo)
    wait_for_the_end(demo)
    assert [card["wrong"] for card in demo.evaluate(CARDS)] == [False, True, True]
    assert demo.evaluate("document.documentElement.scrollWidth") <= 360
    demo.screenshot(SHOTS / "comparison360.png")


SIZE = 12
LABELS = ("one", "two", "three")
AROUND = (1, 1, 1, 1)

RUN = """async (folder, way, size, bytes) => {
    const run = await (await import("/tfjs/wasm.js")).load(folder, way);
    const {shape, data} = await run({data: new Uint8Array(bytes), width: size, height: size});
    return {shape, data: Array.from(data)};
}"""


def graph() -> Graph:
    """A network with groups, a depthwise convolution, residuals, strides, paddings and calibrated ranges."""
    rng = np.random.default_rng(8)
    clips = {"padding": AROUND, "kernel": (3, 3)}
    body = [
        input_node(SIZE),
        conv_node(rng, "first", ("image",), 3, 10, kernel=(3, 3), padding=(0, 1, 2, 0), activation="relu"),
        conv_node(rng, "wider", ("first",), 10, 12, groups=2, activation="linear"),
        conv_node(rng, "each", ("wider", "wider"), 12, 12, groups=12, activation="relu(6)", **clips),
        conv_node(rng, "more", ("each",), 12, 64, kernel=(3, 2), strides=(2, 1), padding=(1, 0, 0, 1)),
        Node("shuffled", "channel_shuffle", ("more",), {"step": 8}),
        conv_node(rng, "grouped", ("shuffled", "more"), 64, 64, groups=16, **clips),
        Node("sum", "add", ("grouped", "shuffled"), {"activation": "linear"}),
    ]
    return classifier(rng, body, 64)


def picture(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3), np.uint8)


def converted(folder: Path, *names: str) -> tuple[list[str], str]:
    """Convert models of a folder; return the names of the converted ones, and the messages about the others."""
    command = ["node", str(WEB / "tfjs/build.mjs"), str(folder), *names]
    done = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    *message, last = done.stdout.splitlines()
    return json.loads(last), "\n".join(message)


@pytest.mark.parametrize("weights", ["uniform", "texture", "baked"])
def test_tfjs_computes_the_graph(blank: Page, site: Site, tmp_path: Path, weights: str) -> None:
    (tmp_path / "models").mkdir()
    options = Options(weights=weights, weight_bits="16")
    bundle, _, _ = build(graph(), LABELS, options=options, calibration=[picture(seed) for seed in range(4)])
    bundles.write(bundle, tmp_path / "models/all.glslnn")
    assert converted(tmp_path, "all.glslnn") == (["all.glslnn"], "")
    for name in ("model.json", "weights.bin"):
        site.files[f"/{weights}/{name}"] = (tmp_path / "tfjs/all" / name).read_bytes()
    pixels = picture(9)
    bytes_ = np.dstack([pixels, np.full((SIZE, SIZE), 255, np.uint8)]).ravel().tolist()
    expected = reference.run(graph(), pixels, mode="float")
    for layout in ("split", "whole"):
        result = blank.evaluate(RUN, f"/{weights}", layout, SIZE, bytes_)
        assert result["shape"] == [len(LABELS)]
        # Dense weights have 16 bits in every bundle. In a texture, all weights have 16 bits here.
        assert np.abs(np.array(result["data"]) - expected).max() < 0.003 * np.ptp(expected), layout


def test_features_without_counterpart_in_tfjs_are_named(tmp_path: Path, dist: Path) -> None:
    (tmp_path / "models").mkdir()
    ranged.write_ranged(tmp_path / "models").rename(tmp_path / "models/other.glslnn")
    words = "layer 'image': an image whose numbers are not from 0 to 1 is not converted for tfjs"
    assert converted(tmp_path, "other.glslnn") == ([], f"web/dist/tfjs: other.glslnn: {words}")

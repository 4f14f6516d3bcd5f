"""Images of any size, by decoder, shader and network, against the Python preprocessing."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from chromium import Browser, Page
from numpy.typing import NDArray
from pairwise import each_of
from picture_models import picture_model
from PIL import Image
from web_site import ROOT, Site

import glsl_infer
from glsl_infer.bundle.manifest import FITS
from glsl_infer.runtime.none_of_these import NONE, rule_of
from glsl_infer.runtime.pictures import preprocess

STEPS = 2
"""Largest difference of a byte, in steps of 1/255: the browser rounds between rows and columns."""

SIZES = [(24, 40), (33, 21)]
PICTURES = [(100, 37), (37, 100), (8, 50), (40, 24), (48, 80), (20, 70), (1, 1), (3, 300)]
"""Width and height: wider, higher, smaller and larger than the model's, the same, and with one equal side."""

READ_INPUT_TEXTURES = """async (names) => {
    const {texture, x, y} = model.session.picture.value.views[0];
    const {width, height} = model.session.picture.value;
    const pixels_read = [];
    for (const name of names) {
        await model.run(await (await fetch(name)).blob());
        pixels_read.push([...model.session.readTexture(texture, x, y, width, height).data]);
    }
    return pixels_read;
}"""


def picture(width: int, height: int, channels: int) -> Image.Image:
    random = np.random.default_rng(1000 * width + height)
    pixels = random.integers(0, 256, (height, width, channels)).astype(np.uint8)
    pixels[: height // 2] = np.linspace(0, 255, width).astype(np.uint8)[None, :, None]
    return Image.fromarray(pixels)


def texels(expected: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the expected texels of the input texture for a picture (height, width, channels)."""
    out = np.zeros((*expected.shape[:2], 4), np.uint8)
    out[..., 3] = 255
    out[..., : expected.shape[2]] = expected
    return out


@each_of(("channels", [1, 3, 4]), ("fit", FITS))
def test_pictures_are_fitted_as_defined(blank: Page, site: Site, tmp_path: Path, fit: str, channels: int) -> None:
    images = [picture(*size, channels=3 if channels == 1 else channels) for size in PICTURES]
    for index, image in enumerate(images):
        file = io.BytesIO()
        image.save(file, "PNG")
        site.files[f"/{index}.png"] = file.getvalue()
    for size in SIZES:
        site.files["/fits.glslnn"] = picture_model(tmp_path / "fits.glslnn", size, fit, channels)
        blank.evaluate("(async () => { globalThis.model = await lib.GlslInfer.load('/fits.glslnn'); })()")
        pixels_read = blank.evaluate(READ_INPUT_TEXTURES, [f"/{index}.png" for index in range(len(images))])
        for image, sample in zip(images, pixels_read):
            expected = texels(preprocess.load(image, size, fit=fit, channels=channels))
            error = np.abs(np.array(sample, np.int64).reshape(expected.shape) - expected)
            assert error.max() <= STEPS, (size, image.size)
            if image.size == size[::-1]:
                assert error.max() == 0
        blank.evaluate("model.close()")


def test_pixels_of_the_models_own_size(blank: Page, site: Site, tmp_path: Path) -> None:
    """Pixels of the model's size are accepted with its channels or as RGBA.

    Transparent pixels are drawn over white, unless the model reads alpha itself.
    """
    rng = np.random.default_rng(3)
    rgba = rng.integers(0, 256, (6, 9, 4)).astype(np.uint8)
    for channels in (1, 3, 4):
        site.files["/own.glslnn"] = picture_model(tmp_path / "own.glslnn", (6, 9), FITS[0], channels)
        blank.evaluate("(async () => { globalThis.model = await lib.GlslInfer.load('/own.glslnn'); })()")
        own = preprocess.load(rgba, (6, 9), fit="stretch/area-average", channels=channels)
        for picture in (rgba, own):
            pixels_read = blank.evaluate(
                """async (bytes) => {
                    await model.run(Uint8Array.from(bytes));
                    const {texture, x, y} = model.session.picture.value.views[0];
                    return [...model.session.readTexture(texture, x, y, 9, 6).data];
                }""",
                picture.ravel().tolist(),
            )
            assert np.array_equal(np.array(pixels_read, np.uint8).reshape(6, 9, 4), texels(own)), channels
        blank.evaluate("model.close()")


SIZE = 129
MODEL = ROOT / "models" / "trashnet-x22-129.glslnn"

READ_INPUT = """async (kind) => {
    const blob = await (await fetch("/picture")).blob();
    const bitmap = await createImageBitmap(blob, {premultiplyAlpha: "none", colorSpaceConversion: "default"});
    const {width, height, views: [{texture, x, y}]} = globalThis.model.session.picture.value;
    let picture = bitmap;
    if (kind === "element") {
        picture = new Image();
        picture.src = "/picture";
        await picture.decode();
    } else if (kind === "canvas" || kind === "pixels") {
        picture = new OffscreenCanvas(bitmap.width, bitmap.height);
        picture.getContext("2d").drawImage(bitmap, 0, 0);
        if (kind === "pixels") picture = picture.getContext("2d").getImageData(0, 0, bitmap.width, bitmap.height);
    } else if (kind === "file") {
        picture = blob;
    }
    await globalThis.model.run(picture);
    const {data} = globalThis.model.session.readTexture(texture, x, y, width, height);
    return Array.from(data);
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page with one loaded model, shared by these tests."""
    page = browser.page(f"{site.address}/blank.html")
    page.evaluate("""(async () => {
        const lib = await import("/glsl-infer.js");
        globalThis.model = await lib.GlslInfer.load("/models/trashnet-x22-129.glslnn");
    })()""")
    yield page
    errors = page.errors
    page.close()
    assert errors == []


def noise(width: int, height: int, channels: int = 3) -> Image.Image:
    random = np.random.default_rng(width * 10000 + height)
    rough = random.integers(0, 256, (height, width, channels)).astype(np.uint8)
    rough[: height // 2] = np.linspace(0, 255, width).astype(np.uint8)[None, :, None]
    return Image.fromarray(rough)


def input_texels(page: Page, site: Site, picture: bytes, kind: str = "file") -> np.ndarray:
    """Return the network's input for a picture: RGBA texels, (129, 129, 4)."""
    site.files["/picture"] = picture
    return np.array(page.evaluate(READ_INPUT, kind), np.uint8).reshape(SIZE, SIZE, 4)


def png(image: Image.Image, exif: Image.Exif | None = None) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", exif=exif or Image.Exif())
    return file.getvalue()


@pytest.mark.parametrize(
    "size",
    [
        (129, 129),
        (130, 129),
        (512, 384),
        (384, 511),
        (1290, 1290),
        (2000, 1501),
        (258, 300),
        (128, 128),
        (64, 50),
        (1, 1),
    ],
)
def test_any_size_is_scaled_as_defined(page: Page, site: Site, size: tuple[int, int]) -> None:
    image = noise(*size)
    result = input_texels(page, site, png(image))
    error = np.abs(result[..., :3].astype(int) - preprocess.load(image, SIZE))
    assert error.max() <= (0 if min(size) == SIZE else STEPS)
    assert (result[..., 3] == 255).all()


def test_transparent_pictures_are_composited_over_white(page: Page, site: Site) -> None:
    image = noise(300, 200, 4)
    error = np.abs(input_texels(page, site, png(image))[..., :3].astype(int) - preprocess.load(image, SIZE))
    assert error.max() <= STEPS


@pytest.mark.parametrize("kind", ["file", "bitmap", "element", "canvas", "pixels"])
def test_every_kind_of_source_gives_the_same_picture(page: Page, site: Site, kind: str) -> None:
    image = noise(300, 260)
    error = np.abs(input_texels(page, site, png(image), kind)[..., :3].astype(int) - preprocess.load(image, SIZE))
    assert error.max() <= STEPS


def test_a_photograph_is_made_upright(page: Page, site: Site) -> None:
    image = noise(300, 260)
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(io.BytesIO(png(image, exif))) as turned:
        expected = preprocess.load(turned, SIZE)
    error = np.abs(input_texels(page, site, png(image, exif))[..., :3].astype(int) - expected)
    assert error.max() <= STEPS


CLASSIFIERS = sorted((ROOT / "models").glob("*-x22-*.glslnn"))
COUNT = 20
MARGIN = 0.3
"""Least difference of two logits or of the energy and its limit, and largest error of a logit."""

DATA = [Path(os.environ.get("GLSL_INFER_DATA", ROOT / "data")), ROOT.parent / "shared/data"]

LOAD = "async (url) => { globalThis.model = await lib.GlslInfer.load(url); }"
CLASSIFY = """async (address) => {
    const {labels, logits} = await model.classify(await (await fetch(address)).blob());
    return [labels[0].label, ...logits];
}"""


def shipped(_: str) -> Iterator[bytes]:
    """Yield the documentation's photographs, complete and cropped to several sizes and shapes."""
    for path in sorted((ROOT / "docs/images").glob("*[0-9].jpg")):
        yield path.read_bytes()
        with Image.open(path) as image:
            width, height = image.size
            shapes = ((0, 0, width * 3 // 4, height), (width // 5, 7, width, height), (3, 0, width // 2, height - 1))
            for box in (*shapes, (40, 10, 170, 110)):
                file = io.BytesIO()
                image.crop(box).save(file, "PNG")
                yield file.getvalue()


def from_data_set(name: str) -> Iterator[bytes]:
    """Yield test images of the model's data set, from all classes in turn."""
    folder = next((root / name for root in DATA if (root / name).is_dir()), None)
    if folder is None:
        pytest.skip(f"the data set is not here: scripts/get-data {name} data/{name}")
    classes = [sorted(path.iterdir()) for path in sorted((folder / "test").iterdir()) if path.is_dir()]
    for same_place in zip(*classes):
        yield from (path.read_bytes() for path in same_place)


# Chromium draws on the CPU: twenty images of grocery-x22-385 take five times as long as of trashnet-x22-129.
CHEAPEST = {("grocery-x22-257", shipped), ("trashnet-x22-129", from_data_set)}


def test_there_are_classifiers() -> None:
    assert {name for name, _ in CHEAPEST} <= {path.stem for path in CLASSIFIERS}


@pytest.mark.parametrize(
    ("model", "photographs"),
    [
        pytest.param(
            model,
            photographs,
            marks=[] if (model.stem, photographs) in CHEAPEST else pytest.mark.exhaustive,
            id=f"{model.stem}-{photographs.__name__}",
        )
        for model in CLASSIFIERS
        for photographs in (shipped, from_data_set)
    ],
)
def test_logits_and_labels_are_the_python_runners(
    blank: Page, site: Site, model: Path, photographs: Callable[[str], Iterator[bytes]]
) -> None:
    expected = {}
    with glsl_infer.Classifier(model) as classifier:
        rule = rule_of(classifier.session.bundle)
        assert rule is not None
        for index, data in enumerate(photographs(model.stem.partition("-")[0])):
            with Image.open(io.BytesIO(data)) as image:
                size = classifier.session.bundle.manifest.input.height
                logits = classifier.session.run(preprocess.load(image, size))
            low, high = np.sort(logits)[-2:]
            if high - low > MARGIN and abs(np.logaddexp.reduce(logits) - rule.logit_of(logits)) > MARGIN:
                address = f"/photograph{index}"
                site.files[address] = data
                expected[address] = (classifier.rank(logits)[0].label, logits)
            if len(expected) == COUNT:
                break
    assert len(expected) == COUNT
    if photographs is shipped and model.stem.startswith("grocery"):
        assert {NONE, "Carrots"} < {label for label, _ in expected.values()}
    blank.evaluate(LOAD, f"/models/{model.name}")
    for address, (label, logits) in expected.items():
        top, *later = blank.evaluate(CLASSIFY, address)  # one call each: a busy machine takes seconds for one
        error = np.array(later) - np.mean(later) - (logits - logits.mean())
        print(address, label, f"{np.abs(error).max():.3f}")
        assert np.abs(error).max() <= MARGIN, address
        assert top == label, address

"""The network's input image, drawn by a shader, against the Python preprocessing."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pytest
from chromium import Browser, Page
from PIL import Image
from web_site import ROOT, Site

from glsl_infer.runtime.pictures import preprocess

SIZE = 129
MODEL = ROOT / "models" / "trashnet-x22-129.glslnn"
STEPS = 2
"""Largest difference of a byte, in steps of 1/255."""

SEEN = """async (kind) => {
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
    assert page.errors == []
    page.close()


def noise(width: int, height: int, channels: int = 3) -> Image.Image:
    random = np.random.default_rng(width * 10000 + height)
    rough = random.integers(0, 256, (height, width, channels)).astype(np.uint8)
    rough[: height // 2] = np.linspace(0, 255, width).astype(np.uint8)[None, :, None]
    return Image.fromarray(rough)


def seen(page: Page, site: Site, picture: bytes, kind: str = "file") -> np.ndarray:
    """Return the network's input for a picture: RGBA texels, (129, 129, 4)."""
    site.files["/picture"] = picture
    return np.array(page.evaluate(SEEN, kind), np.uint8).reshape(SIZE, SIZE, 4)


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
    result = seen(page, site, png(image))
    error = np.abs(result[..., :3].astype(int) - preprocess.load(image, SIZE))
    assert error.max() <= (0 if min(size) == SIZE else STEPS)
    assert (result[..., 3] == 255).all()


def test_transparent_pictures_are_composited_over_white(page: Page, site: Site) -> None:
    image = noise(300, 200, 4)
    error = np.abs(seen(page, site, png(image))[..., :3].astype(int) - preprocess.load(image, SIZE))
    assert error.max() <= STEPS


@pytest.mark.parametrize("kind", ["file", "bitmap", "element", "canvas", "pixels"])
def test_every_kind_of_source_gives_the_same_picture(page: Page, site: Site, kind: str) -> None:
    image = noise(300, 260)
    error = np.abs(seen(page, site, png(image), kind)[..., :3].astype(int) - preprocess.load(image, SIZE))
    assert error.max() <= STEPS


def test_a_photograph_is_made_upright(page: Page, site: Site) -> None:
    image = noise(300, 260)
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(io.BytesIO(png(image, exif))) as turned:
        expected = preprocess.load(turned, SIZE)
    error = np.abs(seen(page, site, png(image, exif))[..., :3].astype(int) - expected)
    assert error.max() <= STEPS

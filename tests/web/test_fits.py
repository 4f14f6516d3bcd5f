"""Images and models of any size against the Python preprocessing: the four fits, and 1, 3 and 4 channels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from chromium import Page
from numpy.typing import NDArray
from pairwise import each_of
from picture_models import picture_model
from PIL import Image
from web_site import Site

from glsl_infer.bundle.manifest import FITS
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

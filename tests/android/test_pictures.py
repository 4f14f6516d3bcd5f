"""Preprocessing in Java: the same bytes as in Python, and the same first label for 20 photographs."""

from __future__ import annotations

from pathlib import Path

import image_models
import numpy as np
import pytest
from jvm import Jvm, argb, input_words
from numpy.typing import NDArray
from pairwise import pairs_of
from PIL import Image, ImageEnhance, ImageOps
from several import several_bundle, several_inputs

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.bundle.manifest import FITS
from glsl_infer.runtime.images import to_picture
from glsl_infer.runtime.pictures import preprocess

Pixels = NDArray[np.uint8]

ROOT = Path(__file__).resolve().parents[2]
PHOTOGRAPHS = sorted((ROOT / "docs" / "images").glob("*.jpg"))
CLASSIFIERS = sorted((ROOT / "models").glob("*-x22-*.glslnn"))


def photographs(data_set: str) -> list[Image.Image]:
    """Return 20 images of a data set's test split; if it is missing, the photographs of docs/images and variants."""
    files = sorted((ROOT / "data" / data_set / "test").glob("*/*.jpg"))
    if files:
        return [preprocess.open_image(path) for path in files[:: len(files) // 20][:20]]
    originals = [preprocess.open_image(path) for path in PHOTOGRAPHS]
    changed = [ImageOps.mirror(original) for original in originals]
    changed += [original.rotate(90, expand=True) for original in originals]
    changed += [ImageEnhance.Brightness(original).enhance(0.8) for original in originals]
    return [*originals, *changed][:20]


def java_fit(runner: Jvm, rgba: Pixels, fit: str, size: tuple[int, int], channels: int, folder: Path) -> Pixels:
    """Return the result of Preprocess.fit for pixels (height, width, 4): uint8 (height, width, channels)."""
    (picture,) = (word.partition("=")[2] for word in input_words({"picture": argb(rgba)}, folder))
    runner.json("fit", fit, *size[::-1], channels, picture, folder / "fitted")
    return np.frombuffer((folder / "fitted").read_bytes(), np.uint8).reshape(*size, channels)


@pytest.mark.sampled(4)
@pairs_of(
    ("fit", FITS),
    ("channels", [1, 3, 4]),
    (
        "given_size, size",
        [
            ((33, 40), (20, 9)),  # both axes shrink
            ((9, 50), (14, 12)),  # one shrinks and one grows, or both, or neither, depending on the fit
            ((1, 3), (4, 5)),
            ((12, 14), (12, 14)),
        ],
    ),
)
def test_java_fits_images_as_python_does(
    runner: Jvm, tmp_path: Path, fit: str, channels: int, given_size: tuple[int, int], size: tuple[int, int]
) -> None:
    rgba = np.random.default_rng(channels).integers(0, 256, (*given_size, 4), np.uint8)
    expected = preprocess.load(Image.fromarray(rgba, "RGBA"), size, fit=fit, channels=channels)
    assert (java_fit(runner, rgba, fit, size, channels, tmp_path) == expected.reshape(*size, channels)).all()


def test_a_picture_of_another_size_is_fitted(runner: Jvm, tmp_path: Path) -> None:
    """The runner itself fits an image of another size, in a model that also reads values."""
    bundle, model = several_bundle("several"), tmp_path / "several.glslnn"
    bundles.write(bundle, model)
    inputs = several_inputs(bundle.graph, seed=4)
    photograph = np.asarray(preprocess.open_image(PHOTOGRAPHS[0]))
    rgba = np.dstack([photograph, np.full(photograph.shape[:2], 255, np.uint8)])
    picture = bundle.manifest.inputs[0]
    fitted = preprocess.load_for(photograph, picture)
    results = runner.frame(model, {**inputs, picture.name: argb(rgba)}, tmp_path)
    expected = runner.frame(model, {**inputs, picture.name: fitted}, tmp_path)
    assert {name: array.tobytes() for name, array in results.items()} == {
        name: array.tobytes() for name, array in expected.items()
    }


@pytest.mark.parametrize("channels, low, high", [(3, (-1.0, 0.0, -0.5), (1.0, 1.0, 0.5)), (1, (-2.0,), (2.0,))])
def test_an_image_becomes_a_picture_again(
    runner: Jvm, tmp_path: Path, channels: int, low: tuple[float, ...], high: tuple[float, ...]
) -> None:
    bundle, model = image_models.filtered(channels, low=low, high=high), tmp_path / "image.glslnn"
    bundles.write(bundle, model)
    picture = bundle.manifest.input
    pixels = np.random.default_rng(2).integers(0, 256, picture.shape, np.uint8)
    runner.json("image", model, tmp_path / "image", *input_words({picture.name: pixels}, tmp_path))
    with glsl_infer.Session(model) as session:
        expected = to_picture(session.run(pixels), bundle)
    assert len(np.unique(expected)) > 15
    assert (tmp_path / "image").read_bytes() == expected.tobytes()


def test_there_are_classifiers() -> None:
    assert CLASSIFIERS


@pytest.mark.sampled(4)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda path: path.stem)
def test_java_fits_20_photographs_as_python_does(runner: Jvm, model: Path, tmp_path: Path) -> None:
    pictures = photographs(model.stem.partition("-")[0])
    assert len(pictures) == 20
    size = bundles.read(model).manifest.input.size
    pixels = np.stack([preprocess.load(picture, size) for picture in pictures])
    outputs, _ = runner.run(model, pixels, tmp_path)
    with glsl_infer.Session(model) as session:
        expected = np.stack([session.run(image) for image in pixels])
    assert outputs.tobytes() == expected.astype("<f4").tobytes()
    assert len(set(outputs.argmax(axis=1))) > 2

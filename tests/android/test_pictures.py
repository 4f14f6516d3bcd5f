"""Preprocessing in Java, and what it leads to: the same bytes, and the same first label for 20 photographs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jvm import Jvm
from PIL import Image, ImageEnhance, ImageOps

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.runtime.pictures import preprocess

ROOT = Path(__file__).resolve().parents[2]
PHOTOGRAPHS = sorted((ROOT / "docs" / "images").glob("*.jpg"))
CLASSIFIERS = sorted((ROOT / "models").glob("*-x22-*.glslnn"))


def photographs(data_set: str) -> list[Image.Image]:
    """Twenty of a data set's test split; where it is not there, those of docs/images and what can be made of them."""
    files = sorted((ROOT / "data" / data_set / "test").glob("*/*.jpg"))
    if files:
        return [preprocess.open_image(path) for path in files[:: len(files) // 20][:20]]
    originals = [preprocess.open_image(path) for path in PHOTOGRAPHS]
    changed = [ImageOps.mirror(one) for one in originals]
    changed += [one.rotate(90, expand=True) for one in originals]
    changed += [ImageEnhance.Brightness(one).enhance(0.8) for one in originals]
    return [*originals, *changed][:20]


def java_square(runner: Jvm, rgba: np.ndarray, size: int, folder: Path) -> bytes:
    """Return what Preprocess.toSquare makes of pixels (height, width, 4)."""
    height, width = rgba.shape[:2]
    argb = rgba.astype("<u4")
    packed = argb[..., 3] << 24 | argb[..., 0] << 16 | argb[..., 1] << 8 | argb[..., 2]
    (folder / "argb").write_bytes(packed.astype("<u4").tobytes())
    runner.json("square", width, height, size, folder / "argb", folder / "rgb")
    return (folder / "rgb").read_bytes()


@pytest.mark.parametrize(
    "width, height, size", [(9, 9, 9), (40, 33, 9), (33, 40, 31), (129, 257, 128), (5, 7, 12), (1, 1, 4), (2, 3, 2)]
)
def test_the_same_square(runner: Jvm, tmp_path: Path, width: int, height: int, size: int) -> None:
    rgba = np.random.default_rng(width).integers(0, 256, (height, width, 4), np.uint8)
    expected = preprocess.load(Image.fromarray(rgba, "RGBA"), size)
    assert java_square(runner, rgba, size, tmp_path) == expected.tobytes()


def test_there_are_classifiers() -> None:
    assert CLASSIFIERS


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda path: path.stem)
def test_20_photographs(runner: Jvm, model: Path, tmp_path: Path) -> None:
    pictures = photographs(model.stem.partition("-")[0])
    assert len(pictures) == 20
    size = bundles.read(model).manifest.input.size
    pixels = np.stack([preprocess.load(one, size) for one in pictures])
    outputs, _ = runner.run(model, pixels, tmp_path)
    with glsl_infer.Session(model) as session:
        expected = np.stack([session.run(one) for one in pixels])
    assert outputs.tobytes() == expected.astype("<f4").tobytes()
    assert len(set(outputs.argmax(axis=1))) > 2

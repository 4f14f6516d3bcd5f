"""The super-resolution model in models/: sound on this driver, better than bicubic, and consistent with its card."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glsl_infer.gl.context import Context
from glsl_infer.graph import reference
from glsl_infer.runtime import images
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/superres-x2-96.glslnn"
PHOTOGRAPHS = sorted((ROOT / "docs/images").glob("*.jpg"))


@pytest.fixture(scope="module")
def session(context: Context):
    with Session(MODEL, context=context, selfcheck=True) as made:
        yield made


def error(result: np.ndarray, sharp: np.ndarray) -> float:
    return float(np.mean((result.astype(np.float64) - sharp) ** 2))


@pytest.mark.parametrize("path", PHOTOGRAPHS, ids=lambda path: path.name)
def test_photographs(session: Session, path: Path) -> None:
    sharp = preprocess.load(path, 192)
    small = preprocess.area_average(sharp, 96)
    numbers = session.run(small)
    result = images.to_picture(numbers, session.bundle)
    exact = images.to_picture(reference.run(session.bundle, small), session.bundle)
    off = np.abs(result.astype(int) - exact)
    assert off.max() <= 2
    assert np.count_nonzero(off) < 0.005 * off.size
    bicubic = np.asarray(Image.fromarray(small).resize((192, 192), Image.Resampling.BICUBIC))
    assert error(result, sharp) < 0.95 * error(bicubic, sharp)


def test_it_looks_no_further_than_the_usual_overlap(session: Session) -> None:
    picture = preprocess.load(PHOTOGRAPHS[0], 110)[:96]
    usual = images.run_whole(session, picture)
    assert usual.shape == (192, 220, 3)
    np.testing.assert_array_equal(usual, images.run_whole(session, picture, overlap=30))


def test_the_card_has_its_sums() -> None:
    card = MODEL.with_suffix(".md").read_text("utf-8")
    for path in (MODEL, MODEL.with_suffix(".keras")):
        assert f"| {path.name} | {hashlib.sha256(path.read_bytes()).hexdigest()} |" in card

"""The models in models/: sound on this driver, accurate, and consistent with their cards."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glsl_infer.gl.context import Context
from glsl_infer.graph import reference
from glsl_infer.runtime import images
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.session import Session
from glsl_infer.support.resources import default_model

ROOT = Path(__file__).resolve().parents[2]
GROCERIES = {
    "example.jpg": "Lemon",
    "pineapple007.jpg": "Pineapple",
    "banana006.jpg": "Banana",
    "red-bell-pepper.jpg": "Red-Bell-Pepper",
}
WASTE = {
    "glass128.jpg": "glass",
    "cardboard18.jpg": "cardboard",
    "metal114.jpg": "metal",
    "paper104.jpg": "paper",
    "plastic103.jpg": "plastic",
    "trash100.jpg": "trash",
}
PHOTOGRAPHS = {
    "grocery-x22-257": GROCERIES,
    "grocery-x22-385": GROCERIES,
    "trashnet-x22-257": WASTE,
    "trashnet-x22-129": WASTE,
}


SMALL = "trashnet-x22-129"
"""The model for all drivers; the others have the same layers in other sizes."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.drivers if name == SMALL else ()) for name in PHOTOGRAPHS],
)
def classifier(request: pytest.FixtureRequest, context: Context):
    with Classifier(ROOT / f"models/{request.param}.glslnn", context=context, selfcheck=True) as classifier:
        classifier.photographs = {
            ROOT / "docs/images" / name: label for name, label in PHOTOGRAPHS[request.param].items()
        }
        yield classifier


def test_photographs_in_docs(classifier: Classifier) -> None:
    for path, label in classifier.photographs.items():
        predictions = classifier.classify(path)
        assert predictions[0].label == label, path.name
        assert [prediction.probability for prediction in predictions] == sorted(
            (prediction.probability for prediction in predictions), reverse=True
        )
        assert len(predictions) == 5
        assert classifier.labels[predictions[0].index] == label


def test_logits_are_near_the_exact_references(classifier: Classifier) -> None:
    bundle = classifier.session.bundle
    for path in classifier.photographs:
        pixels = preprocess.load(path, bundle.manifest.input.size)
        logits, exact = classifier.session.run(pixels), reference.run(bundle, pixels)
        difference = (logits - logits.mean()) - (exact - exact.mean())
        assert np.abs(difference).max() < 0.4, path.name
        assert logits.argmax() == exact.argmax(), path.name


def test_every_layer_of_a_photograph_is_exact(classifier: Classifier) -> None:
    from layer_check import TOLERANCE, exact_steps, gpu_steps

    session = classifier.session
    bundle = session.bundle
    pixels = preprocess.load(next(iter(classifier.photographs)), bundle.manifest.input.size)
    values = dict(reference.layers(bundle, pixels))
    values[bundle.graph.input.name] = pixels / 255.0
    for node in bundle.graph.nodes[1:]:
        inputs = [values[name] for name in node.inputs]
        difference = np.abs(gpu_steps(session, node.name, inputs) - exact_steps(bundle, node, inputs)).max()
        assert difference <= TOLERANCE, (node.name, difference)


def test_top_is_honoured(classifier: Classifier) -> None:
    picture = next(iter(classifier.photographs))
    assert len(classifier.classify(picture, top=1)) == 1
    everything = classifier.classify(picture, top=99)
    assert len(everything) == min(len(classifier.labels), 99)
    assert sum(prediction.probability for prediction in everything) == pytest.approx(1.0)


@pytest.mark.parametrize("path", sorted((ROOT / "models").glob("*.glslnn")), ids=lambda path: path.stem)
def test_the_card_names_the_files_as_they_are(path: Path) -> None:
    card = path.with_suffix(".md").read_text("utf-8")
    for file in (path, path.with_suffix(".keras")):
        assert hashlib.sha256(file.read_bytes()).hexdigest() in card


def test_the_default_model_is_one_of_them() -> None:
    assert default_model().stem in PHOTOGRAPHS


MODEL = ROOT / "models/superres-x2-96.glslnn"
SHARP_PHOTOGRAPHS = sorted((ROOT / "docs/images").glob("*.jpg"))


@pytest.fixture(scope="module")
def session(context: Context):
    with Session(MODEL, context=context, selfcheck=True) as session:
        yield session


def error(result: np.ndarray, sharp: np.ndarray) -> float:
    return float(np.mean((result.astype(np.float64) - sharp) ** 2))


@pytest.mark.drivers("all")
@pytest.mark.parametrize("path", SHARP_PHOTOGRAPHS, ids=lambda path: path.name)
def test_photographs(session: Session, path: Path) -> None:
    sharp = preprocess.load(path, 192)
    small = preprocess.area_average(sharp, 96)
    logits = session.run(small)
    result = images.to_picture(logits, session.bundle)
    exact = images.to_picture(reference.run(session.bundle, small), session.bundle)
    difference = np.abs(result.astype(int) - exact)
    assert difference.max() <= 2
    assert np.count_nonzero(difference) < 0.005 * difference.size
    bicubic = np.asarray(Image.fromarray(small).resize((192, 192), Image.Resampling.BICUBIC))
    assert error(result, sharp) < 0.95 * error(bicubic, sharp)


@pytest.mark.drivers("all")
def test_the_default_overlap_covers_the_receptive_field(session: Session) -> None:
    picture = preprocess.load(SHARP_PHOTOGRAPHS[0], 110)[:96]
    usual = images.run_whole(session, picture)
    assert usual.shape == (192, 220, 3)
    np.testing.assert_array_equal(usual, images.run_whole(session, picture, overlap=30))


@pytest.mark.drivers("all")
def test_the_card_has_its_sums() -> None:
    card = MODEL.with_suffix(".md").read_text("utf-8")
    for path in (MODEL, MODEL.with_suffix(".keras")):
        assert f"| {path.name} | {hashlib.sha256(path.read_bytes()).hexdigest()} |" in card

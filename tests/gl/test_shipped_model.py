"""The model in models/: sound on this driver, right about the README's photographs, and its card in step with it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from glsl_infer import preprocess, reference
from glsl_infer.classifier import Classifier
from glsl_infer.gl.context import Context
from glsl_infer.resources import default_model

ROOT = Path(__file__).resolve().parents[2]
PHOTOGRAPHS = {
    "example.jpg": "glass",
    "cardboard18.jpg": "cardboard",
    "metal114.jpg": "metal",
    "paper104.jpg": "paper",
    "plastic103.jpg": "plastic",
    "trash100.jpg": "trash",
}


@pytest.fixture(scope="module")
def classifier(context: Context):
    with Classifier(context=context, selfcheck=True) as made:
        yield made


@pytest.mark.parametrize("name, label", PHOTOGRAPHS.items())
def test_photographs_of_the_readme(classifier: Classifier, name: str, label: str) -> None:
    predictions = classifier.classify(ROOT / "docs/images" / name)
    assert predictions[0].label == label
    assert [one.probability for one in predictions] == sorted((one.probability for one in predictions), reverse=True)
    assert len(predictions) == 5
    assert classifier.labels[predictions[0].index] == label


@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_logits_are_near_the_exact_references(classifier: Classifier, name: str) -> None:
    bundle = classifier.session.bundle
    pixels = preprocess.load(ROOT / "docs/images" / name, bundle.manifest.input.size)
    logits, exact = classifier.session.run(pixels), reference.run(bundle, pixels)
    difference = (logits - logits.mean()) - (exact - exact.mean())
    assert np.abs(difference).max() < 0.4
    assert logits.argmax() == exact.argmax()


def test_every_layer_of_a_photograph_is_exact(classifier: Classifier) -> None:
    from layer_check import TOLERANCE, exact_steps, gpu_steps

    session = classifier.session
    bundle = session.bundle
    pixels = preprocess.load(ROOT / "docs/images/example.jpg", bundle.manifest.input.size)
    values = dict(reference.layers(bundle, pixels))
    values[bundle.graph.input.name] = pixels / 255.0
    for node in bundle.graph.nodes[1:]:
        inputs = [values[name] for name in node.inputs]
        difference = np.abs(gpu_steps(session, node.name, inputs) - exact_steps(bundle, node, inputs)).max()
        assert difference <= TOLERANCE, (node.name, difference)


def test_top_is_honoured(classifier: Classifier) -> None:
    picture = ROOT / "docs/images/example.jpg"
    assert len(classifier.classify(picture, top=1)) == 1
    everything = classifier.classify(picture, top=99)
    assert len(everything) == 6
    assert sum(one.probability for one in everything) == pytest.approx(1.0)


def test_the_card_names_the_files_as_they_are() -> None:
    card = (ROOT / "models/trashnet-x22-129.md").read_text("utf-8")
    for path in (default_model(), default_model().with_suffix(".keras")):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in card

"""Photographs through decoder, preprocessing and network: the browser's labels are the Python runner's."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from chromium import Page
from PIL import Image
from web_site import ROOT, Site

import glsl_infer
from glsl_infer.runtime.none_of_these import NONE, rule_of
from glsl_infer.runtime.pictures import preprocess

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
        top, *others = blank.evaluate(CLASSIFY, address)  # one call each: a busy machine takes seconds for one
        error = np.array(others) - np.mean(others) - (logits - logits.mean())
        print(address, label, f"{np.abs(error).max():.3f}")
        assert np.abs(error).max() <= MARGIN, address
        assert top == label, address

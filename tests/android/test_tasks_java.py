"""Tasks and preprocessing in Java give the same results as in Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import image_models
import numpy as np
import pytest
from jvm import Jvm, argb, input_words
from numpy.typing import NDArray
from pairwise import pairs_of
from PIL import Image, ImageEnhance, ImageOps
from red_squares import DETECTOR, folder_of_tasks, picture
from several import several_bundle, several_inputs
from task_cases import CHANGES, PICTURES, WRONG_TASKS, same_boxes, same_points

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.bundle.manifest import FITS
from glsl_infer.gl.context import Context
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.images import to_picture
from glsl_infer.runtime.none_of_these import NONE
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.tasks import Detector, Landmarker, Segmenter, models, open_task

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "glsl_infer/tasks/data"
PERSON = ROOT / "glsl_infer/tools/get/person.jpg"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_tasks(tmp_path_factory.mktemp("squares"))


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    with Context() as context:
        yield context


def looked(runner: Jvm, folders: str, name: str, how: str, pictures: list[np.ndarray], folder: Path) -> list[Any]:
    """Return the Java runner's results for images, uint8 (height, width, 3)."""
    files = []
    for index, pixels in enumerate(pictures):
        files.append(folder / f"{index}.argb")
        packed = argb(np.dstack([pixels, np.full(pixels.shape[:2], 255, np.uint8)]))
        files[-1].write_bytes(np.array(packed.shape[::-1], "<u4").tobytes() + packed.astype("<u4").tobytes())
    done = runner.start("task", folders, name, how, *files)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_detector(runner: Jvm, folder: Path, context: Context, tmp_path: Path) -> None:
    result = looked(runner, str(folder), "squares", "look", [pixels for pixels, _ in PICTURES], tmp_path)
    with Detector(folder / "squares.json", context=context) as detector:
        for items, (pixels, tolerance) in zip(result, PICTURES):
            same_boxes(items, list(detector(pixels)), tolerance)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("change", CHANGES, ids="-".join)
def test_every_rule_gives_the_detections_of_python(
    runner: Jvm, folder: Path, context: Context, tmp_path: Path, change: dict[str, object]
) -> None:
    own_rules = tmp_path / "mine.json"
    own_rules.write_text(json.dumps({**DETECTOR, **change, "model": str(folder / "squares.glslnn")}), "utf-8")
    pixels = picture(32, 32, (5, 5, 10), (22, 18, 14))
    with Detector(own_rules, context=context) as detector:
        expected = list(detector(pixels))
    assert expected
    own_rules.write_text(json.dumps({**DETECTOR, **change}), "utf-8")
    (result,) = looked(runner, f"{tmp_path}:{folder}", "mine", "look", [pixels], tmp_path)
    same_boxes(result, expected, 0.1)


def test_landmarks_and_a_film(runner: Jvm, folder: Path, context: Context, tmp_path: Path) -> None:
    stills = [picture(128, 128, (24, 24, 16), (88, 104, 16)), picture(128, 128, (40, 72, 24)), picture(128, 128)]
    result = looked(runner, str(folder), "sides", "look", stills, tmp_path)
    with Landmarker(folder / "sides.json", context=context) as sides:
        for items, pixels in zip(result, stills):
            expected = sorted(sides(pixels), key=lambda item: item.points[0, 0])
            assert len(items) == len(expected)
            for item, other in zip(sorted(items, key=lambda item: item["points"][0][0]), expected):
                same_points(item, other, 0.1)
    film = [picture(128, 128, (24 + 2 * step, 24 + 3 * step, 16)) for step in range(6)] + [picture(128, 128)]
    film += [picture(128, 128, (88, 24, 16))] * 2 + [picture(128, 128, (88, 24, 16), (24, 104, 16))] * 16
    result = looked(runner, str(folder), "sides", "film", film, tmp_path)
    with Landmarker(folder / "sides.json", context=context) as sides:
        followed = [sides.follow(frame) for frame in film]
    assert [len(items) for items in result] == [len(items) for items in followed]
    assert {len(items) for items in followed} == {0, 1, 2}  # lost, followed, and another one found later
    for items, expected_items in zip(result, followed):
        for item, other in zip(items, expected_items):
            same_points(item, other, 0.4)  # each frame looks where the last one found it, and differences add up


def test_a_mask_and_labels(runner: Jvm, folder: Path, context: Context, tmp_path: Path) -> None:
    pictures = [picture(96, 64, (30, 30, 36)), picture(20, 25, (10, 10, 12))]
    result = looked(runner, str(folder), "mask", "look", pictures, tmp_path)
    with Segmenter(folder / "mask.json", context=context) as segmenter:
        for (item,), pixels in zip(result, pictures):
            expected = segmenter(pixels).alpha.astype(int)
            error = np.abs(np.array(item["alpha"]).reshape(expected.shape) - expected)
            assert error.max() <= 12 and error.mean() <= 0.5  # a steep edge: one byte before is up to five after
    names = tmp_path / "names.json"
    names.write_text(json.dumps({"task": "classification", "model": "trashnet-x22-129", "top": 2}), "utf-8")
    pixels = np.asarray(Image.open(ROOT / "docs/images/cardboard18.jpg").convert("RGB"))
    (labels,) = looked(runner, f"{tmp_path}:{ROOT}/models", "names", "look", [pixels], tmp_path)
    assert labels[0]["label"] == "cardboard" and len(labels) == 2
    names.write_text(json.dumps({"task": "classification", "model": "grocery-x22-257", "top": 2}), "utf-8")
    (labels,) = looked(runner, f"{tmp_path}:{ROOT}/models", "names", "look", [pixels], tmp_path)
    with Classifier(ROOT / "models/grocery-x22-257.glslnn") as classifier:
        none, best = classifier.classify(pixels, top=2)
    assert [label["label"] for label in labels] == [NONE, best.label] and none.label == NONE
    assert labels[0]["probability"] == pytest.approx(none.probability, abs=0.02)


def test_invalid_task_entries_are_named(runner: Jvm, folder: Path, tmp_path: Path) -> None:
    for index, (task, change, _) in enumerate(WRONG_TASKS):
        (tmp_path / f"wrong{index}.json").write_text(json.dumps({**task, **change}), "utf-8")
    names = [f"wrong{index}" for index in range(len(WRONG_TASKS))]
    folders = f"{tmp_path}:{folder}"
    done = runner.start("tasks", folders, *names, "squares")
    assert (done.returncode, done.stderr) == (0, "")
    *lines, right = done.stdout.split("\n")[:-1]
    assert len(lines) == len(WRONG_TASKS) and right == ""
    for line, name, (_, _, message) in zip(lines, names, WRONG_TASKS):
        assert message in line and (name in line or message == "nowhere.glslnn")  # the missing file of a task
    (tmp_path / "0.argb").write_bytes(np.array([1, 1, 0], "<u4").tobytes())
    assert lines[0] in runner.refused("task", folders, names[0], "look", tmp_path / "0.argb")


@pytest.mark.parametrize("task", ["faces", "face-mesh", "selfie"])
def test_published_networks_find_the_same(runner: Jvm, context: Context, tmp_path: Path, task: str) -> None:
    """Python, Java and the browser (tests/web/test_tasks.py) find the same in one photograph."""
    for name in {"faces": ["face-detection"], "face-mesh": ["face-detection", "face-mesh"]}.get(
        task, ["selfie-segmentation"]
    ):
        if not (models.folder() / f"{name}.glslnn").is_file():
            pytest.skip(f"not fetched: glsl-infer get {name}")
    pixels = np.asarray(Image.open(PERSON).convert("RGB"))
    (result,) = looked(runner, f"{DATA}:{models.folder()}", task, "look", [pixels], tmp_path)
    with open_task(task, context=context) as opened:
        expected = opened(PERSON)
    if task == "faces":
        same_boxes(result, list(expected), 1.0)
    elif task == "face-mesh":
        same_points(result[0], expected[0], 1.0)
    else:
        assert np.abs(np.array(result[0]["alpha"]).reshape(expected.alpha.shape) - expected.alpha).mean() < 1.0


Pixels = NDArray[np.uint8]
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

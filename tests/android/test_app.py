"""The app of the APK, its dex converted back to a jar, on fake android.* classes and a real OpenGL ES driver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import conv_node, dense_node, pool_node
from phone import IMAGES, LANDSCAPE, MODEL, PORTRAIT, Phone, Pixels, labels, scene, size_of
from PIL import Image
from several import several_bundle
from tiny import tiny_bundle

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.bundle.manifest import FITS
from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.ranges import prepare
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.runtime.pictures import preprocess

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def phone(app: list[str], apk: Path, tmp_path: Path) -> Iterator[Phone]:
    phone = Phone(app, apk, tmp_path)
    yield phone
    phone.close()


@pytest.fixture(scope="module")
def classifier() -> Iterator[glsl_infer.Classifier]:
    with glsl_infer.Classifier(MODEL) as classifier:
        yield classifier


def assert_labels(phone: Phone, state: Any, classifier: glsl_infer.Classifier, picture: Pixels) -> None:
    """Check the screen against Python's results for the same bytes, and its first label for the photograph."""
    size = classifier.session.bundle.manifest.input.size
    logits = classifier.session.run(np.ascontiguousarray(phone.input(size, size)[..., :3]))
    expected = [(prediction.label, round(100 * prediction.probability, 1)) for prediction in classifier.rank(logits, 3)]
    assert labels(state) == expected
    assert classifier.classify(picture, top=1)[0].label == expected[0][0]


def test_network_input_equals_preprocess(phone: Phone) -> None:
    phone.start()
    picture = scene("pineapple007.jpg")
    phone.look(picture)
    size = bundles.read(MODEL).manifest.input.size
    inputs = phone.input(size, size)
    difference = np.abs(inputs[..., :3].astype(int) - preprocess.load(picture, size))
    assert difference.max() <= 1
    assert difference.mean() < 0.005  # ties: averages of bytes are halfway between two bytes rather often
    assert (inputs[..., 3] == 255).all()


@pytest.mark.exhaustive
def test_labels_of_a_moving_picture(phone: Phone, classifier: glsl_infer.Classifier) -> None:
    phone.start()
    results = []
    for name in ("pineapple007.jpg", "banana006.jpg", "leek001.jpg", "carrots014.jpg"):
        picture = scene(name)
        state = phone.look(picture)
        assert_labels(phone, state, classifier, picture)
        assert state["gl_error"] == 0
        results.append(labels(state)[0][0])
    assert results == ["Pineapple", "Banana", "Leek", "Carrots"]
    assert not any("results/s" in text for text in state["texts"])
    phone.command("press", "Times")
    state = phone.command("idle")
    assert any("results/s" in text for text in state["texts"])
    assert any(text.startswith("camera ") and text.endswith(" ms") for text in state["texts"])


def test_a_long_label_stays_on_the_screen(phone: Phone, tmp_path: Path) -> None:
    long = ("Garant-Ecological-Standard-Milk", "God-Morgon-Orange-Red-Grapefruit-Juice", "W" * 60)
    bundles.write(tiny_bundle(labels=long), tmp_path / "long.glslnn")
    phone.start()
    phone.command("press", "Model")
    phone.command("choose", "Open a file ...")
    phone.command("file", tmp_path / "long.glslnn")
    phone.ready()
    result = labels(phone.look(scene("plastic103.jpg")))  # the fake Canvas refuses clipped text
    labels_shown = {label for label, _ in result}
    assert set(long[:2]) < labels_shown
    (shortened,) = labels_shown - set(long[:2])
    assert re.fullmatch("W{12,}…", shortened)


@pytest.mark.exhaustive
def test_frames_do_not_allocate(phone: Phone) -> None:
    phone.start()
    for name in ("pineapple007.jpg", "banana006.jpg"):  # the first frames may create objects on first use
        phone.look(scene(name))
    phone.command("allocated")
    before = phone.command("frames")
    for name in ("leek001.jpg", "pineapple007.jpg", "carrots014.jpg"):
        phone.look(scene(name))
    assert phone.command("frames") - before >= 6
    assert phone.command("allocated") == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rotation", [1, 2, 3])
def test_a_turned_phone(phone: Phone, classifier: glsl_infer.Classifier, rotation: int) -> None:
    phone.start()
    phone.rotate(rotation)
    picture = scene("pineapple007.jpg", *((640, 480) if rotation % 2 else (480, 640)))
    state = phone.look(picture)
    assert_labels(phone, state, classifier, picture)
    point = min(PORTRAIT) / 360
    (first, _), *later = labels(state)
    assert size_of(state, first) >= 28 * point  # twice the normal 14 points
    assert all(size_of(state, label) >= 14 * point for label, _ in later)
    screen = phone.shot()
    assert screen.shape[:2] == (PORTRAIT if rotation % 2 else LANDSCAPE)
    assert mean_difference(screen, picture) < 25
    assert mean_difference(screen, picture[::-1, ::-1]) > 35


def mean_difference(screen: Pixels, picture: Pixels) -> float:
    """Return the mean difference between the middle of the screen and the matching part of a picture."""
    high, wide = screen.shape[:2]
    scale = max(wide / picture.shape[1], high / picture.shape[0])
    size = (round(picture.shape[1] * scale), round(picture.shape[0] * scale))
    resized = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BILINEAR), np.float64)
    top, left = (resized.shape[0] - high) // 2, (resized.shape[1] - wide) // 2
    middle = slice(high // 4, high // 2)
    return float(np.abs(resized[top : top + high, left : left + wide][middle] - screen[middle]).mean())


def test_the_front_camera_is_a_mirror_but_not_to_the_network(phone: Phone, classifier: glsl_infer.Classifier) -> None:
    phone.start()
    phone.command("press", "Turn")
    assert phone.command("idle")["camera"] == "1"
    picture = scene("banana006.jpg")
    state = phone.look(picture, front=True)
    assert_labels(phone, state, classifier, picture)
    screen = phone.shot()
    assert mean_difference(screen, picture[:, ::-1]) < 25
    assert mean_difference(screen, picture) > mean_difference(screen, picture[:, ::-1]) + 5


def test_pause_keeps_the_picture_and_the_labels(phone: Phone) -> None:
    phone.start()
    before = labels(phone.look(scene("pineapple007.jpg")))
    phone.command("press", "Pause")
    assert "Go on" in phone.command("idle")["texts"]
    assert labels(phone.look(scene("banana006.jpg"))) == before
    phone.command("press", "Go on")
    assert labels(phone.look(scene("banana006.jpg"))) != before


@pytest.mark.exhaustive
def test_the_light_button_switches_the_torch(phone: Phone) -> None:
    assert not phone.start()["torch"]
    phone.command("press", "Light")
    assert phone.command("state")["torch"]
    phone.command("press", "Light")
    assert not phone.command("state")["torch"]


def test_a_photograph_instead_of_the_camera(phone: Phone, classifier: glsl_infer.Classifier, tmp_path: Path) -> None:
    phone.start()
    phone.look(scene("pineapple007.jpg"))
    for name, orientation in (("banana006.jpg", 1), ("leek001.jpg", 6)):
        upright = preprocess.open_image(IMAGES / name)
        turned = upright.rotate(90 if orientation == 6 else 0, expand=True)  # the file of a camera turned by 90 degrees
        exif = Image.Exif()
        exif[0x0112] = orientation
        turned.save(tmp_path / name, quality=95, exif=exif)
        state = phone.photograph(tmp_path / name)
        assert (state["open"], state["gl_error"]) == (0, 0)
        expected = classifier.classify(tmp_path / name, top=3)
        assert [label for label, _ in labels(state)] == [prediction.label for prediction in expected]
        assert [chance for _, chance in labels(state)] == pytest.approx(
            [100 * label.probability for label in expected], abs=1
        )
        screen, size = phone.shot(), (PORTRAIT[0], round(PORTRAIT[0] * upright.height / upright.width))
        top = (PORTRAIT[1] - size[1]) // 2
        middle = slice(size[0] // 4, size[0] * 3 // 4)
        middle_rows = screen[top + size[1] // 4 : top + size[1] // 2, middle].astype(int)
        expected_rows = np.asarray(upright.resize(size))[size[1] // 4 : size[1] // 2, middle].astype(int)
        assert np.abs(middle_rows - expected_rows).mean() < 20
        if name == "banana006.jpg":
            phone.command("press", "Camera")
            assert phone.command("idle")["open"] == 1
            assert labels(phone.look(scene("pineapple007.jpg")))[0][0] == "Pineapple"
    phone.command("press", "Model")  # another model classifies the same photograph
    phone.command("choose", MODEL.stem)
    assert labels(phone.ready())[0][0] == expected[0].label
    phone.command("pause")
    phone.command("lose")
    phone.command("resume")
    state = phone.command("idle")
    assert (state["open"], labels(state)[0][0]) == (0, expected[0].label)


def test_a_text_file_as_photograph_is_refused_and_labels_stay(phone: Phone) -> None:
    phone.start()
    before = labels(phone.look(scene("pineapple007.jpg")))
    phone.command("press", "Photo")
    phone.command("file", ROOT / "README.md")
    state = phone.command("wait", "README.md cannot be read")
    assert "README.md cannot be read as an image on this device" in " ".join(state["texts"])
    assert (labels(state), state["open"]) == (before, 1)
    phone.command("touch")
    assert "README.md" not in " ".join(phone.command("idle")["texts"])


def toolbar_brightness(screen: Pixels) -> float:
    """Return the median brightness of the bar of buttons."""
    high, wide = screen.shape[:2]
    bar = screen[int(0.9 * high) :, :] if high > wide else screen[:, int(0.9 * wide) :]
    return float(np.median(bar))


@pytest.mark.exhaustive
def test_day_and_night(phone: Phone) -> None:
    phone.start()
    phone.look(scene("pineapple007.jpg"))
    assert toolbar_brightness(phone.shot()) > 200
    phone.command("night", "yes")
    assert toolbar_brightness(phone.shot()) < 80
    phone.command("night", "no")
    assert toolbar_brightness(phone.shot()) > 200


def overlaps(first: list[int], second: list[int]) -> bool:
    """Return True if two boxes (left, top, right, bottom) share a pixel."""
    return all(max(first[axis], second[axis]) < min(first[axis + 2], second[axis + 2]) for axis in (0, 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("screen, points", [((320, 480), 320), ((400, 640), 800), ((480, 500), 600)])
@pytest.mark.parametrize("text", [2.0])
def test_texts_and_buttons_fit_every_screen(
    app: list[str], apk: Path, tmp_path: Path, screen: tuple[int, int], points: int, text: float
) -> None:
    """All texts and buttons fit on small phones, tablets and foldables, with small and huge text.

    The fake Canvas refuses clipped text.
    """
    phone = Phone(app, apk, tmp_path, screen=screen, points=points)
    try:
        phone.command("text", text)
        phone.start()
        phone.command("press", "Times")
        for rotation in (0, 1):
            phone.rotate(rotation)
            picture = scene("pineapple007.jpg", *((640, 480) if rotation else (480, 640)))
            assert labels(phone.look(picture))[0][0] == "Pineapple"
            boxes = phone.command("boxes")
            assert len(boxes) == 6
            high, wide = phone.shot().shape[:2]
            for name, (left, top, right, bottom) in boxes.items():
                smallest_side = 48 * min(screen) / points if points < 400 else 0
                assert left >= 0 and right <= wide and top >= 0 and bottom <= high, name
                assert min(right - left, bottom - top) >= smallest_side, name  # the size of a finger
            for box in boxes.values():
                assert sum(overlaps(box, other) for other in boxes.values()) == 1  # itself
    finally:
        phone.close()


@pytest.mark.exhaustive
def test_leaving_and_coming_back(phone: Phone) -> None:
    assert phone.start()["open"] == 1
    before = labels(phone.look(scene("pineapple007.jpg")))
    phone.command("pause")
    state = phone.command("idle")
    assert (state["camera"], state["open"]) == (None, 0)
    assert phone.look(scene("banana006.jpg")) is None
    phone.command("resume")
    assert phone.command("idle")["open"] == 1
    assert labels(phone.look(scene("banana006.jpg"))) != before
    assert labels(phone.look(scene("pineapple007.jpg"))) == before


def test_a_lost_context(phone: Phone) -> None:
    phone.start()
    before = labels(phone.look(scene("pineapple007.jpg")))
    phone.command("pause")
    phone.command("lose")
    phone.command("resume")
    state = phone.command("idle")
    assert (state["open"], state["gl_error"]) == (1, 0)
    phone.look(scene("banana006.jpg"))
    assert labels(phone.look(scene("pineapple007.jpg"))) == before


@pytest.mark.exhaustive
def test_a_recreated_activity_keeps_its_camera(phone: Phone) -> None:
    phone.start()
    phone.command("press", "Turn")
    phone.command("idle")
    phone.command("recreate")
    state = phone.ready()
    assert (state["camera"], state["open"], state["questions"]) == ("1", 1, 0)
    assert labels(phone.look(scene("pineapple007.jpg"), front=True))


def test_the_camera_is_refused_then_given(phone: Phone) -> None:
    phone.command("start")
    phone.command("idle")
    phone.command("answer", "no")
    state = phone.ready()
    assert (state["questions"], state["open"]) == (1, 0)
    assert "Without the camera" in " ".join(state["texts"])
    phone.command("pause")
    phone.command("resume")
    assert phone.command("idle")["questions"] == 1  # the user is not asked twice without a reason
    phone.command("touch")
    phone.command("pause")
    phone.command("answer", "yes")
    state = phone.ready()
    assert (state["questions"], state["open"]) == (2, 1)
    assert "Without" not in " ".join(state["texts"])
    assert labels(phone.look(scene("pineapple007.jpg")))


def test_the_camera_is_opened_again_after_another_app(phone: Phone) -> None:
    phone.start()
    phone.look(scene("pineapple007.jpg"))
    state = phone.command("disconnect")
    assert "another app has taken the camera" in " ".join(state["texts"])
    phone.command("pause")
    phone.command("resume")
    assert "another app" not in " ".join(phone.command("idle")["texts"])
    assert labels(phone.look(scene("pineapple007.jpg")))


def test_a_broken_model_is_explained(phone: Phone, tmp_path: Path) -> None:
    phone.start()
    before = labels(phone.look(scene("pineapple007.jpg")))
    broken = bytearray(MODEL.read_bytes())
    broken[len(broken) // 2] ^= 255
    (tmp_path / "broken.glslnn").write_bytes(broken)
    several = tmp_path / "several.glslnn"
    bundles.write(several_bundle("several"), several)
    for path, words in [
        (tmp_path / "broken.glslnn", "damaged"),
        (IMAGES / "example.jpg", "not a glsl-infer model"),
        (ROOT / "models" / "superres-x2-96.glslnn", "has no classes"),
        (several, "'image' (picture), 'numbers' (numbers), but the app has one image for it, the camera's"),
    ]:
        phone.command("press", "Model")
        phone.command("choose", "Open a file ...")
        phone.command("file", path)
        message = " ".join(phone.ready()["texts"])
        assert path.name in message
        assert words in message
    assert labels(phone.look(scene("pineapple007.jpg"))) == before  # from the previous model


@pytest.mark.exhaustive
@pytest.mark.parametrize("fit", FITS)
def test_a_grey_picture_of_another_shape(phone: Phone, tmp_path: Path, fit: str) -> None:
    """The app shows the classes of a model with a grey input of another shape and a second output."""
    rng = np.random.default_rng(4)
    nodes = (
        Node("image", "input", (), {"shape": (24, 40, 1), "fit": fit}),
        conv_node(rng, "conv", ("image",), 1, 4, kernel=(3, 3)),
        pool_node("pool", "conv"),
        dense_node(rng, "dense", "pool", 4, 3),
        Node("likely", "softmax", ("dense",)),
    )
    outputs = (GraphOutput("label", ("likely",)), GraphOutput("map", ("conv",), purpose="values"))
    program = lower.to_program(prepare(optimize.optimize(Graph("grey", nodes, outputs))).graph)
    model = tmp_path / "grey.glslnn"
    bundles.write(to_bundle(program, ("a", "b", "c")), model)
    phone.start()
    phone.command("press", "Model")
    phone.command("choose", "Open a file ...")
    phone.command("file", model)
    phone.ready()
    picture = scene("pineapple007.jpg")
    state = phone.look(picture)
    inputs = phone.input(24, 40)
    expected = preprocess.load(picture, (24, 40), fit=fit, channels=1)
    assert np.abs(inputs[..., :1].astype(int) - expected).max() <= 1
    assert (inputs[..., 1:] == (0, 0, 255)).all()
    with glsl_infer.Session(model) as session:
        chances = session.run({"image": np.ascontiguousarray(inputs[..., :1])})["label"]
    reference_output = sorted(
        zip("abc", (round(100 * float(chance), 1) for chance in chances)), key=lambda pair: -pair[1]
    )
    assert labels(state) == reference_output
    assert state["gl_error"] == 0


def test_a_model_from_a_file(phone: Phone, tmp_path: Path, other_model: Path) -> None:
    phone.start()
    phone.look(scene("pineapple007.jpg"))
    phone.command("press", "Model")
    phone.command("choose", "Open a file ...")
    phone.command("file", other_model)
    phone.ready()
    state = phone.look(scene("pineapple007.jpg"))
    assert {label for label, _ in labels(state)} == {"first", "second class", "dritte Klasse: größte"}
    phone.command("press", "Model")
    phone.command("choose", MODEL.stem)
    phone.ready()
    assert labels(phone.look(scene("pineapple007.jpg")))[0][0] not in {"first", "second class"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("budget, undivided", [(0.001, False), (1e6, True)])
def test_a_budget_divides_the_network(
    phone: Phone, classifier: glsl_infer.Classifier, budget: float, undivided: bool
) -> None:
    phone.start("budget", budget)
    picture = scene("pineapple007.jpg")
    first = labels(phone.look(picture))
    before = phone.command("frames")
    phone.command("press", "Times")
    state = phone.look(picture)
    assert labels(state) == first
    (line,) = [text for text in state["texts"] if text.startswith("network ")]
    steps = int(line.split(" ms in ")[1].split(" step")[0])
    assert steps == (1 if undivided else classifier.session.statistics().jobs)
    assert phone.command("frames") - before == steps + 1  # and one for the result

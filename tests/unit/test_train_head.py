"""The last layer of ``glsl-infer train``: training, refusals and skipped files; the threshold; --on."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glsl_infer.bundle.manifest import Output
from glsl_infer.cli.camera_labels import Watches, require_labels
from glsl_infer.errors import InputError
from glsl_infer.graph.host_steps import SOFTMAX, HostStep
from glsl_infer.runtime.classifier import Classifier, Prediction, predictions
from glsl_infer.runtime.none_of_these import NONE
from glsl_infer.tools.train import head, make
from glsl_infer.tools.train.photographs import contact_sheet, find, variations

LENGTH, CLASSES, PHOTOGRAPHS_PER_CLASS = 24, 3, 20


def examples(seed: int = 0, spread: float = 0.08) -> head.Examples:
    """Return features of random classes, and of 30 kinds of background."""
    random = np.random.default_rng(seed)
    means = random.uniform(0, 1, (CLASSES, LENGTH))
    truth = np.repeat(np.arange(CLASSES), PHOTOGRAPHS_PER_CLASS)
    features = means[truth][:, None] + random.normal(0, spread, (len(truth), 2, LENGTH))
    kinds = random.uniform(0, 1, (30, LENGTH))
    groups = np.repeat(np.arange(30), 5)
    background = kinds[groups] + random.normal(0, spread, (150, LENGTH))
    return head.Examples(features, truth, background, groups, CLASSES)


def test_training_learns_classes_and_refuses_others() -> None:
    samples = examples()
    classifier, verdict = head.train(samples)
    assert verdict.accuracy == 1.0
    assert verdict.known_refused <= 0.06
    assert verdict.unknown_refused >= 0.8  # of classes excluded from a fold
    assert np.sum(verdict.confusion) == CLASSES * PHOTOGRAPHS_PER_CLASS
    answers = classifier.logits(samples.features[:, 1]).argmax(axis=1)
    assert (answers == samples.truth).mean() >= 0.9
    strange = np.random.default_rng(9).uniform(0, 1, (200, LENGTH))
    assert (classifier.logits(strange).argmax(axis=1) == CLASSES).mean() >= 0.8


def test_classes_are_balanced() -> None:
    samples = examples(1, spread=0.5)
    few = np.r_[0:5, 20:60]
    verdict = head.train(head.Examples(samples.features[few], samples.truth[few], *_background(samples), CLASSES))[1]
    row = verdict.confusion[0]
    assert sum(row) == 5
    assert row[0] >= 2  # 5 compared with 20 and 20


def _background(examples: head.Examples) -> tuple[np.ndarray, np.ndarray]:
    return examples.background, examples.groups


def test_background_that_looks_like_a_class_is_left_out() -> None:
    samples = examples()
    twins = samples.features[samples.truth == 1, 0]
    more = head.Examples(
        samples.features,
        samples.truth,
        np.concatenate([samples.background, twins]),
        np.append(samples.groups, np.full(len(twins), 77)),
        CLASSES,
    )
    remaining = head.without_lookalikes(more)
    assert 77 not in remaining.groups
    assert len(remaining.groups) == len(samples.groups)


def test_the_folder_none_is_learnt_as_none_of_these() -> None:
    samples = examples()
    random = np.random.default_rng(5)
    empty = random.uniform(0, 1, LENGTH) + random.normal(0, 0.08, (10, 2, LENGTH))
    more = head.Examples(
        np.concatenate([samples.features, empty]), np.append(samples.truth, [-1] * 10), *_background(samples), CLASSES
    )
    assert (head.train(more)[1].none_refused or 0) >= 0.8


def test_a_threshold_answers_none_of_these() -> None:
    probabilities = np.array([0.2, 0.6, 0.2], np.float32)
    labels = ("a", "b", "c")
    output = Output("classes", "classes", (), (HostStep(SOFTMAX),))
    assert predictions(probabilities, output, labels, 1, threshold=0.5)[0].label == "b"
    first, second = predictions(probabilities, output, labels, 2, threshold=0.7)
    assert (first.label, first.index, second.label) == (NONE, -1, "b")
    assert first.probability == pytest.approx(0.4)
    own = predictions(probabilities, output, ("a", "b", NONE), 3, threshold=0.7)
    assert [(prediction.label, prediction.index) for prediction in own] == [(NONE, 2), ("b", 1), ("a", 0)]


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_a_threshold_is_a_probability(threshold: float) -> None:
    with pytest.raises(InputError, match="give a probability from 0 to 1"):
        Classifier(threshold=threshold)


def test_a_command_starts_once_a_label_stays(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    mark = tmp_path / "mark"
    command = f"{shlex.quote(sys.executable)} -c \"import pathlib; pathlib.Path('{mark}').touch()\""
    watches = Watches([["cat", command]], ["cat", "dog"], 2, 2)
    events = [watches.saw([Prediction(label, 1.0, 0)]) for label in ("cat", "dog", "cat", "cat", "cat", "dog", "dog")]
    assert events == [[], [], [], ["cat appeared"], [], [], ["cat left"]]
    watches._reactions[0][1]._process.wait(60)  # type: ignore[union-attr]
    assert mark.exists()
    assert capfd.readouterr().err.splitlines() == ["cat appeared", "cat left"]


def test_events_of_unknown_labels_are_refused() -> None:
    labels = ["cat", "dog"]
    require_labels(labels, None, ["dog", NONE], {"cat": 4})
    with pytest.raises(InputError) as caught:
        require_labels(labels, "m.glslnn", ["cow"], {"Cat": 17})
    assert str(caught.value) == (
        "--on cow, --gpio Cat=17 (did you mean cat?): m.glslnn has no such labels; it has cat, dog"
    )
    many = [f"thing {index}" for index in range(81)]
    with pytest.raises(InputError, match=r"no such label; glsl-infer labels 'a m\.glslnn' lists its 81 labels"):
        require_labels(many, "a m.glslnn", ["Thing 7"])


def test_photographs_that_cannot_be_used_are_all_named(tmp_path: Path) -> None:
    for name in ("cat", "dog", "None of these"):
        (tmp_path / name).mkdir()
    (tmp_path / "cat" / "bad.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError) as caught:
        find(tmp_path)
    text = str(caught.value)
    assert "3 problems" in text
    assert re.search(r"cat: 0 readable images; a class needs 5, better 30; .*bad\.jpg: .*; left out\n", text)
    assert "rename this folder to 'none'" in text


def test_warnings_about_photographs_are_printed_before_the_training(tmp_path: Path) -> None:
    """A folder of data sets instead of classes is trainable, but seldom intended."""
    for name in ("train/cat", "train/dog", "val/cat", "val/dog"):
        (tmp_path / name).mkdir(parents=True)
        for index in range(5):
            Image.new("RGB", (8, 8)).save(tmp_path / name / f"{index}.png")
    warnings: list[str] = []
    with pytest.raises(InputError, match=r"none\.glslnn"):
        make.train(
            tmp_path,
            tmp_path / "out.glslnn",
            start=tmp_path / "none.glslnn",
            progress=lambda _: None,
            warn=warnings.append,
        )
    nested = tmp_path / "train"
    assert warnings == [
        f"{nested}: the folders cat, dog together are the class 'train'; if each is a class, give {nested}",
        "'train' has 10 photographs; 30 make a better model",
        "'val' has 10 photographs; 30 make a better model",
    ]
    (tmp_path / "val/cat/0.png").rename(tmp_path / "val/0.png")
    assert find(tmp_path).warnings == tuple(warnings[1:])


def test_a_contact_sheet_has_rows_of_each_class(tmp_path: Path) -> None:
    for label, colour in (("cat", "red"), ("none", "blue")):
        (tmp_path / label).mkdir()
        for index in range(5):
            Image.new("RGB", (40, 30), colour).save(tmp_path / label / f"{index}.png")
    (tmp_path / "cat/2026").mkdir()  # as all commands do, photographs are searched for in folders below, too
    (tmp_path / "cat/4.png").rename(tmp_path / "cat/2026/4.png")
    Image.new("RGB", (40, 30)).save(tmp_path / "loose.png")
    result = find(tmp_path)
    assert result.warnings[0] == f"{tmp_path}: 1 image is left out, because it is not in the folder of a class"
    assert (result.classes, result.truth) == (("cat",), (0,) * 5 + (-1,) * 5)
    sheet = contact_sheet(result, side=8)
    assert sheet.size == (80, 8 + 1 + 8)
    assert [sheet.getpixel((0, y)) for y in (0, 8, 16)] == [(255, 0, 0), (255, 255, 255), (0, 0, 255)]
    long = contact_sheet(result, side=8, columns=2)
    assert long.size == (16, 3 * 8 + 1 + 3 * 8)
    assert [long.getpixel((9, y)) for y in (12, 20, 30)] == [(255, 0, 0), (255, 255, 255), (0, 0, 255)]
    views = list(variations(Image.new("RGB", (40, 30), "red"), 4, 0))
    assert len(views) == 4
    assert views[0].size == (40, 30)


def test_the_time_that_is_left_converges() -> None:
    """The estimate excludes the time of compiling a network and follows a machine that slows down."""
    now, messages = [0.0], list[str]()
    counted = make._Remaining(messages.append, 100, 2, lambda: now[0])
    for _ in range(2):
        now[0] += 100.0  # compiling
        counted.begin()
        for _ in range(100):
            now[0] += 3.0
            counted()
    minutes = [float(text.split("about ")[1].split()[0]) for text in messages]
    assert minutes == sorted(minutes, reverse=True)
    assert messages[0] == "photograph 1 of 100, about 9.9 minutes left" and minutes[99] == 5.0
    assert messages[99].startswith("photograph 100 of 100, ")
    assert messages[100].startswith("photograph 1 of 100, ")
    slow = make._Remaining(messages.append, 100, 2, lambda: now[0])
    slow.begin()
    for index in range(150):
        now[0] += 1.0 if index < 50 else 4.0
        slow()
    assert 2.9 < float(messages[-1].split("about ")[1].split()[0]) < 3.4

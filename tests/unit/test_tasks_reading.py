"""Tasks as data: the tasks of the package, and invalid entries in files of users."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from red_squares import DETECTOR, LANDMARKS, MASK

from glsl_infer.errors import InputError
from glsl_infer.tasks import models, reading
from glsl_infer.tasks.anchors import anchors
from glsl_infer.tasks.description import DetectionRules, LandmarkRules
from glsl_infer.tools.get import catalogue


def test_every_task_of_the_package_has_its_model_in_the_catalogue() -> None:
    networks = catalogue.read()
    for name in reading.names():
        task = reading.find(name)
        assert task.what
        if task.model != models.DEFAULT:
            assert name in networks[task.model].tasks
        if isinstance(task.rules, LandmarkRules):
            detector = reading.find(task.rules.detector)
            assert detector.model in networks[task.model].needs
    assert {task for model in networks.values() for task in model.tasks} == set(reading.names()) - {"groceries"}


@pytest.mark.parametrize(
    ("name", "side", "number"),
    [("faces", 128, 896), ("faces-far", 192, 2304), ("palms", 192, 2016), ("people", 224, 2254)],
)
def test_published_detectors_have_as_many_anchors_as_their_outputs(name: str, side: int, number: int) -> None:
    rules = reading.find(name).rules
    assert isinstance(rules, DetectionRules)
    assert len(anchors(rules.anchors, side, side)) == number


def test_a_detector_is_next_to_the_task_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(json.dumps(DETECTOR))
    assert reading.find("own.json", relative_to=tmp_path / "other.json").name == "own"
    assert models.find("own.glslnn", tmp_path / "own.json") == tmp_path / "own.glslnn"


def test_an_unfetched_model_is_refused_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(models.VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match="glsl-infer get face-mesh"):
        models.find("face-mesh", tmp_path)


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        (DETECTOR, {"task": "magic"}, "not one of detection, landmarks, segmentation, classification"),
        (DETECTOR, {"tresholds": 1}, "unknown key 'tresholds'"),
        (DETECTOR, {"threshold": 1.5}, "'threshold' is 1.5, not a number from 0 to 1"),
        (DETECTOR, {"anchors": []}, "'anchors' is a list of 0"),
        (DETECTOR, {"anchors": [{"sizes": [[1, 1]]}]}, "'stride' in pixels, or 'cells'"),
        (DETECTOR, {"anchors": [{"stride": 0, "sizes": [[1, 1]]}]}, "'stride'"),
        (DETECTOR, {"anchors": [{"stride": 8, "sizes": []}]}, "'sizes' is a list of 0"),
        (DETECTOR, {"anchors": [{"stride": 8, "sizes": [[1]]}]}, "expected a list of 2 entries"),
        (DETECTOR, {"units": [1, 1, 1, 0]}, "'units'"),
        (DETECTOR, {"anchors": [{"stride": 8, "scale": 3e38}]}, "'scale' is 3e+38"),
        (LANDMARKS, {"cut": {"shift": [0, 1e7]}}, "to 1e+06"),
        (LANDMARKS, {"attributes": {"\ud800": "green"}}, "half of a surrogate pair"),
        (MASK, {"edge": [0, 1e-45]}, "the second number must be the larger one"),
        (DETECTOR, {"labels": []}, "'labels' is a list of 0"),
        (DETECTOR, {"lines": [[0, 2]]}, "'lines' has the point 2"),
        (DETECTOR, {"body": [0]}, "'body' needs two points"),
        (DETECTOR, {"background": 1}, "not true or false"),
        (DETECTOR, {"boxes": []}, "'boxes' is a list of 0"),
        (LANDMARKS, {"cut": {"from": 0}}, "needs 'from' and 'to'"),
        (LANDMARKS, {"cut": {"scale": 0}}, "'scale'"),
        (LANDMARKS, {"dimensions": 1}, "'dimensions'"),
        (LANDMARKS, {"attributes": {"a": 1}}, "attributes['a'] is 1, not a string"),
        (MASK, {"edge": [0.5, 0.5]}, "the second number must be the larger one"),
        (MASK, {"activation": "tanh"}, "not one of sigmoid, softmax, none"),
    ],
)
def test_a_task_that_is_wrong_names_file_and_key(
    task: dict[str, object], change: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({**task, **change}))
    with pytest.raises(InputError) as caught:
        reading.read(path)
    assert message in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"task": 1}', "\x00", "null", '{"a": 1, "a": 1}'])
def test_files_without_a_task_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(text)
    with pytest.raises(InputError, match="own"):
        reading.read(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        reading.read(tmp_path / "none.json")
    with pytest.raises(InputError, match="a folder"):
        reading.read(tmp_path)

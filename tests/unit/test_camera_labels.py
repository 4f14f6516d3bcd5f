"""Labels of camera frames: the threshold for "none of these", commands of --on, and unknown labels."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from glsl_infer.bundle.manifest import Output
from glsl_infer.cli.camera_labels import Watches, require_labels
from glsl_infer.errors import InputError
from glsl_infer.graph.host_steps import SOFTMAX, HostStep
from glsl_infer.runtime.classifier import Classifier, Prediction, predictions
from glsl_infer.runtime.none_of_these import NONE


def test_a_threshold_answers_none_of_these() -> None:
    probabilities = np.array([0.2, 0.6, 0.2], np.float32)
    labels = ("a", "b", "c")
    output = Output("classes", "classes", (), (HostStep(SOFTMAX),))
    assert predictions(probabilities, output, labels, 1, threshold=0.5)[0].label == "b"
    first, second = predictions(probabilities, output, labels, 2, threshold=0.7)
    assert (first.label, first.index, second.label) == (NONE, -1, "b")
    assert first.probability == pytest.approx(0.4)
    with_none_label = predictions(probabilities, output, ("a", "b", NONE), 3, threshold=0.7)
    assert [(prediction.label, prediction.index) for prediction in with_none_label] == [(NONE, 2), ("b", 1), ("a", 0)]


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_a_threshold_is_a_probability(threshold: float) -> None:
    with pytest.raises(InputError, match="give a probability from 0 to 1"):
        Classifier(threshold=threshold)


def test_a_command_starts_when_a_label_stays(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
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

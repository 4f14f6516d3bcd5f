"""``none of these`` for models without such a class: the rule, and the models with one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from glsl_infer import bundle
from glsl_infer.bundle.manifest import Output
from glsl_infer.graph.host_steps import SOFTMAX, HostStep
from glsl_infer.runtime.classifier import predictions
from glsl_infer.runtime.none_of_these import FILE, NONE, none_logit
from glsl_infer.support.child_process import ROOT

LABELS = ("a", "b", "c")
LOGITS = Output("classes", "classes", ())


def test_every_classifier_of_the_project_has_a_rule() -> None:
    """A re-exported model needs new values from scripts/bench/none_of_these.py."""
    models = [path for path in sorted((ROOT / "models").glob("*.glslnn")) if bundle.read(path).labels]
    entries = json.loads(FILE.read_text("utf-8"))["models"]
    assert {entries[bundle.read(path).digest or ""]["model"] for path in models} == {path.stem for path in models}
    assert len(entries) == len(models) == 4
    assert all(none_logit(bundle.read(path)) for path in models)


def test_it_is_answered_if_it_is_more_probable_than_all_classes() -> None:
    logits = np.array([1.0, 2.0, 0.0], np.float32)
    plain = predictions(logits, LOGITS, LABELS, 3)
    assert predictions(logits, LOGITS, LABELS, 3, none_logit=2.4) == plain
    first, *others = predictions(logits, LOGITS, LABELS, 4, none_logit=3.0)
    assert (first.label, first.index) == (NONE, -1)
    assert [entry.label for entry in others] == ["b", "a", "c"]
    powers = np.exp([3.0, 2.0, 1.0, 0.0])
    assert [entry.probability for entry in (first, *others)] == pytest.approx(powers / powers.sum())
    assert len(predictions(logits, LOGITS, LABELS, 1, none_logit=3.0)) == 1
    probable = Output("classes", "classes", (), (HostStep(SOFTMAX),))
    assert predictions(logits, probable, LABELS, 1, none_logit=3.0)[0].label == "b", "of logits only"

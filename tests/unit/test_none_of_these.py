"""``none of these`` for models without such a class: the rule, and the models with one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from glsl_infer import bundle
from glsl_infer.bundle.manifest import Output
from glsl_infer.graph.host_steps import SOFTMAX, HostStep
from glsl_infer.runtime.classifier import predictions
from glsl_infer.runtime.none_of_these import NONE, NoneRule, read, rule, rule_of
from glsl_infer.support.child_process import ROOT

LABELS = ("a", "b", "c")
LOGITS = Output("classes", "classes", ())


def with_logit(logit: float) -> NoneRule:
    """Return a rule with the same logit for all pictures."""
    return NoneRule(logit, -math.inf, 0.0, 0.0, np.zeros((1, 3)))


def test_every_classifier_of_the_project_has_a_rule() -> None:
    """A re-exported model needs new values from scripts/bench/none_of_these.py."""
    models = [path for path in sorted((ROOT / "models").glob("*.glslnn")) if bundle.read(path).labels]
    entries = read()["models"]
    assert {entries[bundle.read(path).digest or ""]["model"] for path in models} == {path.stem for path in models}
    assert len(entries) == len(models) == 4
    assert all(rule_of(bundle.read(path)) for path in models)


def test_none_of_these_is_first_if_it_is_most_probable() -> None:
    logits = np.array([1.0, 2.0, 0.0], np.float32)
    plain = predictions(logits, LOGITS, LABELS, 3)
    assert predictions(logits, LOGITS, LABELS, 3, none_rule=with_logit(2.4)) == plain
    first, *labels_in_order = predictions(logits, LOGITS, LABELS, 4, none_rule=with_logit(3.0))
    assert (first.label, first.index) == (NONE, -1)
    assert [prediction.label for prediction in labels_in_order] == ["b", "a", "c"]
    powers = np.exp([3.0, 2.0, 1.0, 0.0])
    assert [prediction.probability for prediction in (first, *labels_in_order)] == pytest.approx(powers / powers.sum())
    assert len(predictions(logits, LOGITS, LABELS, 1, none_rule=with_logit(3.0))) == 1
    probable = Output("classes", "classes", (), (HostStep(SOFTMAX),))
    assert predictions(logits, probable, LABELS, 1, none_rule=with_logit(3.0))[0].label == "b", "of logits only"


def test_the_logit_grows_with_the_distance_across_the_directions() -> None:
    """The characters of a direction are steps from the one for 0: here 4 and 3 steps of 0.2, a vector of length 1."""
    none = rule({"least": 1.0, "logit": 2.0, "scale": 0.5, "mean": 1.0, "step": 0.2, "directions": ["430"]}, "0")
    assert none.logit_of(np.array([1.0, 1.0, 1.0])) == pytest.approx(2.0)
    assert none.logit_of(np.array([9.0, 7.0, 1.0])) == pytest.approx(2.0), "along the direction"
    assert none.logit_of(np.array([1.0, 1.0, 7.0])) == pytest.approx(5.0), "across it"
    assert none.logit_of(np.array([9.0, 7.0, 7.0])) == pytest.approx(5.0)
    assert replace(none, least=4.0).logit_of(np.array([1.0, 1.0, 1.0])) == 4.0
    assert replace(none, least=4.0).logit_of(np.array([1.0, 1.0, 7.0])) == pytest.approx(5.0)

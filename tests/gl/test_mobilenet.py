"""MobileNet v1 0.25 as built by Keras: wide layers, depthwise layers, ReLU6, an input in [-1, 1]."""

from __future__ import annotations

import re

import numpy as np
import pytest
from layer_check import allowed
from mobilenet import MobileNet
from random_networks import layer_errors

from glsl_infer.bundle import Bundle
from glsl_infer.compiler.build import Options, build
from glsl_infer.gl.context import Context
from glsl_infer.graph import reference
from glsl_infer.runtime.session import Session
from glsl_infer.tools.export_report import report

pytestmark = pytest.mark.drivers("all")

RATIO = 1.5
"""Largest ratio of the GPU's error to the exact reference's error, both against float32 Keras."""


@pytest.fixture(scope="module")
def made(mobilenet: MobileNet) -> Bundle:
    labels = [f"class {index}" for index in range(mobilenet.logits.shape[1])]
    eight = Options(precision="8")  # these tests are about 8 bits
    bundle, program, prepared = build(mobilenet.graph, labels, options=eight, calibration=list(mobilenet.calibration))
    assert prepared.wide == (), "every layer is one pass for each output slice, or for all"
    # Random weights make the rounding of every layer larger, so the exporter warns about the layer.
    (by_layer,) = report(program, bundle, prepared, list(mobilenet.calibration)).warnings
    assert re.match(r"layer 'conv_[dp]w_\d+': 8 bits are off by \d+\.\d of 255 steps here", by_layer)
    return bundle


@pytest.fixture(scope="module")
def session(made: Bundle, context: Context):
    with Session(made, context=context, selfcheck=True) as one:
        yield one


@pytest.mark.exhaustive
def test_every_layer_is_exact(session: Session) -> None:
    found = layer_errors(session, np.random.default_rng(0))
    assert all(error <= allowed(session.bundle, name) for name, error in found.items()), found


@pytest.mark.exhaustive
def test_logits_are_as_near_to_keras_as_the_exact_references(session: Session, made: Bundle, mobilenet) -> None:
    gpu = np.stack([session.run(picture) for picture in mobilenet.test])
    exact = np.stack([reference.run(made, picture) for picture in mobilenet.test])
    errors = [np.abs(centred(one) - centred(mobilenet.logits)) for one in (gpu, exact)]
    assert errors[0].mean() <= RATIO * errors[1].mean()
    assert errors[0].max() <= RATIO * errors[1].max()
    # The error comes from 8 bits: the graph in float32 gives Keras' logits.
    floats = np.stack([reference.run(mobilenet.graph, picture, mode="float") for picture in mobilenet.test])
    assert np.abs(floats - mobilenet.logits).max() < 1e-3


def centred(logits: np.ndarray) -> np.ndarray:
    return logits - logits.mean(axis=1, keepdims=True)

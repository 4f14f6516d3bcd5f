"""The measurements of validate, and its page."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from graphs import conv_node, input_node
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.bundle.manifest import Output
from glsl_infer.compiler import optimize
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.picture import picture_range, picture_values, with_picture_range
from glsl_infer.program.layout import Range
from glsl_infer.tools.validate.compare import _shares
from glsl_infer.tools.validate.job import as_exported
from glsl_infer.tools.validate.measures import Agreement
from glsl_infer.tools.validate.page import page
from glsl_infer.tools.validate.verdict import ClippedCount


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 40))
def test_measures_are_those_of_all_pictures_together(seed: int, pictures: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    expected = rng.normal(size=(pictures, size))
    actual = expected + 0.1 * rng.normal(size=expected.shape)
    agreement = Agreement()
    for output, expected_output in zip(actual, expected):
        agreement.add(output, expected_output)
    error = actual - expected
    norms = np.linalg.norm(actual) * np.linalg.norm(expected)
    assert agreement.cosine == pytest.approx((actual * expected).sum() / norms)
    assert agreement.max_error == pytest.approx(np.abs(error).max())
    assert agreement.mean_error == pytest.approx(np.abs(error).mean())
    assert agreement.sqnr == pytest.approx(10 * np.log10((expected**2).sum() / (error**2).sum()))
    assert agreement.top1 == (actual.argmax(1) == expected.argmax(1)).mean()
    assert agreement.worst_cosine <= agreement.cosine + 1e-9 or pictures > 1


@pytest.mark.parametrize(("shape", "named"), [((1,), False), ((2,), True), ((2, 2, 2), False)])
def test_only_a_vector_of_several_values_has_a_first_label(shape: tuple[int, ...], named: bool) -> None:
    total = Agreement()
    total.add(np.ones(shape), np.ones(shape))
    assert ("top1" in _shares(Output("y", "values", (), (), ("y",), (shape,)), total)) is named


def _with_range(low: float, high: float) -> Graph:
    """Return a network that normalises an image of values from low to high by channel."""
    scales, offsets = (2.0, -3.0, 4.0), (0.25, 0.5, -1.0)
    image = with_picture_range(input_node(9), (high - low,), (-255.0 * low / (high - low),))
    nodes = (
        image,
        Node("normal", "rescaling", ("image",), {"scales": scales, "offsets": offsets}),
        conv_node(np.random.default_rng(0), "conv", ("normal",), 3, 4),
    )
    return Graph("scaled", nodes, "conv")


@given(st.floats(-3.0, 3.0), st.floats(0.01, 300.0))
def test_ranges_of_the_export_apply_to_folded_layers(low: float, width: float) -> None:
    (exported,) = optimize.optimize(_with_range(low, low + width)).inputs
    scales, zeros = picture_range(exported)
    job = {"pictures": {"image": {"scales": np.float32(scales), "zeros": np.float32(zeros)}}, "input_ranges": {}}
    graph, nodes = as_exported(_with_range(0.0, 1.0), job)
    ends = picture_values(graph.by_name["image"], np.array([[0.0], [255.0]]))[:, 0]
    assert ends == pytest.approx([low, low + width], abs=2e-4 * width + 1e-5 * abs(low))
    assert nodes["conv"] == "conv"
    same, _ = as_exported(_with_range(low, low + width), {**job, "input_ranges": {"": (low, low + width)}})
    assert same.by_name["image"] == _with_range(low, low + width).by_name["image"]


def test_a_range_that_is_not_that_of_the_export_is_refused() -> None:
    scales, zeros = picture_range(optimize.optimize(_with_range(-1.0, 1.0)).inputs[0])
    job = {"pictures": {"image": {"scales": scales, "zeros": zeros}}, "input_ranges": {"": (0.0, 255.0)}}
    with pytest.raises(InputError) as caught:
        as_exported(_with_range(0.0, 255.0), job)
    assert str(caught.value) == (
        "--input-range=0,255: the model was exported with --input-range=-1,1; leave the option out"
    )
    # Other factors in each channel are another network, whose range cannot be derived.
    job["pictures"]["image"]["scales"] = (1.0, 2.0, 9.0)
    graph, _ = as_exported(_with_range(0.0, 255.0), job)
    assert graph.by_name["image"] == _with_range(0.0, 255.0).by_name["image"]


def test_outputs_without_error_and_without_signal() -> None:
    same, nothing, wrong = Agreement(), Agreement(), Agreement()
    same.add(np.ones(3), np.ones(3))
    nothing.add(np.zeros(3), np.zeros(3))
    wrong.add(np.ones(3), np.zeros(3))
    assert (same.cosine, same.sqnr, same.as_json()["sqnr_db"]) == (pytest.approx(1.0), math.inf, None)
    assert (nothing.cosine, wrong.cosine, wrong.sqnr) == (1.0, 0.0, -math.inf)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3,\) and \(4,\)"):
        Agreement().add(np.ones(3), np.ones(4))


def test_the_page_shows_every_layer_and_has_no_scripts() -> None:
    agreement = Agreement()
    agreement.add(np.ones(3), np.array([1.0, 1.1, 0.9]))
    row = {"layer": "<script>alert(1)</script>", "op": "conv2d", "computes": "a&b", **agreement.as_json()}
    results: dict[str, Any] = {
        "model": "m.keras",
        "bundle": "m.glslnn",
        "pictures": 1,
        "framework": "Keras",
        "beside": "Keras 3",
        "driver": "a driver",
        "outputs": [{"name": "y", "softmax": False, **agreement.as_json(), "top1": 1.0}],
        "layers": [row],
    }
    json.dumps(results)
    text = page(results, ["it is <b>wrong</b>"])
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "it is &lt;b&gt;wrong" in text
    assert "a&amp;b" in text


def test_only_values_that_the_model_has_beyond_the_range_are_clipped() -> None:
    """A clipped count needs a model's value outside the range, here 0 to 2 with a step of 2/255."""
    count = ClippedCount(Range((2.0,), (0.0,)))
    values = np.array([0.0, 0.0, 2.0, 2.0, 1.0]).reshape(1, 5, 1)
    count.add(values, np.array([0.0, -0.5, 2.0, 3.0, 3.0]).reshape(1, 5, 1))
    assert count.as_json() == {"clipped_zeros": 1, "clipped_full": 1, "clipped_share": 0.4}
    assert ClippedCount(None).as_json() == {}

"""Shaders with ordered fetches, as on VideoCore IV, are as exact, and their bytes are almost always the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from random_networks import drawn_nodes
from tiny import tiny_bundle

from glsl_infer import bundle
from glsl_infer.bundle import Bundle
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.graph import Graph, reference
from glsl_infer.graph.picture import picture_values
from glsl_infer.runtime.drivers import LATE_FETCH, driver_of, wants_ordered_fetches
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers

SMALL = Path(__file__).resolve().parents[2] / "models/trashnet-x22-129.glslnn"


@pytest.fixture
def ordered_context(context: Context, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The context, configured as for VideoCore IV."""
    monkeypatch.setitem(vars(driver_of(context)), "ordered_fetches", True)
    assert LATE_FETCH in driver_of(context).device_lines
    return context


def network(seed: int) -> Graph:
    """Return a network of every shader with ordered fetches.

    They are: one and more texels and slices, residuals, groups, depthwise, wide sums and dense layers.
    """
    rng = np.random.default_rng(seed)
    same = (1, 1, 1, 1)
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 14, kernel=(5, 5), strides=(2, 2), padding=(2, 2, 2, 2)),
        conv_node(rng, "mixed", ("stem",), 14, 16),
        conv_node(rng, "unit", ("mixed", "mixed"), 16, 16, kernel=(3, 3), groups=4, padding=same),
        conv_node(rng, "depthwise", ("unit", "mixed"), 16, 16, kernel=(3, 3), groups=16, padding=same),
        conv_node(rng, "many", ("depthwise",), 16, 40, kernel=(2, 2), activation="relu(1)"),
        conv_node(rng, "wide", ("many",), 40, 6, padding=same),
    ]
    return classifier(rng, body, 6)


@pytest.mark.parametrize("layout", ["atlas", "planar"])
@pytest.mark.parametrize("weights", ["baked", "uniform"])
def test_every_layer_is_exact(ordered_context: Context, weights: str, layout: str) -> None:
    rng = np.random.default_rng(1)
    bundle = make_bundle(network(3), weights, layout)
    with Session(bundle, context=ordered_context, selfcheck=True) as session:
        for node in drawn_nodes(bundle):
            assert layer_error(session, node.name, stored_inputs(bundle, node.name, rng)) <= TOLERANCE, node.name


def stored_bytes(bundle: Bundle, context: Context) -> dict[str, np.ndarray]:
    """Return the stored bytes of each convolution, for the exact reference's values of an image."""
    picture = np.random.default_rng(0).integers(0, 256, (*2 * (bundle.manifest.input.size,), 3), np.uint8)
    values = {bundle.graph.input.name: picture_values(bundle.graph.input, picture)}
    values.update(reference.layers(bundle, picture))
    with Session(bundle, context=context) as session:
        return {
            node.name: np.rint(255.0 * session.run_layer(node.name, [values[name] for name in node.inputs]))
            for node in drawn_nodes(bundle)
            if node.op == "conv2d"
        }


def test_at_most_one_byte_in_a_thousand_differs_by_one(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    network, facts = bundle.read(SMALL), vars(driver_of(context))
    monkeypatch.setitem(facts, "ordered_fetches", False)
    unordered = stored_bytes(network, context)
    monkeypatch.setitem(facts, "ordered_fetches", True)
    ordered = stored_bytes(network, context)
    differences = [np.abs(unordered[name] - ordered[name]) for name in unordered]
    assert max(difference.max() for difference in differences) <= 1.0
    assert sum(np.count_nonzero(difference) for difference in differences) <= 1e-3 * sum(
        difference.size for difference in differences
    )


def test_all_fetches_but_the_first_wait(ordered_context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[bytes] = []
    start = Objects.start_program
    monkeypatch.setattr(Objects, "start_program", lambda self, v, f, a: sources.append(f) or start(self, v, f, a))
    with Session(tiny_bundle(), context=ordered_context):
        pass
    guarded = [text for text in (source.decode() for source in sources) if "sum.w += LATE;" in text]
    assert len(guarded) > 3
    for text in guarded:
        body = text.split("void main()")[1]
        assert text.index(LATE_FETCH) < text.index("#define LATE ")
        assert body.count("texture2D(") - body.count("WAIT(") == 1


@pytest.mark.parametrize(
    "renderer, expected",
    [("VC4 V3D 2.1", True), ("VideoCore IV HW", True), ("V3D 4.2", False), ("llvmpipe (LLVM 15.0.6, 256 bits)", False)],
)
def test_renderers_with_ordered_fetches(renderer: str, expected: bool) -> None:
    assert wants_ordered_fetches(renderer) == expected


def test_the_renderer_decides_on_ordered_fetches(context: Context) -> None:
    assert driver_of(context).ordered_fetches == wants_ordered_fetches(context.gl.text(0x1F01))
    assert (LATE_FETCH in driver_of(context).device_lines) == driver_of(context).ordered_fetches

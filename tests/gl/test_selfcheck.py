"""The probe finds a driver that skips a draw or computes other values, and names the layer."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.errors import SelfCheckError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers


@pytest.fixture(scope="module")
def made() -> Bundle:
    rng = np.random.default_rng(0)
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 12, kernel=(3, 3)),
        conv_node(rng, "body", ("stem",), 12, 12, kernel=(3, 3), groups=3),
    ]
    return make_bundle(classifier(rng, body, 12))


def test_a_sound_driver_passes_with_small_errors(context: Context, made: Bundle) -> None:
    with Session(made, context=context, selfcheck=True) as session:
        errors = session.selfcheck()
    assert [error.layer for error in errors] == ["stem", "body", "pool", "dense"]
    assert all(error.worst <= 1 for error in errors if error.layer in ("stem", "body"))


@pytest.mark.parametrize("layer", ["stem", "body", "pool", "dense"])
def test_a_skipped_draw_is_found(context: Context, made: Bundle, layer: str) -> None:
    with Session(made, context=context) as session:
        calls = session.gpu_executors[0]._prepared.layers[layer]
        draws = [index for index, (function, _) in enumerate(calls) if function.__name__ == "glDrawArrays"]
        del calls[draws[-1]]
        with pytest.raises(SelfCheckError, match=f"layer '{layer}'"):
            session.selfcheck()


def test_a_wrong_activation_is_found(context: Context, made: Bundle) -> None:
    members = dict(made.members)
    for program in made.manifest.programs:
        if program.name.startswith("body"):
            text = members[program.fragment].decode()
            assert "0.05 * x + 0.125" in text
            members[program.fragment] = text.replace("0.05 * x + 0.125", "0.05 * x + 0.135").encode()
    with pytest.raises(SelfCheckError, match="layer 'body'"):
        Session(Bundle(made.manifest, members), context=context, selfcheck=True)


def test_low_precision_is_found(context: Context, made: Bundle) -> None:
    if "llvmpipe" not in context.gl.text(GL.GL_RENDERER):
        return  # other drivers always compute at full precision, so there is nothing to find
    members = {name: data.replace(b"highp", b"lowp") for name, data in made.members.items()}
    with pytest.raises(SelfCheckError, match="layer '"):
        Session(Bundle(made.manifest, members), context=context, selfcheck=True)

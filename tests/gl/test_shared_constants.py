"""Programs that differ only in their constants are merged into one, which reads them from an array."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.shader_check import parse
from glsl_infer.gl.context import Context
from glsl_infer.program import Slice
from glsl_infer.runtime.drivers import shared_constants
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    rng = np.random.default_rng(0)
    body = [input_node(6), conv_node(rng, "a", ("image",), 3, 12), conv_node(rng, "b", ("a",), 12, 12)]
    return make_bundle(classifier(rng, body, 12), weights="baked")


def test_a_program_for_all_slices(bundle: Bundle) -> None:
    made = shared_constants.merged(bundle, 600)
    before, after = bundle.manifest, made.manifest
    assert len(after.programs) < len(before.programs)
    assert len(after.passes) == len(before.passes)
    used = {entry.program for entry in after.passes}
    assert used == {program.name for program in after.programs}
    for old, new in zip(before.passes, after.passes):
        value = new.uniforms.get(shared_constants.UNIFORM)
        assert (value is None) == (new.uniforms == old.uniforms)
        program = next(one for one in after.programs if one.name == new.program)
        text = made.members[program.fragment].decode()
        assert set(parse("m", text).uniforms) == {*program.uniforms, *program.samplers}
        if value is None:
            continue
        assert isinstance(value, Slice)
        assert value.count == program.uniforms[shared_constants.UNIFORM]
        assert 0 <= value.offset <= len(made.members[value.member]) // 4 - value.count


def test_the_same_bytes(context: Context, bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = np.random.default_rng(1).integers(0, 256, bundle.manifest.inputs[0].shape, np.uint8)
    drawn = []
    for _ in range(2):
        with Session(bundle, context=context, cache=False, selfcheck=True) as session:
            drawn.append([(name, value.tobytes()) for name, value in session.layers(picture)])
        monkeypatch.setattr(shared_constants, "merged", lambda bundle, _: bundle)
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("most", [0, 3])
def test_too_many_constants_stay(bundle: Bundle, most: int) -> None:
    assert shared_constants.merged(bundle, most) is bundle


@pytest.mark.parametrize("sizes", [(4, 3, 1, 4), (3, 3, 1, 1), (1, 1, 1, 1, 1), (2, 3, 2, 1), (1, 3, 2, 2)])
def test_constants_lie_apart(sizes: tuple[int, ...]) -> None:
    places, vectors = shared_constants._packed(sizes)
    taken = [4 * vector + lane + k for (vector, lane), size in zip(places, sizes) for k in range(size)]
    assert len(set(taken)) == sum(sizes)
    assert max(taken) < 4 * vectors
    assert all(lane + size <= 4 for (_, lane), size in zip(places, sizes))


def test_one_number_for_all_lanes() -> None:
    assert shared_constants._numbers("vec4(0.5)") == (0.5,) * 4
    assert shared_constants._numbers("vec3(0.5, -1e-12, 2.0)") == (0.5, -1e-12, 2.0)
    assert shared_constants._numbers("-2.5") == (-2.5,)

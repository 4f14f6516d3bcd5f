"""A session that reads a file itself frees the textures of weights, and reads them again on request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.bundle.streamed import Members
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import BundleError
from glsl_infer.runtime.session import Session


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    """A bundle with a layer whose weights are in a texture."""
    rng = np.random.default_rng(0)
    nodes = [input_node(4), conv_node(rng, "feed", ("image",), 3, 32)]
    nodes.append(conv_node(rng, "wide", ("feed",), 32, 64))
    return build(classifier(rng, nodes, 64), "abc", options=Options(weights="texture"), calibration=[])[0]


def test_uploaded_weights_are_released_and_read_again(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glsl_infer.bundle.streamed.LEAST", 1 << 10)
    monkeypatch.setattr("glsl_infer.runtime.drivers.llvmpipe.drawn.AT_ONCE", 1 << 10)
    path = tmp_path / "a.glslnn"
    bundles.write(bundle, path)
    whole = sum(map(len, bundle.members.values()))
    weights = sum(4 * texture.width * texture.height for texture in bundle.manifest.textures if texture.member)
    assert weights > 2_000, "this is no texture of weights"
    picture = np.random.default_rng(1).integers(0, 256, (4, 4, 3), np.uint8)
    with Session(bundle) as in_memory, Session(path) as session:
        assert np.array_equal(session.run(picture), in_memory.run(picture))
        members = session.bundle.members
        assert isinstance(members, Members) and not isinstance(in_memory.bundle.members, Members)
        assert whole - weights <= members.loaded < whole - 2_000
        assert session.bundle.members == bundle.members
        session.selfcheck()
        path.unlink()
        with pytest.raises(BundleError, match=r"a\.glslnn"):
            dict(members)
        other = {
            name: bytes(reversed(data)) if name.endswith(".rgba") else data for name, data in bundle.members.items()
        }
        bundles.write(replace(bundle, members=other), path)
        with pytest.raises(BundleError, match="open the model again"):
            dict(members)
        assert np.array_equal(session.run(picture), in_memory.run(picture)), "the GPU has its own"

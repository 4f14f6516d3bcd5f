"""The plain submission for the comparison in scripts/bench/side_by_side.py gives the same result, with more calls."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from tiny import tiny_bundle, tiny_picture

from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts/bench"))
from everything_bound import everything_bound

pytestmark = pytest.mark.drivers("all")


@pytest.mark.parametrize("layout", ["atlas", "planar"])
def test_the_output_is_the_same_and_every_draw_sets_its_state(tiled: Context, layout: str) -> None:
    with Session(tiny_bundle("uniform", layout), context=tiled) as session:
        passes = session.bundle.manifest.passes
        expected = session.run(tiny_picture(1))
        before = len(session.frame)
        session.frame = everything_bound(session.frame, passes)
        assert session.run(tiny_picture(1)).tobytes() == expected.tobytes()
        counts = Counter(function.__name__ for function, _ in session.frame)
    assert len(session.frame) > before
    assert counts["glDrawArrays"] == counts["glUseProgram"] == len(passes)
    clears = sum(one.clear for one in passes)
    assert counts["glBindFramebuffer"] == counts["glViewport"] == len(passes) + clears
    assert counts["glBindTexture"] == counts["glActiveTexture"] == sum(len(one.textures) for one in passes)

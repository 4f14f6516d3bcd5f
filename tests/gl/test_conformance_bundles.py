"""The sound bundles of tests/conformance on the GPU."""

from __future__ import annotations

from typing import Any

import pytest
from conformance_files import FOLDER, INDEX, check_outputs, inputs_of

from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


@pytest.mark.parametrize("entry", INDEX["sound"] + INDEX["parts"], ids=lambda entry: entry["file"])
def test_sound(context: Context, entry: dict[str, Any]) -> None:
    with Session(FOLDER / entry["file"], context=context, selfcheck=True) as session:
        check_outputs(entry, session.run(inputs_of(entry)))

"""The Python runner, unchanged, computes the operator that CONTRIBUTING.md adds, because it reads no graph."""

from __future__ import annotations

from pathlib import Path

import new_operator
import numpy as np
import pytest

from glsl_infer.errors import BundleError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session


def test_it_runs_without_a_change(context: Context, tmp_path: Path) -> None:
    made = new_operator.written(tmp_path)
    with Session(made.bundle, context=context, selfcheck=True) as session:
        np.testing.assert_allclose(session.run(made.picture), made.output, atol=made.tolerance)
        with pytest.raises(BundleError, match="reflection_padding"):
            session.bundle.graph  # noqa: B018  # tools need it, and this engine does not know the operator

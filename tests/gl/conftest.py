"""One context for all tests of this folder; GL errors are looked for before and after each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from glsl_infer.gl.context import Context


@pytest.fixture(scope="session")
def context() -> Iterator[Context]:
    with Context() as made:
        yield made


@pytest.fixture(autouse=True)
def no_gl_errors(context: Context) -> Iterator[None]:
    context.make_current()
    context.gl.check("before the test")
    yield
    context.make_current()
    context.gl.check("in the test")

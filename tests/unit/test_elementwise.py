"""The table of elementwise functions: bounds contain all results, and the reference pages list every function."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from pages import ROOT

from glsl_infer.graph.elementwise import BINARY, DRAWN, UNARY, Elementwise, monotone

ROWS = {**{name: (row, 2) for name, row in BINARY.items()}, **{name: (row, 1) for name, row in UNARY.items()}}


def exceeds_bounds(row: Elementwise, operands: int) -> bool:
    """Return whether a result for values within random intervals is outside the row's bounds."""
    rng = np.random.default_rng(5)
    for scale in (0.3, 4.0, 300.0):
        intervals = [tuple(np.sort(rng.normal(0.0, scale, (2, 200)), axis=0)) for _ in range(operands)]
        low, high = row.range(*intervals)
        for _ in range(40):
            values = [begin + rng.random(200) * (end - begin) for begin, end in intervals]
            with np.errstate(all="ignore"):
                results = np.asarray(row.compute(*values), np.float64)
            if ((results < low) | (results > high)).any():  # false for NaN, which has no bounds
                return True
    return False


@pytest.mark.parametrize("name", ROWS)
def test_bounds_contain_all_results(name: str) -> None:
    assert not exceeds_bounds(*ROWS[name])


@pytest.mark.parametrize("name", ["squared_difference", "divide", "modulo", "cos"])
def test_bounds_at_interval_ends_fail_for_other_functions(name: str) -> None:
    row, operands = ROWS[name]
    assert exceeds_bounds(replace(row, interval=monotone), operands)


def test_functions_of_one_value_have_no_glsl() -> None:
    assert not [name for name, row in UNARY.items() if row.glsl], (
        "a function of one value with a shader is an activation"
    )


@pytest.mark.parametrize(
    ("page", "start", "form", "names"),
    [
        ("cpu-operators.md", "* `tensor_binary`", "`{}`", BINARY),
        ("cpu-operators.md", "* `tensor_unary`", "`{}`", UNARY),
        ("graph-format.md", "**vector_binary.**", " {}[ ,]", DRAWN),
    ],
)
def test_a_page_lists_every_function(page: str, start: str, form: str, names: Mapping[str, Elementwise]) -> None:
    _, _, after = (ROOT / "docs/reference" / page).read_text("utf-8").partition(f"\n{start}")
    text = after.partition("\n\n")[0].partition("\n* ")[0].replace("\n", " ") + " "
    assert not [name for name in names if not re.search(form.format(name), text)]

"""Problems for the memory planner."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def lifetimes(draw: st.DrawFn, count: int) -> list[tuple[int, int]]:
    """Draw (first, last) steps of ``count`` tensors."""
    firsts = draw(st.lists(st.integers(0, 8), min_size=count, max_size=count))
    return [(first, first + draw(st.integers(0, 4))) for first in firsts]


@st.composite
def problems(draw: st.DrawFn, most: int = 9) -> tuple[list[int], list[tuple[int, int]]]:
    """Draw sizes and lifetimes of up to ``most`` tensors."""
    sizes = draw(st.lists(st.integers(1, 30), min_size=1, max_size=most))
    return sizes, draw(lifetimes(len(sizes)))

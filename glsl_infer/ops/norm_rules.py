"""Attributes shared by the operators that normalise: kinds, epsilon, gamma and beta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glsl_infer.errors import ModelError

if TYPE_CHECKING:
    from glsl_infer.graph import Node

KINDS = ("layer", "rms", "unit")

SMALLEST_ROOT_ARGUMENT = 2.0**-40
"""Lower limit of the argument of a square root, in units of the input's range. VideoCore IV cannot compute the root of
0."""


def require_kind(node: Node) -> None:
    """Refuse an unknown ``kind`` and a negative ``epsilon``."""
    kind, epsilon = node.attrs["kind"], node.attrs["epsilon"]
    if kind not in KINDS or not epsilon >= 0.0:
        raise ModelError.layer(
            node.name,
            f"a normalisation '{kind}' with an epsilon of {epsilon}",
            f"there are {', '.join(KINDS)}, with an epsilon of 0 or more",
        )


def require_lengths(node: Node, count: int) -> None:
    """Refuse a ``gamma`` or ``beta`` that has neither one element nor ``count``."""
    for name in ("gamma", "beta"):
        length = len(node.attrs[name])
        if length not in (1, count):
            raise ModelError.layer(node.name, f"a {name} of {length} elements", f"give 1 or {count}")

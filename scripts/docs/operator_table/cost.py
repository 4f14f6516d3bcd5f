"""Cost of a row, from the exported bundles: passes, and texel fetches per output pixel and slice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from glsl_infer import ops
from glsl_infer.bundle import Bundle
from glsl_infer.graph import Node
from glsl_infer.ops.operator import CopyOperator, ViewOperator
from operator_table.row import TOLERANCE, Row
from operator_table.shader_cost import fetches

STEM = "stem"
"""Prefix of the names of layers that feed the subject and are not counted."""


IDLE = ("nothing", "the image's range")
"""Values of ``into`` for subjects that add no draw and no texture."""


@dataclass(frozen=True)
class Cost:
    """Cost of a row.

    Attributes:
        becomes: operators of the bundle, or the operator that the subject is fused into.
        passes: number of draws.
        fetches: texel fetches per pixel and slice of the model's output, which is the subject's.
        tolerance: error bound of the least exact layer, in stored steps; None if the subject does not draw.
        calibrated: whether the row can only be exported with calibration images.
    """

    becomes: str
    passes: int
    fetches: float
    tolerance: float | None
    calibrated: bool


def subjects(row: Row, bundle: Bundle) -> list[Node]:
    """Return the nodes of the row's subject, or the node it is fused into."""
    nodes = [node for node in bundle.graph.nodes if node.op != "input"]
    if row.without is not None:
        return nodes[-1:]
    return [node for node in nodes if not node.name.startswith(STEM)]


def tolerance(node: Node) -> float | None:
    """Return the error bound of a layer in stored steps; None if it does not draw."""
    operator = ops.get(node.op)
    if isinstance(operator, ViewOperator):
        return None
    return 0.0 if isinstance(operator, CopyOperator) else TOLERANCE


def cost(row: Row, bundle: Bundle, without: Bundle | None, calibrated: bool) -> Cost:
    """Return the cost of a row.

    Args:
        row: the row.
        bundle: its bundle.
        without: bundle of the model without the subject, if the row has one.
        calibrated: see ``Cost``.
    """
    nodes = subjects(row, bundle)
    if without is None:
        passes, fetched = totals(bundle, {node.name for node in nodes})
        becomes = ", ".join(f"`{op}`" for op in dict.fromkeys(node.op for node in nodes)) or "nothing"
    else:
        with_operator, without_operator = totals(bundle), totals(without)
        passes, fetched = with_operator[0] - without_operator[0], with_operator[1] - without_operator[1]
        becomes = row.into if row.into in IDLE else f"part of {row.into}"
    tolerances = [limit for limit in map(tolerance, nodes) if limit is not None]
    drawn = None if row.into in IDLE else max(tolerances, default=None)
    return Cost(becomes, passes, fetched / output_texels(bundle), drawn, calibrated and row.into not in IDLE)


def totals(bundle: Bundle, layers: set[str] | None = None) -> tuple[int, int]:
    """Return (passes, texels fetched) of a frame, or of the given layers."""
    shaders = {program.name: bundle.members[program.fragment].decode() for program in bundle.manifest.programs}
    passes = [draw for draw in bundle.manifest.passes if layers is None or draw.layer in layers]
    fetched = 0
    for draw in passes:
        fetched += _fetches(shaders[draw.program]) * draw.pixels
    return len(passes), fetched


def output_texels(bundle: Bundle) -> int:
    """Return pixels times slices of a bundle's outputs; a slice of a vector has 4 values."""
    shapes = [bundle.graph.shapes[layer] for layer in bundle.graph.output_layers]
    return sum(math.prod(size) * -(-channels // 4) for *size, channels in shapes)


@cache
def _fetches(shader: str) -> int:
    return fetches(shader)

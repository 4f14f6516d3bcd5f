"""The table of supported Keras layers as data: operators.md is written from it, and every row is tested.

``GROUPS`` has the rows, ``REFUSALS`` the layers refused by name. Importing this package does not import Keras: rows
name its layers, and build models only on request.
"""

from __future__ import annotations

from operator_table import (
    arithmetic,
    convolutions,
    geometry,
    maps,
    operands,
    picture,
    reductions,
    refusals,
    refused_places,
    sums,
    vectors,
)
from operator_table.row import Group, Refusal, Row

__all__ = ["GROUPS", "REFUSALS", "ROWS", "SAMPLE", "Group", "Refusal", "Row"]

GROUPS: tuple[Group, ...] = (
    picture.PICTURE,
    *convolutions.GROUPS,
    *arithmetic.GROUPS,
    sums.SUMS,
    *operands.GROUPS,
    *reductions.GROUPS,
    *maps.GROUPS,
    *geometry.GROUPS,
    *vectors.GROUPS,
)
ROWS: tuple[Row, ...] = tuple(row for group in GROUPS for row in group.rows)
SAMPLE: tuple[Row, ...] = ROWS[::3]
"""Rows that `make test` exports; `make test-all` exports all."""
REFUSALS: tuple[Refusal, ...] = (*refusals.LAYERS, *refused_places.PLACES)

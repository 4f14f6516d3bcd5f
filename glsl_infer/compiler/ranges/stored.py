"""Ranges as data: results of calibration, with which others can export the same bundle without the images."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.compiler.ranges.eight_bits import open_layers
from glsl_infer.compiler.ranges.request import KnownRanges
from glsl_infer.errors import ForeignRangesError, InputError
from glsl_infer.graph import Graph
from glsl_infer.graph.node import NORMAL
from glsl_infer.program import CompiledNetwork
from glsl_infer.program.layout import Range

if TYPE_CHECKING:
    from glsl_infer.compiler.ranges import PreparedGraph


@dataclass(frozen=True)
class StoredRanges:
    """Results of a calibration, with the identity of the network.

    Attributes:
        model: the network's name.
        fingerprint: digest of the network; see ``fingerprint``.
        known: the ranges.
    """

    model: str
    fingerprint: str
    known: KnownRanges = field(default_factory=KnownRanges)

    @property
    def layer_count(self) -> int:
        """Number of layers with measured ranges."""
        return len(self.known.maps)

    def of(self, graph: Graph, where: str, *, calibrated: bool = False) -> KnownRanges:
        """Return the ranges for an optimised graph.

        Args:
            graph: the entire network.
            where: the file, for messages.
            calibrated: whether there are calibration images, for ranges missing in the file.

        Raises:
            InputError: the ranges belong to another network, are damaged, or are missing for some layers; with the
                names of these layers.
        """
        if self.fingerprint == fingerprint(graph):
            ranges = (*self.known.maps.items(), *self.known.sixteen_bit.items())
            wrong = {
                name
                for name, layer_range in ranges
                if name in graph.shapes and not _fits(layer_range, graph.shapes[name][-1])
            }
            if wrong:
                layers = ", ".join(map(repr, sorted(wrong)))
                raise InputError(
                    f"{where}: damaged: ranges of other numbers of channels than {layers} have; "
                    "make the file anew with 'glsl-infer calibrate'"
                )
            missing = [] if calibrated else [repr(node.name) for node in open_layers(graph, self.known.maps)]
            if missing:
                raise InputError(f"{where}: no range for {', '.join(missing)}; give images with --images DIR, too")
            return self.known
        foreign = sorted({*self.known.maps, *self.known.scales} - set(_names(graph, self.known.scales)))
        what = f"it has no {', '.join(map(repr, foreign))}" if foreign else "its layers or weights are others"
        raise ForeignRangesError(
            f"{where}: ranges of another network, '{self.model:.60}'; of '{graph.name}' {what}; give the model that "
            "they were learnt for, with the same --input-range, or make others with 'glsl-infer calibrate'"
        )


def _fits(layer_range: Range, channels: int) -> bool:
    return all(len(values) in (1, channels) for values in (layer_range.scales, layer_range.zeros))


def _names(graph: Graph, scales: Mapping[str, float]) -> Sequence[str]:
    """Return the names of layers, and the possible names of their stages."""
    return [*graph.by_name, *(name for name in scales if name.rpartition("-")[0] in graph.by_name)]


def learnt(prepared: Sequence[PreparedGraph], programs: Sequence[CompiledNetwork] = ()) -> KnownRanges:
    """Return the results of a network's calibration.

    Args:
        prepared: its GPU parts, or the entire network as the only one.
        programs: the programs of the parts. Without them, the choice of 16 bits and the calibration data are left out.
    """
    maps: dict[str, Range] = {}
    fine: dict[str, Range] = {}
    scales: dict[str, float] = {}
    for network in prepared:
        maps.update(network.learnt)
        fine.update(network.wider)
        scales.update({choice.layer: choice.scale for choice in network.scales if choice.by == "calibration"})
    if not programs:
        return KnownRanges(maps, fine, scales)
    sixteen = tuple(choice.layer for network in prepared for choice in network.precision)
    exact = tuple(layer for program in programs for layer in program.exact)
    calibration_data = {key: data for program in programs for key, data in program.calibration_data.items()}
    return KnownRanges(maps, fine, scales, sixteen, exact, calibration_data)


def fingerprint(graph: Graph) -> str:
    """Return a digest of everything that an optimised graph computes, without file names and order of attributes."""
    digest = hashlib.sha256()
    for node in graph.nodes:
        attrs = {key: value for key, value in node.attrs.items() if key not in ("fused", NORMAL)}
        digest.update(
            repr((node.name, node.op, node.inputs, sorted((key, _plain(attrs[key])) for key in attrs))).encode()
        )
        for name in sorted(node.weights):
            weights = np.ascontiguousarray(node.weights[name], "<f4")
            digest.update(repr((name, weights.shape)).encode() + weights.tobytes())
    return digest.hexdigest()


def _plain(value: Any) -> str:
    """Return a text of an attribute, equal for lists and tuples, and for NumPy and Python scalars."""
    if isinstance(value, (list, tuple)):
        return f"({','.join(map(_plain, value))})"
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, float, np.number)):
        return f"{float(value):.9g}"
    return repr(value)

"""The probe: a picture by formula, and what every layer of a network must make of it.

A bundle carries a few hundred texels of every layer, so that a runner can find out on any machine whether the
driver computes what it should, and which layer it fails in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops, quantize
from glsl_infer.errors import BundleError
from glsl_infer.graph import Array
from glsl_infer.layout import FeatureMap, FixedPoint, Value
from glsl_infer.manifest import PROBE_FORMULA, Probe, ProbeLayer
from glsl_infer.ops.input import picture_values
from glsl_infer.ops.operator import CopyOperator, ViewOperator
from glsl_infer.program import Program
from glsl_infer.texels import in_steps, pack_fixed, pack_tiles

MEMBER = "weights/probe.bin"
TEXELS = 256
RECORD = np.dtype([("x", "<u2"), ("y", "<u2"), ("value", "u1", 4)])

NOISE = 0.02
"""How far, in stored steps, another driver's value may lie from the reference's before rounding."""

NOISY_RUNS = 3


@dataclass(frozen=True)
class LayerError:
    """Difference of one layer from the probe, in stored integers."""

    layer: str
    worst: float
    mean: float
    allowed: ProbeLayer

    @property
    def passed(self) -> bool:
        """Whether both errors are within the tolerance."""
        return self.worst <= self.allowed.max_error and self.mean <= self.allowed.mean_error


def picture(size: int) -> NDArray[np.uint8]:
    """Return the probe's picture, uint8 (size, size, 3): ``PROBE_FORMULA`` of column x, row y and channel c."""
    y, x, c = np.meshgrid(np.arange(size), np.arange(size), np.arange(3), indexing="ij")
    values: NDArray[np.int64] = ((3 * x * x + 5 * y * y + 7 * x * y) // 8 + 89 * c) % 256
    return values.astype(np.uint8)


def make(program: Program) -> tuple[Probe, bytes]:
    """Compute the probe of a program, and the bytes of its member.

    The expected values are the exact reference's. The tolerances come from runs whose values are moved by up
    to ``NOISE`` of a step before every rounding, as those of a driver with other arithmetic are: twice the
    largest difference seen, plus one step; in the mean twice that seen, plus 0.05, plus one such value.
    """
    graph = program.graph
    image = picture(graph.input.attrs["shape"][0])
    exact = dict(_run(program, image, None))
    runs = [dict(_run(program, image, np.random.default_rng(seed))) for seed in range(NOISY_RUNS)]
    layers: list[ProbeLayer] = []
    records: list[NDArray[np.void]] = []
    offset = 0
    for node in graph.nodes:
        if node.op == "input" or isinstance(ops.get(node.op), ViewOperator):
            continue
        value = program.values[node.name]
        differences = [np.abs(in_steps(run[node.name], value) - in_steps(exact[node.name], value)) for run in runs]
        worst = max(float(one.max()) for one in differences)
        mean = max(float(one.mean()) for one in differences)
        entries = _records(exact[node.name], value, seed=len(layers))
        most = 2.0 * worst + 1.0
        allowed = round(2.0 * mean + 0.05 + most / exact[node.name].size, 6)
        layers.append(ProbeLayer(node.name, offset, len(entries), most, allowed))
        records.append(entries)
        offset += len(entries)
    output = program.values[graph.output]
    logits: tuple[float, ...] = ()
    tolerance = 0.0
    if isinstance(output, FixedPoint):
        logits = tuple(float(one) for one in exact[graph.output])
        moved = max(float(np.abs(run[graph.output] - exact[graph.output]).max()) for run in runs)
        tolerance = 2.0 * moved + output.scale / 256.0
    return Probe(PROBE_FORMULA, MEMBER, tuple(layers), logits, tolerance), np.concatenate(records).tobytes()


def compare(
    probe: Probe,
    member: bytes,
    outputs: Iterable[tuple[str, Mapping[str, NDArray[np.uint8]]]],
    values: Mapping[str, Value],
) -> Iterator[LayerError]:
    """Yield the error of every layer.

    Args:
        probe: from the manifest.
        member: bytes of its member.
        outputs: for every layer in the probe's order its name and its textures, uint8 (height, width, 4) by name.
        values: where each layer's output lies.
    """
    records = np.frombuffer(member, RECORD)
    allowed = {layer.layer: layer for layer in probe.layers}
    for name, textures in outputs:
        layer, value = allowed[name], values[name]
        expected = records[layer.offset : layer.offset + layer.count]
        places = [value.texture] if isinstance(value, FixedPoint) else [view.texture for view in value.views]
        given = np.array(
            [textures[places[k % len(places)]][one["y"], one["x"]] for k, one in enumerate(expected)], np.uint8
        )
        if isinstance(value, FeatureMap):
            difference = given.astype(np.int64) - expected["value"]
        else:
            shape = (layer.count, 2, 2)
            difference = quantize.join_fixed16(given.reshape(shape)) - quantize.join_fixed16(
                expected["value"].reshape(shape)
            )
        if isinstance(value, FixedPoint):
            pair = expected["y" if value.columns else "x"].astype(np.int64)
            difference = difference[2 * pair[:, None] + np.arange(2) < value.length]  # an odd length leaves a pad value
        yield LayerError(name, float(np.abs(difference).max()), float(np.abs(difference).mean()), layer)


def check(probe: Probe, member: bytes, values: Mapping[str, Value]) -> None:
    """Refuse records that lie outside the output of their layer.

    Raises:
        BundleError: naming the layer.
    """
    if len(member) % RECORD.itemsize:
        raise BundleError(f"probe: member '{probe.member}' is no sequence of {RECORD.itemsize}-byte records")
    records = np.frombuffer(member, RECORD)
    for layer in probe.layers:
        value, entries = values[layer.layer], records[layer.offset : layer.offset + layer.count]
        x, y = entries["x"].astype(np.int64), entries["y"].astype(np.int64)
        if isinstance(value, FixedPoint):
            left = top = np.zeros(len(entries), np.int64)
            width, height = value.size
        else:
            views = [value.views[k % len(value.views)] for k in range(layer.count)]
            left, top = np.array([view.x for view in views]), np.array([view.y for view in views])
            width, height = value.width, value.height
        if ((x < left) | (y < top) | (x >= left + width) | (y >= top + height)).any():
            raise BundleError(f"probe: a texel of layer '{layer.layer}' lies outside its output")


def _run(program: Program, image: NDArray[np.uint8], noise: np.random.Generator | None) -> Iterator[tuple[str, Array]]:
    """Yield the stored output of every layer, optionally moved before each rounding."""
    graph = program.graph
    values: dict[str, Array] = {graph.input.name: picture_values(graph.input, image)}
    for node in graph.nodes:
        if node.op == "input":
            continue
        operator = ops.get(node.op)
        exact = operator.reference(node, [values[name] for name in node.inputs])
        if noise is not None and not isinstance(operator, CopyOperator):
            value = program.values[node.name]
            step = value.scale_of / 255.0 if isinstance(value, FeatureMap) else value.scale / 256.0
            exact = exact + noise.uniform(-NOISE, NOISE, exact.shape) * step
        values[node.name] = operator.store(node, exact)
        yield node.name, values[node.name]


def _records(output: Array, value: Value, seed: int) -> NDArray[np.void]:
    """Return records of at least ``TEXELS`` texels (or all, where there are fewer), spread over all slices."""
    state = seed + 1
    if isinstance(value, FixedPoint):
        packed = pack_fixed(output, value)
        places = [(x, y) for y in range(packed.shape[0]) for x in range(packed.shape[1])]
        chosen = (
            places if len(places) <= TEXELS else [places[(index * len(places)) // TEXELS] for index in range(TEXELS)]
        )
        entries = [(x, y, tuple(packed[y, x])) for x, y in chosen]
        return np.array(entries, RECORD)
    packed = pack_tiles(output, value)
    slices, height, width, _ = packed.shape
    wanted = min(max(TEXELS, 4 * slices), slices * height * width)
    entries = []
    for index in range(wanted):
        state = (1103515245 * state + 12345) % 2**31
        y, x = divmod((state >> 8) % (height * width), width)
        view = value.views[index % slices]
        entries.append((view.x + x, view.y + y, tuple(packed[index % slices, y, x])))
    return np.array(entries, RECORD)

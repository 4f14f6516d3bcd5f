"""The probe: a picture by formula, and what every layer of a network must make of it.

A bundle carries a few hundred texels of every layer, so that a runner can find out on any machine whether the
driver computes what it should, and which layer it fails in.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.bundle.manifest import PROBE_FORMULA, Probe, ProbeLayer
from glsl_infer.bundle.probe import MEMBER, RECORD, picture
from glsl_infer.graph import Array
from glsl_infer.graph.picture import picture_values
from glsl_infer.ops.operator import CopyOperator, ViewOperator
from glsl_infer.program import Program
from glsl_infer.program.layout import FeatureMap, FixedPoint, Value
from glsl_infer.program.texels import in_steps, pack_fixed, pack_tiles

TEXELS = 256

NOISE = 0.02
"""How far, in stored steps, another driver's value may lie from the reference's before rounding."""

NOISY_RUNS = 3


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
        if node.operator.is_input or isinstance(ops.get(node.op), ViewOperator):
            continue
        value = program.values[node.name]
        differences = [np.abs(in_steps(run[node.name], value) - in_steps(exact[node.name], value)) for run in runs]
        worst = max(float(one.max()) for one in differences)
        mean = max(float(one.mean()) for one in differences)
        entries = _records(exact[node.name], value, seed=len(layers))
        most = 2.0 * worst + 1.0
        allowed = round(2.0 * mean + 0.05 + most / exact[node.name].size, 6)
        layers.append(ProbeLayer(node.name, offset, len(entries), most, allowed, value))
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


def _run(program: Program, image: NDArray[np.uint8], noise: np.random.Generator | None) -> Iterator[tuple[str, Array]]:
    """Yield the stored output of every layer, optionally moved before each rounding."""
    graph = program.graph
    values: dict[str, Array] = {graph.input.name: picture_values(graph.input, image)}
    for node in graph.nodes:
        if node.operator.is_input:
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

"""The probe: inputs by formula, and the expected output of every layer.

A bundle contains a few hundred texels of every layer. With them, a runner can find out on any machine whether the
driver computes correctly, and in which layer it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.bundle import probe
from glsl_infer.bundle.manifest import PROBE_FORMULA, Input, Output, Probe, ProbeLayer, ProbeOutput
from glsl_infer.bundle.probe import MEMBER, RECORD
from glsl_infer.graph import Array
from glsl_infer.graph.picture import input_values
from glsl_infer.ops.operator import CopyOperator, ViewOperator
from glsl_infer.program import CompiledNetwork
from glsl_infer.program.layout import FeatureMap, FixedPoint, SixteenBitMap, Value
from glsl_infer.program.texels import in_steps, pack_fixed, pack_tiles
from glsl_infer.support import blocks
from glsl_infer.support.parallel import parallel_map

TEXELS = 256

NOISE = 0.02
"""Largest assumed difference, in stored steps, between a driver's value and the reference's before rounding."""

NOISY_RUNS = 3


def make(
    program: CompiledNetwork,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    progress: Callable[[str], object] = str,
) -> tuple[Probe, bytes]:
    """Compute the probe of a program, and the bytes of its member.

    The expected values are those of the exact reference. The tolerances come from ``NOISY_RUNS`` runs in which noise of
    up to ``NOISE`` of a step is added before every rounding, as other arithmetic of a driver would add it. The
    tolerance of a value is twice the largest difference, plus one step. The tolerance of the mean is twice the mean
    difference, plus 0.05, plus the tolerance of a value divided by the number of values.

    Args:
        program: the program.
        inputs: inputs of its manifest.
        outputs: outputs of its manifest.
        progress: called with a progress message for each layer.

    Returns:
        The probe and the content of its member.
    """
    graph = program.graph
    input_arrays = probe.inputs(inputs)
    noises = [None, *(np.random.default_rng(seed) for seed in range(NOISY_RUNS))]
    output_layers = {output.layers[0] for output in graph.outputs}
    output_values: dict[str, list[Array]] = {}
    layers: list[ProbeLayer] = []
    records: list[NDArray[np.void]] = []
    offset = 0
    # All runs advance by one layer at a time, so the layers of a run need not be kept.
    parallel_runs = [_run(program, input_arrays, noise) for noise in noises]
    layer_count = len(graph.nodes) - len(graph.inputs)
    for index in range(layer_count):
        (name, exact), *noisy_layers = parallel_map(next, parallel_runs)
        noisy_values = [value for _, value in noisy_layers]
        progress(f"probe: layer {index + 1} of {layer_count}, {name}")
        if name in output_layers:
            output_values[name] = [exact, *noisy_values]
        if isinstance(ops.get(graph.by_name[name].op), ViewOperator):
            continue
        value = program.values[name]
        layer_records = _records(exact, value, seed=len(layers))
        tolerance, mean_tolerance = _tolerances(exact, value, noisy_values)
        layers.append(ProbeLayer(name, offset, len(layer_records), tolerance, mean_tolerance, value))
        records.append(layer_records)
        offset += len(layer_records)
    layer_of = {output.name: output.layers[0] for output in graph.outputs}
    expected = tuple(_output(output, *output_values[layer_of[output.name]]) for output in outputs)
    return Probe(PROBE_FORMULA, MEMBER, tuple(layers), expected), np.concatenate(records).tobytes()


def _tolerances(exact: Array, value: Value, noisy_values: Sequence[Array]) -> tuple[float, float]:
    """Return the tolerances of a layer's value and of their mean, in stored steps; see ``make``."""
    worst, mean = map(max, zip(*parallel_map(partial(_differences, exact, value), noisy_values)))
    tolerance = 2.0 * worst + 1.0
    return tolerance, round(2.0 * mean + 0.05 + tolerance / exact.size, 6)


def _differences(exact: Array, value: Value, run: Array) -> tuple[float, float]:
    """Return the largest and the mean difference of a run, in stored steps."""
    worst, total = 0.0, 0.0
    for rows in blocks.rows(exact.shape):
        difference = np.abs(in_steps(run[rows], value) - in_steps(exact[rows], value))
        worst, total = max(worst, float(difference.max())), total + float(difference.sum())
    return worst, total / exact.size


def _output(output: Output, exact: Array, *runs: Array) -> ProbeOutput:
    """Return the expected values of an output; none unless it is a single vector."""
    value = output.values[0]
    if len(output.values) > 1 or not isinstance(value, FixedPoint):
        return ProbeOutput((), 0.0)
    deviation = max(float(np.abs(run - exact).max()) for run in runs)
    return ProbeOutput(tuple(float(number) for number in exact), 2.0 * deviation + value.scale / 256.0)


def _run(
    program: CompiledNetwork, inputs: Mapping[str, NDArray[Any]], noise: np.random.Generator | None
) -> Iterator[tuple[str, Array]]:
    """Yield the name and the stored values of every layer, with optional noise before each rounding."""
    graph = program.graph
    values: dict[str, Array] = {}
    readers_left = {name: len(readers) for name, readers in graph.consumers.items()}
    for node in graph.nodes:
        operator = ops.get(node.op)
        if operator.is_input:
            values[node.name] = input_values(node, inputs[node.name])
            continue
        exact = operator.reference(node, [values[name] for name in node.inputs])
        if noise is not None and not isinstance(operator, CopyOperator):
            step = _step(program.values[node.name])
            exact = _with_noise(exact, noise, step)
        values[node.name] = operator.store(node, exact)
        del exact  # It is as large as the stored values, and other runs continue now.
        for name in node.inputs:
            readers_left[name] -= 1
            if not readers_left[name]:
                values.pop(name, None)
        yield node.name, values[node.name]


def _with_noise(exact: Array, noise: np.random.Generator, step: Array | float) -> Array:
    """Return values with uniform noise of up to ``NOISE`` of a step."""
    noisy = np.empty(exact.shape)
    for rows in blocks.rows(exact.shape):
        noisy[rows] = noise.uniform(-NOISE, NOISE, noisy[rows].shape)
        noisy[rows] *= step
        noisy[rows] += exact[rows]
    return noisy


def _step(value: Value) -> Array | float:
    """Return the value of a stored step, for each channel of a map.

    It is a step of 8 bits even for a map in 16 bits, because floats of drivers differ by a share of the range.
    """
    return value.scale_of / 255.0 if isinstance(value, (FeatureMap, SixteenBitMap)) else value.scale / 256.0


def _records(output: Array, value: Value, seed: int) -> NDArray[np.void]:
    """Return records of at least ``TEXELS`` texels spread over all slices, or of all texels if there are fewer."""
    state = seed + 1
    if isinstance(value, FixedPoint):
        packed = pack_fixed(output, value)
        positions = [(x, y) for y in range(packed.shape[0]) for x in range(packed.shape[1])]
        count = min(TEXELS, len(positions))
        chosen = [positions[(index * len(positions)) // count] for index in range(count)]
        entries = [(x, y, tuple(packed[y, x])) for x, y in chosen]
        return np.array(entries, RECORD)
    packed = pack_tiles(output, value)
    slices, height, width, _ = packed.shape
    count = min(max(TEXELS, 4 * slices), slices * height * width)
    entries = []
    for index in range(count):
        state = (1103515245 * state + 12345) % 2**31
        y, x = divmod((state >> 8) % (height * width), width)
        view = value.views[index % slices]
        entries.append((view.x + x, view.y + y, tuple(packed[index % slices, y, x])))
    return np.array(entries, RECORD)

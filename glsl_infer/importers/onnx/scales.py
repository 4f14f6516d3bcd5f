"""Quantised tensors of a file as real values, before the import: scales that the network computes, and constants.

The import reads a quantised tensor as its real values (``quantized``), with a scale of 1 and a zero point of 0. So the
scales of dynamic quantisation become 1, and quantised constants next to such tensors become real.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from glsl_infer.importers.onnx.folding import dequantized
from glsl_infer.importers.onnx.model import Numbers, Operator, Part
from glsl_infer.importers.onnx.norm_pieces import Network

_OF_VALUES = {"Clip": (1, 2), "Concat": range(64), "Gather": (0,), "Max": range(64), "Min": range(64), "Pad": (2,)}
"""The inputs of an operator that have the quantisation of its result, by type, apart from computed tensors."""

_MOVES = (
    *("Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "MaxPool", "Pad", "Reshape", "Resize"),
    *("Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", *_OF_VALUES),
)
"""Operators whose results have the quantisation of their inputs."""

_READERS = ("DequantizeLinear", "QGemm")
"""Operators that read a quantised tensor, then its scale and its zero point; and those of ``QLinear...``."""

_MOST_STEPS = 64


def with_real_values(part: Part) -> Part:
    """Return the operators of a file without scales that the network computes and without quantised constants."""
    if not any("Quantize" in operator.kind or operator.kind.startswith("Q") for operator in part.operators):
        return part
    network = Network(part)
    changed: dict[int, Operator] = {}
    constants = dict(part.constants)
    for index, operator in enumerate(part.operators):
        if operator.kind == "QuantizeLinear" and len(operator.inputs) > 1:
            neutral_scales = _neutral_scales(network, operator)
            changed.update(neutral_scales)
            if neutral_scales:
                changed[index] = replace(operator, kind="Identity", domain="", inputs=operator.inputs[:1])
        elif not operator.domain and operator.kind in _OF_VALUES:
            real_constants = _real_constants(network, operator)
            inputs = list(operator.inputs)
            for position, (name, load) in real_constants.items():
                constants[name] = load
                inputs[position] = name
            changed[index] = replace(operator, inputs=tuple(inputs))
    network_of_reals = network.replaced(changed)
    return Part(network_of_reals.operators, constants, network_of_reals.outputs)


def _neutral_scales(network: Network, operator: Operator) -> dict[int, Operator]:
    """Return a scale of 1 and a zero point of 0 for those that the network computes from the quantised tensor.

    Returns:
        The constants by the index of the operators that they replace.
    """
    changed = {}
    for name, value in zip(operator.inputs[1:3], (np.ones((), np.float32), np.zeros((), np.uint8))):
        index = network.producers.get(name)
        if index is None or name in network.part.outputs or len(network.part.operators[index].outputs) > 1:
            continue
        if operator.inputs[0] in _sources(network, name):
            attributes = {"value": partial(np.copy, value)}
            changed[index] = replace(
                network.part.operators[index], kind="Constant", domain="", inputs=(), attributes=attributes
            )
    return changed


def _sources(network: Network, name: str) -> set[str]:
    """Return the tensors from which a few operators compute a tensor."""
    sources, pending = set[str](), [name]
    while pending and len(sources) < _MOST_STEPS:
        index = network.producers.get(pending.pop())
        inputs = () if index is None else network.part.operators[index].reads
        pending += [source for source in inputs if source not in sources]
        sources.update(inputs)
    return sources


def _real_constants(network: Network, operator: Operator) -> dict[int, tuple[str, Callable[[], Numbers]]]:
    """Return (name, function to load it) of the real form of each quantised constant among an operator's inputs.

    The keys are the positions of the inputs.
    """
    quantization = None
    real: dict[int, tuple[str, Callable[[], Numbers]]] = {}
    for index, name in enumerate(operator.inputs):
        if index not in _OF_VALUES[operator.kind] or name not in network.part.constants:
            continue
        load = network.part.constants[name]
        quantization = quantization or _quantization(network, operator.outputs[0])
        if quantization is None or load().dtype not in (np.int8, np.uint8):
            continue
        real[index] = (f"{operator.outputs[0]}/real-{index}", partial(_real, load, *quantization))
    return real


def _real(load: Callable[[], Numbers], scale: Numbers, zero: Numbers | None) -> Numbers:
    return dequantized([load(), scale, zero], {})


def _quantization(network: Network, name: str) -> tuple[Numbers, Numbers | None] | None:
    """Return the scale and the zero point of a quantised tensor, from an operator that reads it; else None."""
    for _ in range(_MOST_STEPS):
        readers = [network.part.operators[index] for index in network.readers.get(name, ())]
        for reader in readers:
            if reader.kind not in _READERS and not reader.kind.startswith("QLinear"):
                continue
            scale, zero = (*reader.inputs[reader.inputs.index(name) + 1 :], "", "")[:2]
            scales = network.constant(scale)
            return None if scales is None else (scales, network.constant(zero) if zero else None)
        name = next((reader.outputs[0] for reader in readers if reader.kind in _MOVES and not reader.domain), "")
        if not name:
            return None
    return None

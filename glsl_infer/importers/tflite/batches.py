"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND without fusion, and operators between them on a batch of several maps.

If a convolution is between them, ``rewrites`` fuses all three into one dilated convolution. Otherwise the CPU moves the
pixels, and an operator with a shader runs on the maps of the batch one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.core.emit import Chain
from glsl_infer.importers.tflite.call import MOST_NUMBERS, Call, Converter
from glsl_infer.importers.tflite.choices import shaped

MOST_MAPS = 64
"""Largest number of maps in a batch. Each has its own node."""


def to_batch(call: Call) -> list[Node]:
    """Convert a SPACE_TO_BATCH_ND: (n, h, w, c) -> (n block block, h / block, w / block, c)."""
    count, height, width, channels = _maps(call)
    (down, across), around = _blocks(call)
    tall, wide = height + sum(around[:2]), width + sum(around[2:])
    if tall % down or wide % across or min(around) < 0 or count * tall * wide * channels > MOST_NUMBERS:
        raise call.refused(f"{tall}x{wide} pixels in blocks of {down}x{across}", "the file is damaged; get it anew")
    chain = Chain(call.name, call.inputs[0], ())
    chain.add("tensor_reshape", shape=(count, height, width, channels))
    if any(around):
        chain.add("tensor_pad", part="padded", padding=(0, 0, *around, 0, 0))
    blocks = (count, tall // down, down, wide // across, across, channels)
    chain.add("tensor_reshape", part="blocks", shape=blocks)
    chain.add("tensor_transpose", part="order", axes=(2, 4, 0, 1, 3, 5))
    maps = (down * across * count, tall // down, wide // across, channels)
    chain.add("tensor_reshape", part="maps", shape=maps)
    return chain.nodes


def to_space(call: Call) -> list[Node]:
    """Convert a BATCH_TO_SPACE_ND: (n block block, h, w, c) -> (n, h block, w block, c), minus the crops."""
    count, height, width, channels = _maps(call)
    (down, across), cut = _blocks(call)
    size = (height * down - sum(cut[:2]), width * across - sum(cut[2:]))
    if count % (down * across) or min(cut) < 0 or min(size) < 1:
        raise call.refused(f"{count} maps in blocks of {down}x{across}, cut by {cut}", "the file is damaged")
    left = count // (down * across)
    chain = Chain(call.name, call.inputs[0], ())
    chain.add("tensor_reshape", shape=(down, across, left, height, width, channels))
    chain.add("tensor_transpose", part="order", axes=(2, 3, 0, 4, 1, 5))
    chain.add("tensor_reshape", part="maps", shape=(left, height * down, width * across, channels))
    if any(cut):
        chain.add("tensor_slice", part="cut", begin=(0, cut[0], cut[2], 0), size=(left, *size, channels))
    chain.add("tensor_reshape", part="shape", shape=(*size, channels) if left == 1 else (left, *size, channels))
    return chain.nodes


def map_by_map(call: Call, convert: Callable[[Call], list[Node]]) -> list[Node]:
    """Convert an operator on a batch of several maps: it runs on each map, and the results are concatenated."""
    shape = call.shapes[0]
    batch = shape[0]
    if len(call.inputs) != 1 or len(shape) != 4 or not 1 < batch <= MOST_MAPS or call.tensor.shape[:1] != (batch,):
        raise call.refused(f"of {len(call.inputs)} tensors of shape {shape}", "export the model for one image")
    single = replace(call.tensor, shape=(1, *call.tensor.shape[1:]), free=())
    tensors = tuple(
        replace(tensor, shape=(1, *shape[1:])) if tensor is not None and value is None else tensor
        for tensor, value in zip(call.tensors, call.constants)
    )
    nodes: list[Node] = []
    outputs: list[str] = []
    for index in range(batch):
        name = f"{call.name}-{index}" if index else call.name
        cut = {"begin": (index, 0, 0, 0), "size": (1, *shape[1:])}
        nodes.append(Node(name, "tensor_slice", call.inputs, cut))
        nodes.append(shaped(f"{name}-map", name, shape[1:]))
        own = replace(call, name=f"{name}-made", inputs=(nodes[-1].name,), shapes=(shape[1:],), tensor=single)
        nodes += convert(replace(own, tensors=tensors))
        outputs.append(f"{name}-one")
        nodes.append(shaped(outputs[-1], nodes[-1].name, single.shape))
    return [*nodes, Node(f"{call.name}-joined", "tensor_concat", tuple(outputs), {"axis": -4})]


def _maps(call: Call) -> tuple[int, int, int, int]:
    """Return (maps, height, width, channels) of the first input."""
    shape: Shape = call.shapes[0]
    if len(shape) not in (3, 4):
        raise call.refused(f"of shape {shape}", "give it maps: a tensor of 4 axes")
    count, height, width, channels = (1, *shape)[-4:]
    return count, height, width, channels


def _blocks(call: Call) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
    """Return the block (down, across), and the padding or crops: (top, bottom, left, right)."""
    block, sides = call.integers(1, "its blocks"), call.integers(2, "its sides")
    if len(block) != 2 or len(sides) != 4 or min(block) < 1 or math.prod(block) > MOST_MAPS * MOST_MAPS:
        raise call.refused(f"blocks of {block}", "blocks of rows and columns can be exported")
    return (block[0], block[1]), (sides[0], sides[1], sides[2], sides[3])


BATCHES: dict[str, Converter] = {"SPACE_TO_BATCH_ND": to_batch, "BATCH_TO_SPACE_ND": to_space}

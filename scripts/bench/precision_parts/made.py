"""Networks with random weights that are normalised on photographs, as batch norms do in training.

Three kinds, each with several outputs: a detector with three heads of different scales and inputs from 0 to 255, an
encoder and decoder with dense outputs of different units, and depthwise blocks with hard swish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.graph.purposes import VALUES

SIDE = 96
GAMMA, BETA = 0.4, 0.6
"""Standard deviations of the logarithm of a channel's scale, and of its offset, as in trained networks."""

Picture = NDArray[np.uint8]


class Maker:
    """Nodes of a network, with the values of some photographs.

    Args:
        photographs: uint8 (height, width, 3).
        ends: values of bytes 0 and 255.
        seed: of the weights.
    """

    def __init__(self, photographs: Sequence[Picture], ends: tuple[float, float], seed: int) -> None:
        low, high = ends
        scale, zero = high - low, -255.0 * low / (high - low)
        attrs = {"shape": photographs[0].shape, "scales": (scale,), "zeros": (zero,)}
        self.nodes = [Node("image", "input", (), attrs)]
        self._rng = np.random.default_rng(seed)
        self._values = {"image": [np.float32(low + scale / 255.0 * one) for one in photographs]}

    def add(self, op: str, *inputs: str, weights: dict[str, Any] | None = None, **attrs: Any) -> str:
        """Append a node, and return its name."""
        node = Node(f"{op}{len(self.nodes)}", op, inputs, attrs, weights or {}).complete()
        self.nodes.append(node)
        read = zip(*(self._values[name] for name in inputs))
        self._values[node.name] = [reference.layer(node, list(each), stored=False) for each in read]
        return node.name

    def channels(self, name: str) -> int:
        """Return the number of channels of a layer."""
        return int(self._values[name][0].shape[2])

    def conv(self, source: str, filters: int, activation: str, size: int = 3, stride: int = 1) -> str:
        """Append a convolution with normalised filters."""
        shape = (size, size, self.channels(source), filters)
        return self._normalised(source, shape, activation, stride)

    def depthwise(self, source: str, activation: str, size: int, stride: int) -> str:
        """Append a depthwise convolution with normalised filters."""
        return self._normalised(source, (size, size, 1, self.channels(source)), activation, stride)

    def head(self, source: str, filters: int, activation: str, spread: float = 1.0, offset: float = 0.0) -> str:
        """Append a 1x1 convolution whose outputs have a deviation of ``spread`` around ``offset``."""
        shape = (1, 1, self.channels(source), filters)
        return self._normalised(source, shape, activation, 1, spread, offset)

    def _normalised(
        self,
        source: str,
        shape: tuple[int, int, int, int],
        activation: str,
        stride: int,
        spread: float = 1.0,
        offset: float = 0.0,
    ) -> str:
        """Append a convolution whose filters have random means and deviations on the photographs."""
        size, _, each, filters = shape
        kernel = self._rng.normal(0.0, 1.0, shape).astype(np.float32)
        attrs = {"strides": (stride, stride), "padding": (size // 2,) * 4, "groups": self.channels(source) // each}
        bare = Node("bare", "conv2d", (source,), attrs, {"kernel": kernel, "bias": np.zeros(filters, np.float32)})
        bare = bare.complete().with_attrs(activation="linear")
        sums = [reference.layer(bare, [one], stored=False).reshape(-1, filters) for one in self._values[source]]
        seen = np.concatenate(sums)
        gamma = spread * np.exp(self._rng.normal(0.0, GAMMA, filters)) / np.maximum(seen.std(axis=0), 1e-6)
        bias = offset + spread * self._rng.normal(0.0, BETA, filters) - gamma * seen.mean(axis=0)
        weights = {"kernel": np.float32(kernel * gamma), "bias": np.float32(bias)}
        return self.add("conv2d", source, weights=weights, activation=activation, **attrs)

    def graph(self, name: str, outputs: Sequence[str]) -> Graph:
        """Return the network."""
        return Graph(
            name, self.nodes, [GraphOutput(f"output-{i}", (one,), (), VALUES) for i, one in enumerate(outputs)]
        )


def detector(photographs: Sequence[Picture]) -> Graph:
    """Return a detector of three scales, with boxes in pixels, and scores before their sigmoid."""
    make = Maker(photographs, (0.0, 255.0), 1)

    def block(x: str, filters: int) -> str:
        short = make.conv(x, filters // 2, "silu", 1)
        inner = make.conv(make.conv(short, filters // 2, "silu"), filters // 2, "silu")
        return make.conv(make.add("concat", make.add("add", short, inner), short), filters, "silu", 1)

    stem = make.conv(make.conv("image", 12, "silu", stride=2), 24, "silu", stride=2)
    fine = block(make.conv(block(stem, 24), 32, "silu", stride=2), 32)
    middle = block(make.conv(fine, 48, "silu", stride=2), 48)
    coarse = block(make.conv(middle, 64, "silu", stride=2), 64)
    pooled = [coarse]
    for _ in range(3):
        pooled.append(make.add("max_pool", pooled[-1], pool=(5, 5), strides=(1, 1), padding=(2, 2, 2, 2)))
    coarse = make.conv(make.add("concat", *pooled), 64, "silu", 1)
    middle = block(make.add("concat", make.add("upsample_nearest", coarse, size=(2, 2)), middle), 48)
    fine = block(make.add("concat", make.add("upsample_nearest", middle, size=(2, 2)), fine), 32)
    outputs = []
    for stride, x in ((8, fine), (16, middle), (32, coarse)):
        outputs.append(make.head(make.conv(x, 32, "silu"), 16, "linear", stride / 2.0, float(stride)))
        outputs.append(make.head(make.conv(x, 32, "silu"), 6, "linear", 1.5, -5.0))
    return make.graph("detector", outputs)


def decoder(photographs: Sequence[Picture]) -> Graph:
    """Return an encoder and decoder with a depth, scores of classes and directions for every pixel."""
    make = Maker(photographs, (-1.0, 1.0), 2)
    x, sides = make.conv("image", 16, "relu(6)", stride=2), []
    for filters in (24, 40, 64):
        sides.append(x)
        for stride in (2, 1):
            wide = make.conv(x, 4 * make.channels(x), "relu(6)", 1)
            deep = make.depthwise(wide, "relu(6)", 3, stride)
            narrow = make.conv(deep, filters, "linear", 1)
            x = make.add("add", x, narrow) if stride == 1 else narrow
    for side in reversed(sides):
        x = make.add("concat", make.add("upsample_nearest", x, size=(2, 2)), side)
        x = make.conv(x, make.channels(side), "relu")
    outputs = [
        make.head(make.conv(x, 8, "relu"), 1, "relu", 8.0, 12.0),
        make.head(x, 7, "linear", 3.0),
        make.head(x, 3, "tanh"),
    ]
    return make.graph("decoder", outputs)


def gated(photographs: Sequence[Picture]) -> Graph:
    """Return a network of depthwise blocks with hard swish, with a map of features and an embedding as outputs."""
    make = Maker(photographs, (0.0, 255.0), 3)
    x = make.conv("image", 16, "hard_silu", stride=2)
    for filters, stride in ((16, 2), (24, 2), (24, 1), (40, 2), (40, 1), (40, 1)):
        wide = make.conv(x, 96, "hard_silu", 1)
        deep = make.depthwise(wide, "hard_silu", 5, stride)
        narrow = make.conv(deep, filters, "linear", 1)
        same = stride == 1 and make.channels(x) == filters
        x = make.add("add", x, narrow) if same else narrow
    features = make.conv(x, 96, "hard_silu", 1)
    return make.graph("gated", [make.head(features, 32, "linear"), make.add("average_pool", features)])


MADE: dict[str, Callable[[Sequence[Picture]], Graph]] = {"detector": detector, "decoder": decoder, "gated": gated}

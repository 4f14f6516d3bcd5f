"""Partial sums of convolutions: limits of their weights in a texture, and reading them back."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node

from glsl_infer import ops
from glsl_infer.graph import Node
from glsl_infer.lowering import products_texture
from glsl_infer.lowering.bindings import MAX_TEXTURES
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.product_blocks import blocks_of
from glsl_infer.program.layout import FeatureMap, FixedMap, View


def test_a_draw_needs_a_texture_for_the_weights() -> None:
    columns = columns_of((3, 3, 16, 8), 1)
    blocks = blocks_of(columns, 8)
    assert products_texture.untextured(columns, blocks, MAX_TEXTURES - 1, 1.0) == ""
    assert "8 textures already" in products_texture.untextured(columns, blocks, MAX_TEXTURES, 1.0)


def test_a_window_is_that_of_the_whole_convolution() -> None:
    node = conv_node(np.random.default_rng(0), "c", ("x",), 4, 4, kernel=(3, 5), padding=(1, 1, 2, 2), dilations=(2, 1))
    assert ops.get("convolution_products").reads(node) == ops.get("conv2d").reads(node) is not None


def test_weights_are_read_for_the_kinds_of_inputs_that_have_them() -> None:
    views = tuple(View("t", 2 * index, 0) for index in range(2))
    sums, plain = FixedMap(2, 2, 4, 1.0, views), FeatureMap(2, 2, 4, 0, views[:1])
    kernel = {"kernel": np.zeros((1, 1, 4, 4), np.float32)}
    products = Node("p", "convolution_products", ("x",), ops.get("convolution_products").attrs, kernel)
    with pytest.raises(ValueError, match="layer 'p'"):
        ops.get("convolution_products").read_weights(products, {"kernel": (1, 1, 4, 4)}, [], [sums])
    total = Node("s", "convolution_sum", ("x",), ops.get("convolution_sum").attrs)
    for inputs in ([plain], [sums, sums]):
        with pytest.raises(ValueError, match="layer 's'"):
            ops.get("convolution_sum").read_weights(total, {"bias": (4,)}, [], inputs)

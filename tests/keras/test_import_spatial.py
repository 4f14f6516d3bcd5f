"""Pooling, concatenation, enlarging: layers that move values, or average them."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import check
from pairwise import each_of

from glsl_infer.importers.keras import load, to_graph
from glsl_infer.importers.keras.layers import DepthToSpace

L = keras.layers


@given(
    layer=st.sampled_from([L.MaxPooling2D, L.AveragePooling2D]),
    size=st.tuples(st.integers(4, 9), st.integers(4, 9)),
    pool=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    strides=st.sampled_from([None, 1, 2, (3, 1)]),
    padding=st.sampled_from(["same", "valid"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30)
def test_pooling(layer, size, pool, strides, padding, seed) -> None:
    x = keras.Input((*size, 3))
    check(x, layer(pool, strides, padding)(L.Conv2D(2, 1)(x)), seed)


@pytest.mark.parametrize("operation", [keras.ops.max_pool, keras.ops.average_pool])
def test_pooling_as_an_operation(operation) -> None:
    x = keras.Input((7, 6, 3))
    check(x, operation(x, 3, strides=2, padding="same"))
    check(x, operation(x, (2, 3)))


@pytest.mark.parametrize("channels, op", [((4, 8, 3), "concat"), ((4, 3), "concat"), ((3, 4), "concat_copy")])
@pytest.mark.parametrize("join", [L.Concatenate(), L.Concatenate(axis=3), keras.ops.concatenate])
def test_concatenation(channels, op, join) -> None:
    x = keras.Input((5, 5, 3))
    parts = [L.Conv2D(count, 3)(x) for count in channels]
    joined = join(parts, axis=-1) if join is keras.ops.concatenate else join(parts)
    graph = check(x, joined)
    assert graph.by_name[graph.output].op == op


@each_of(("interpolation", ["nearest", "bilinear"]), ("size", [2, (3, 1), (1, 4), (5, 3)]))
def test_upsampling(interpolation, size) -> None:
    x = keras.Input((4, 3, 3))
    graph = check(x, L.UpSampling2D(size, interpolation=interpolation)(L.Conv2D(5, 1)(x)))
    assert graph.by_name[graph.output].op == f"upsample_{interpolation}"


@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space(block: int, tmp_path: Path) -> None:
    x = keras.Input((3, 4, 3))
    y = L.Conv2D(2 * block**2, 1)(x)
    check(x, DepthToSpace(block)(y))
    keras.Model(x, DepthToSpace(block, name="shuffle")(y)).save(tmp_path / "model.keras")
    assert load(tmp_path / "model.keras").by_name["shuffle"].attrs["block"] == block


def test_our_depth_to_space_is_that_of_keras_and_of_tensorflow() -> None:
    import tensorflow as tf

    values = np.random.default_rng(0).normal(size=(2, 3, 4, 18)).astype(np.float32)
    result = np.asarray(DepthToSpace(3)(values))
    np.testing.assert_array_equal(result, tf.nn.depth_to_space(values, 3).numpy())
    assert DepthToSpace(3).compute_output_shape((None, None, 4, 18)) == (None, None, 12, 2)
    free = keras.Input((None, None, 18))
    np.testing.assert_array_equal(keras.Model(free, DepthToSpace(3)(free)).predict(values, verbose=0), result)
    with pytest.raises(ValueError, match="multiple of 4"):
        DepthToSpace(2)(values)
    with pytest.raises(ValueError, match="block_size=0"):
        DepthToSpace(0)


@pytest.mark.skipif(not hasattr(keras.ops, "depth_to_space"), reason="this Keras has no such operation")
def test_depth_to_space_as_an_operation() -> None:
    x = keras.Input((3, 4, 3))
    check(x, keras.ops.depth_to_space(L.Conv2D(8, 1)(x), 2))


def test_padding_that_no_convolution_takes_over_stays() -> None:
    x = keras.Input((6, 6, 3))
    y = L.MaxPooling2D(3, 2)(L.ZeroPadding2D(1, name="pad")(L.Conv2D(4, 1)(x)))
    assert check(x, y).by_name["pad"].attrs["padding"] == (1, 1, 1, 1)


def test_layers_that_only_train_are_dropped() -> None:
    x = keras.Input((6, 6, 3))
    y = L.RandomFlip()(L.RandomRotation(0.1)(L.RandomZoom(0.1)(L.RandomTranslation(0.1, 0.1)(x))))
    y = L.RandomContrast(0.1)(L.RandomBrightness(0.1)(y))
    y = L.SpatialDropout2D(0.5)(L.GaussianNoise(1.0)(L.GaussianDropout(0.5)(L.Identity()(L.Conv2D(4, 3)(y)))))
    y = L.AlphaDropout(0.5)(L.ActivityRegularization(0.1)(y))
    assert [node.op for node in check(x, y).nodes] == ["input", "conv2d"]


def test_layers_without_effect_by_their_options_are_dropped() -> None:
    x = keras.Input((4, 4, 3))
    y = L.Rescaling(1.0)(L.UpSampling2D(1)(L.MaxPooling2D(1)(L.AveragePooling2D(1)(DepthToSpace(1)(x)))))
    y = L.UpSampling2D(1, interpolation="bilinear")(L.Activation("linear")(y))
    graph = to_graph(keras.Model(x, L.Conv2D(2, 1)(y)))
    assert len(graph.nodes) == 9
    assert len(check(x, L.Conv2D(2, 1)(y)).nodes) == 2

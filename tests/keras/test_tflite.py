"""Keras models through TensorFlow's converter, as floats, 16-bit floats and bytes, compared with Keras.

``scripts/bench/litert_judge.py`` compares 200 random networks with LiteRT.
"""

from __future__ import annotations

from collections.abc import Iterator

import keras
import numpy as np
import pytest
import tensorflow as tf
from imported import close, randomise
from keras_networks import random_network
from numpy.typing import NDArray

from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.graph import Graph, reference
from glsl_infer.graph.purposes import VALUES
from glsl_infer.importers import keras as from_keras
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.tflite.file import parse
from glsl_infer.importers.tflite.reader import to_graph

layers = keras.layers
SIZE = (24, 20, 3)


def network(seed: int) -> keras.Model:
    """Return a small mobile network, another for each seed: 0 and 6 have all choices."""
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    picture = keras.Input(SIZE)
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(picture)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    for _ in range(2):
        y = layers.DepthwiseConv2D(int(rng.choice([3, 5])), padding="same", use_bias=False)(x)
        y = layers.BatchNormalization()(y)
        y = layers.Activation(str(rng.choice(["relu", "hard_silu", "silu"])))(y)
        gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
        y = layers.Multiply()([y, layers.Conv2D(8, 1, activation="sigmoid")(gate)])
        x = layers.Add()([x, layers.Conv2D(8, 3, padding="same", dilation_rate=int(rng.choice([1, 2])))(y)])
    x = layers.Concatenate()([x, layers.UpSampling2D(2)(layers.MaxPooling2D(2)(x))])
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2DTranspose(6, 3, strides=2, padding="same")(x))
    return randomise(keras.Model(picture, layers.Conv2D(3, 3, padding="same")(x)), seed, 0.25)


def pictures(seed: int, count: int = 4) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, *SIZE), np.uint8)


def converted(model: keras.Model, kind: str, seed: int) -> Graph:
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if kind != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if kind == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if kind == "int8":

        def typical() -> Iterator[list[NDArray[np.float32]]]:
            for picture in pictures(seed):
                yield [picture[None].astype(np.float32) / 255.0]

        converter.representative_dataset = typical
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    return to_graph(parse(converter.convert(), "converted.tflite"))


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore:Statistics for quantized inputs")
@pytest.mark.parametrize("seed", [0, 6])
def test_converted_models_compute_keras_outputs(seed: int) -> None:
    model = network(seed)
    picture = pictures(seed)[0]
    expected = reference.run(from_keras.to_graph(model), picture, mode="float")
    close(reference.run(converted(model, "float", seed), picture, mode="float"), expected, 2e-5)
    close(reference.run(converted(model, "float16", seed), picture, mode="float"), expected, 5e-3)
    # Ranges of the file, without calibration: as accurate as 8 bits with the same range for all channels.
    bytes_ = prepare(optimize(converted(model, "int8", seed))).graph
    stored = reference.run(bytes_, picture)
    error = np.square(stored - expected).mean() / np.square(expected - expected.mean()).mean()
    assert error < 0.02, "less than 17 dB"


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1000, 1006))
def test_converted_random_networks_compute_keras_outputs(seed: int) -> None:
    model, rng = random_network(seed), np.random.default_rng(seed)
    data = parse(tf.lite.TFLiteConverter.from_keras_model(model).convert(), "converted.tflite")
    ranges, purposes = {name: (0.0, 1.0) for name, _ in data.inputs}, {name: VALUES for name, _ in data.outputs}
    graph = to_graph(data, io_options=IoOptions(ranges, purposes=purposes))
    stored = {node.attrs["shape"]: rng.integers(0, 256, node.attrs["shape"], np.uint8) for node in graph.inputs}
    floats = {shape: (values / 255.0).astype(np.float32) for shape, values in stored.items()}
    outputs = reference.run(
        graph,
        {
            node.name: (stored if len(node.attrs["shape"]) == 3 else floats)[node.attrs["shape"]]
            for node in graph.inputs
        },
        mode="float",
    )
    expected = model([floats[tuple(tensor.shape[1:])][None] for tensor in model.inputs], training=False)
    for output in expected if isinstance(expected, list) else [expected]:
        reference_output = np.asarray(output).ravel()
        near = [
            np.abs(numbers.ravel() - reference_output).max()
            for numbers in outputs.values()
            if numbers.size == reference_output.size
        ]
        assert min(near) <= 1e-4 * max(1.0, float(np.abs(reference_output).max()))

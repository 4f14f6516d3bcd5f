"""A network from Keras, from TensorFlow's TFLite file and from ONNX: one optimised graph, one placement.

The three importers name nodes differently and read different operators: a converter folds a batch normalisation into a
convolution. So the optimised graphs are compared: operators, attributes, weights, and the parts of each processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from imported import randomise
from keras_to_onnx import to_onnx

from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.place import place
from glsl_infer.graph import Graph
from glsl_infer.graph.node import NORMAL, OBSERVED_RANGE
from glsl_infer.importers.keras import to_graph as from_keras
from glsl_infer.importers.onnx import load as from_onnx
from glsl_infer.importers.tflite.file import parse
from glsl_infer.importers.tflite.reader import to_graph as from_tflite

L, K = keras.layers, keras.ops
Network = Callable[[Any], Any]
SIZE = (16, 20, 3)


def layer(kind: Any, *args: Any, **options: Any) -> Network:
    """Return the network of one layer, which is created on each call, so that models do not share it."""

    def applied(x: Any) -> Any:
        return kind(*args, **options)(x)

    return applied


def conv(filters: int, size: int = 3, **options: Any) -> Network:
    return layer(L.Conv2D, filters, size, **{"padding": "same", **options})


def after_stem(make: Network) -> Network:
    """Return a network of a convolution, the tested layers, and a convolution."""
    return lambda x: conv(4)(make(conv(8, strides=2)(x)))


def function(name: str) -> Network:
    return after_stem(conv(8, activation=name))


def unit(x: Any) -> Any:
    y = L.ReLU(6.0)(L.BatchNormalization()(conv(16, 1, use_bias=False)(x)))
    y = L.ReLU(6.0)(L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same", use_bias=False)(y)))
    return L.Add()([x, L.BatchNormalization()(conv(8, 1, use_bias=False)(y))])


def gated(x: Any) -> Any:
    gate = L.GlobalAveragePooling2D(keepdims=True)(x)
    return L.Multiply()([x, conv(8, 1, activation="sigmoid")(conv(4, 1, activation="relu")(gate))])


def classifier(x: Any) -> Any:
    y = L.GlobalAveragePooling2D()(conv(8, activation="relu")(x))
    return L.Dense(5)(L.Dense(6, activation="relu")(y))


def scaled_by(kind: str, axes: tuple[int, ...]) -> Network:
    return lambda x: K.multiply(x, getattr(K, kind)(x, axis=axes, keepdims=True))


def pyramid(x: Any) -> Any:
    branch = conv(8, strides=2, activation="relu")(x)
    two = conv(8, strides=2, activation="relu")(branch)
    return conv(4)(L.Concatenate()([branch, L.UpSampling2D(2)(two)]))


NETWORKS: dict[str, Network] = {
    "convolution": conv(4),
    "valid": lambda x: conv(4, padding="valid")(conv(8, padding="valid")(x)),
    "stride 2": lambda x: conv(4, strides=2)(conv(8, strides=2)(x)),
    "dilated": after_stem(conv(8, dilation_rate=2)),
    "1x1": lambda x: conv(4, 1)(conv(8, 1)(x)),
    "rectangular": after_stem(layer(L.Conv2D, 8, (1, 5), padding="same")),
    "depthwise": after_stem(layer(L.DepthwiseConv2D, 3, padding="same")),
    "depthwise stride 2": after_stem(layer(L.DepthwiseConv2D, 5, strides=2, padding="same")),
    "batch normalisation": after_stem(lambda x: L.BatchNormalization()(conv(8, use_bias=False)(x))),
    **{name: function(name) for name in ("relu", "relu6", "sigmoid", "tanh", "elu", "gelu", "silu", "hard_silu")},
    "leaky relu": after_stem(lambda x: L.LeakyReLU(0.2)(conv(8)(x))),
    "absolute": after_stem(K.absolute),
    "exponential": after_stem(K.exp),
    "sine": lambda x: conv(4)(conv(8, 1)(K.sin(conv(8)(x)))),
    "cosine": after_stem(K.cos),
    "max pool": after_stem(layer(L.MaxPooling2D, 2)),
    "max pool 3x3": after_stem(layer(L.MaxPooling2D, 3, 2, padding="same")),
    "average pool": after_stem(layer(L.AveragePooling2D, 2)),
    "add": after_stem(lambda x: L.Add()([x, conv(8, activation="relu")(x)])),
    "subtract": after_stem(lambda x: L.Subtract()([x, conv(8)(x)])),
    "multiply": after_stem(lambda x: L.Multiply()([x, conv(8, activation="sigmoid")(x)])),
    "maximum": after_stem(lambda x: L.Maximum()([x, conv(8)(x)])),
    "minimum": after_stem(lambda x: L.Minimum()([x, conv(8)(x)])),
    "concatenation": after_stem(lambda x: L.Concatenate()([x, conv(8)(x)])),
    "zero padding": after_stem(lambda x: conv(8, padding="valid")(L.ZeroPadding2D(((1, 0), (2, 1)))(x))),
    "crop": after_stem(layer(L.Cropping2D, ((1, 2), (0, 3)))),
    "upsampling": after_stem(layer(L.UpSampling2D, 2)),
    "bilinear": after_stem(layer(L.UpSampling2D, 2, interpolation="bilinear")),
    "dropout": after_stem(layer(L.Dropout, 0.5)),
    "mobile unit": after_stem(unit),
    "squeeze and excite": after_stem(gated),
    **{name: function(name) for name in ("mish", "softplus", "selu", "softsign")},
    "padded channels": after_stem(lambda x: K.pad(x, ((0, 0), (1, 0), (0, 2), (3, 9)))),
    "transposed convolution": after_stem(layer(L.Conv2DTranspose, 8, 3, strides=2, padding="same")),
    "separable convolution": after_stem(layer(L.SeparableConv2D, 8, 3, padding="same")),
    "slopes": after_stem(layer(L.PReLU, shared_axes=[1, 2])),
    "layer normalisation": after_stem(layer(L.LayerNormalization)),
    "square": after_stem(K.square),
    "square root": after_stem(lambda x: K.sqrt(K.absolute(x))),
    "inverse root": after_stem(lambda x: K.rsqrt(K.exp(x))),
    "logarithm": after_stem(lambda x: K.log(K.exp(x))),
    "reciprocal": after_stem(lambda x: K.reciprocal(K.exp(x))),
    "clip": after_stem(lambda x: K.clip(x, -0.5, 0.75)),
    "quotient": after_stem(lambda x: K.divide(x, K.exp(conv(8)(x)))),
    "gate of its own": after_stem(lambda x: K.multiply(x, K.sigmoid(x))),
    **{f"{kind} of {axes}": after_stem(scaled_by(kind, axes)) for kind in ("mean", "max") for axes in ((3,), (1, 2))},
    "three summands": after_stem(lambda x: L.Add()([x, conv(8)(x), conv(8)(x)])),
    "average": after_stem(lambda x: L.Average()([x, conv(8)(x), conv(8)(x)])),
    "three joined": after_stem(lambda x: L.Concatenate()([x, conv(8)(x), conv(4)(x)])),
    "rows as columns": after_stem(layer(L.Permute, (2, 1, 3))),
    "softmax of channels": after_stem(layer(L.Softmax)),
    "mask": conv(1, activation="sigmoid"),
    "normalised picture": lambda x: conv(4)(L.BatchNormalization()(L.MaxPooling2D(2)(L.BatchNormalization()(x)))),
    "global maximum": lambda x: L.Dense(5)(L.GlobalMaxPooling2D()(conv(8)(x))),
    "embedding": lambda x: L.UnitNormalization()(L.Dense(6)(L.GlobalAveragePooling2D()(conv(8)(x)))),
    "classifier": classifier,
    "classifier with softmax": lambda x: L.Softmax()(classifier(x)),
    "flattened": lambda x: L.Dense(5)(L.Flatten()(L.MaxPooling2D(4)(conv(8, activation="relu")(x)))),
    "pyramid": pyramid,
}


def graphs(make: Network, seed: int = 3) -> dict[str, Graph]:
    keras.utils.set_random_seed(seed)
    picture = keras.Input(SIZE, batch_size=1)
    model = randomise(keras.Model(picture, make(picture), name="m"), seed, 0.3)
    data = tf.lite.TFLiteConverter.from_keras_model(model).convert()
    return {
        "keras": from_keras(model),
        "tflite": from_tflite(parse(data, "m.tflite")),
        "onnx": from_onnx(to_onnx(model)),
    }


def described(graph: Graph) -> list[tuple[Any, ...]]:
    """Return the nodes of an optimised graph from its outputs back, without names, with the processor of each."""
    on_cpu = {name for part in place(graph) if part.on_cpu for name in part.nodes}
    counts: dict[str, int] = {}

    def visit(name: str) -> None:
        if name not in counts:
            for read in graph.by_name[name].inputs:
                visit(read)
            counts[name] = len(counts)

    for name in graph.output_layers:
        visit(name)
    results = []
    for name in counts:
        node = graph.by_name[name]
        attrs = {key: plain(value) for key, value in node.attrs.items() if key not in ("fused", NORMAL, OBSERVED_RANGE)}
        results.append((node.op, attrs, tuple(counts[read] for read in node.inputs), name in on_cpu))
    ends = tuple((output.steps, tuple(counts[name] for name in output.layers)) for output in graph.outputs)
    return [*results, ends]


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return float(f"{value:.5g}") if isinstance(value, float) else value


def weights(graph: Graph) -> list[np.ndarray]:
    """Return the weights of a graph, those of an input before those of its reader."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for read in graph.by_name[name].inputs:
                visit(read)
            order.append(name)

    for name in graph.output_layers:
        visit(name)
    return [array for name in order for _, array in sorted(graph.by_name[name].weights.items())]


ALWAYS = 42
"""Number of networks per run. Each takes half a second of a core, mostly in TensorFlow's converter."""

CASES = [
    pytest.param(name, marks=() if index < ALWAYS else pytest.mark.exhaustive) for index, name in enumerate(NETWORKS)
]


@pytest.mark.parametrize("name", CASES)
def test_three_formats_become_one_graph(name: str) -> None:
    optimized = {kind: optimize(graph) for kind, graph in graphs(NETWORKS[name]).items()}
    expected = described(optimized["keras"])
    for kind in ("tflite", "onnx"):
        assert described(optimized[kind]) == expected, kind
        for ours, other in zip(weights(optimized["keras"]), weights(optimized[kind])):
            np.testing.assert_allclose(other, ours, rtol=1e-4, atol=1e-5, err_msg=kind)


def test_the_gpu_computes_a_sine_between_convolutions() -> None:
    for kind, graph in graphs(NETWORKS["sine"]).items():
        assert [part.on_cpu for part in place(optimize(graph))] == [False], kind


@pytest.mark.parametrize("pool", [L.GlobalAveragePooling1D, L.GlobalMaxPooling1D])
def test_the_gpu_computes_a_mean_of_a_sequence(pool: Any) -> None:
    keras.utils.set_random_seed(3)
    sequence = keras.Input((64, 5), batch_size=1)
    y = L.Conv1D(8, 3, activation="relu")(L.Conv1D(8, 5, strides=2, padding="same")(sequence))
    model = randomise(keras.Model(sequence, L.Dense(3)(pool()(y))), 3, 0.3)
    data = tf.lite.TFLiteConverter.from_keras_model(model).convert()
    optimized = [optimize(graph) for graph in (from_keras(model), from_tflite(parse(data, "m.tflite")))]
    assert described(optimized[0]) == described(optimized[1])
    assert [part.on_cpu for part in place(optimized[0])] == [False]

"""Random Keras networks in the style of real ones, one for each seed; only for tests with access to Keras.

A network is a stem, a few blocks and one to three heads. Kernels keep the initial weights of Keras. Statistics, scales,
offsets and slopes, which start as constants, get random values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers, ops

Tensor = Any
Block = Callable[[np.random.Generator, Tensor], Tensor]

ACTIVATIONS = (
    "relu", "relu", "relu", "relu6", "relu6", "leaky_relu", "elu", "selu", "gelu", "gelu_tanh", "silu", "silu",
    "hard_silu", "hard_silu", "hard_sigmoid", "sigmoid", "tanh", "softplus", "softsign", "mish", "exponential",
    "celu", "log_sigmoid", "squareplus", "soft_shrink", "hard_shrink", "tanh_shrink", "prelu", "relu1",
)  # fmt: skip

_MOST_PIXELS = 48 * 48


def random_network(seed: int) -> keras.Model:
    """Return the network of a seed. Its inputs are images of 1 or 3 channels and vectors, with values from 0 to 1."""
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    height, width = (int(rng.integers(12, 33)) for _ in range(2))
    inputs = [keras.Input((height, width, int(rng.choice([1, 3, 3, 3]))), name="picture")]
    kind = rng.random()
    if kind < 0.1:
        inputs.append(keras.Input((height, width, 3), name="second"))
        x = _stem(rng, layers.Concatenate()([layers.Conv2D(4, 3, padding="same")(picture) for picture in inputs]))
    else:
        x = _stem(rng, inputs[0])
    if 0.1 < kind < 0.2:
        inputs.append(keras.Input((5,), name="numbers"))
        gate = layers.Dense(x.shape[-1], "sigmoid")(inputs[1])
        x = layers.Multiply()([x, layers.Reshape((1, 1, x.shape[-1]))(gate)])
    feature_maps = [x]
    for _ in range(int(rng.integers(2, 6))):
        block = BLOCKS[int(rng.integers(len(BLOCKS)))]
        x = block(rng, x)
        if x.shape[1] * x.shape[2] > _MOST_PIXELS:
            x = layers.AveragePooling2D(2)(x)
        feature_maps.append(x)
    outputs = [HEADS[int(rng.integers(len(HEADS)))](rng, x)]
    while rng.random() < 0.25 and len(outputs) < 3:
        outputs.append(HEADS[int(rng.integers(len(HEADS)))](rng, feature_maps[int(rng.integers(1, len(feature_maps)))]))
    return _randomise_constant_weights(keras.Model(inputs, outputs, name=f"random{seed}"), rng)


def _randomise_constant_weights(model: keras.Model, rng: np.random.Generator) -> keras.Model:
    """Randomise the weights with constant initial values."""
    for weight in model.weights:
        kind = weight.path.rpartition("/")[2]
        if kind in ("gamma", "moving_variance", "scale"):
            weight.assign(rng.uniform(0.6, 1.4, weight.shape))
        elif kind in ("beta", "moving_mean", "bias"):
            weight.assign(rng.normal(0.0, 0.2, weight.shape))
        elif kind == "alpha":
            weight.assign(rng.uniform(0.0, 0.5, weight.shape))
    return model


def _pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def activated(rng: np.random.Generator, x: Tensor) -> Tensor:
    """Add a random activation after a map."""
    kind = str(rng.choice(ACTIVATIONS))
    if kind == "relu6":
        return layers.ReLU(6.0)(x)
    if kind == "relu1":
        return layers.ReLU(1.0)(x)
    if kind == "leaky_relu":
        return layers.LeakyReLU(negative_slope=float(rng.choice([0.1, 0.2, 0.3])))(x)
    if kind == "prelu":
        return layers.PReLU(shared_axes=[1, 2])(x)
    if kind == "gelu_tanh":
        return ops.gelu(x, True)
    if kind == "gelu":
        return ops.gelu(x, False)
    return layers.Activation(kind)(x)


def normalised(rng: np.random.Generator, x: Tensor) -> Tensor:
    """Add a random normalisation after a map, which is nearly always a batch normalisation."""
    kind = rng.random()
    if kind < 0.7:
        return layers.BatchNormalization()(x)
    if kind < 0.8:
        return layers.LayerNormalization()(x)
    if kind < 0.85:
        return layers.GroupNormalization(groups=_pick(rng, 1, 2, -1) if x.shape[-1] % 2 == 0 else -1)(x)
    if kind < 0.9:
        return layers.RMSNormalization()(x)
    return layers.UnitNormalization()(x) if kind < 0.93 else x


def _stem(rng: np.random.Generator, x: Tensor) -> Tensor:
    if rng.random() < 0.3:
        x = layers.Rescaling(*_pick(rng, (2.0, -1.0), (4.0, -2.0)))(x)
    filters, kernel = int(rng.choice([6, 8, 12, 16])), int(rng.choice([3, 3, 5, 7]))
    x = layers.Conv2D(filters, kernel, strides=_pick(rng, 1, 2, 2), padding=_pick(rng, "same", "same", "valid"))(x)
    return activated(rng, normalised(rng, x))


def _filters(rng: np.random.Generator) -> int:
    return int(rng.choice([4, 6, 8, 10, 12, 16, 20]))


def _convolution(rng: np.random.Generator, x: Tensor) -> Tensor:
    options = {"strides": _pick(rng, 1, 1, 2)} if rng.random() < 0.7 else {"dilation_rate": 2}
    x = layers.Conv2D(_filters(rng), _pick(rng, 1, 3, 3, 5, (1, 3), (3, 1)), padding="same", **options)(x)
    return activated(rng, normalised(rng, x))


def _grouped(rng: np.random.Generator, x: Tensor) -> Tensor:
    groups = 2 if x.shape[-1] % 2 == 0 else 1
    return activated(rng, layers.Conv2D(2 * _filters(rng), 3, padding="same", groups=groups)(x))


def _separable(rng: np.random.Generator, x: Tensor) -> Tensor:
    feature_maps = layers.SeparableConv2D(_filters(rng), _pick(rng, 3, 5), strides=_pick(rng, 1, 2), padding="same",
                                  depth_multiplier=_pick(rng, 1, 1, 2))(x)  # fmt: skip
    return activated(rng, normalised(rng, feature_maps))


def _inverted(rng: np.random.Generator, x: Tensor) -> Tensor:
    """Return MobileNet's block: wide, depthwise, gate, narrow, sum."""
    channels, stride = x.shape[-1], _pick(rng, 1, 1, 2)
    y = activated(rng, layers.BatchNormalization()(layers.Conv2D(2 * channels, 1, use_bias=False)(x)))
    y = layers.DepthwiseConv2D(_pick(rng, 3, 5), strides=stride, padding="same", use_bias=False)(y)
    y = activated(rng, layers.BatchNormalization()(y))
    if rng.random() < 0.6:
        y = _channel_gate(rng, y)
    y = layers.BatchNormalization()(layers.Conv2D(channels, 1, use_bias=False)(y))
    return layers.Add()([x, y]) if stride == 1 else y


def _channel_gate(rng: np.random.Generator, x: Tensor) -> Tensor:
    channels = x.shape[-1]
    if rng.random() < 0.5:
        gate = layers.GlobalAveragePooling2D(keepdims=True)(x)
        gate = layers.Conv2D(max(channels // 4, 1), 1, activation="relu")(gate)
        gate = layers.Conv2D(channels, 1, activation=_pick(rng, "sigmoid", "hard_sigmoid"))(gate)
    else:
        gate = layers.Dense(max(channels // 4, 1), "relu")(layers.GlobalAveragePooling2D()(x))
        gate = layers.Reshape((1, 1, channels))(layers.Dense(channels, "sigmoid")(gate))
    return layers.Multiply()([x, gate])


def _spatial_gate(rng: np.random.Generator, x: Tensor) -> Tensor:
    """Return a map times a gate for each pixel, computed from the mean and maximum of its channels."""
    parts = [ops.mean(x, axis=-1, keepdims=True), ops.max(x, axis=-1, keepdims=True)]
    return x * layers.Conv2D(1, 3, padding="same", activation="sigmoid")(layers.Concatenate()(parts))


def _residual(rng: np.random.Generator, x: Tensor) -> Tensor:
    stride, filters = _pick(rng, 1, 2), _filters(rng)
    y = layers.Conv2D(filters, 3, strides=stride, padding="same")(x)
    y = layers.Conv2D(filters, 3, padding="same")(activated(rng, normalised(rng, y)))
    short = layers.Conv2D(filters, 1, strides=stride, padding="same")(x)
    return activated(rng, layers.Add()([layers.BatchNormalization()(y), short]))


def _preactivated(rng: np.random.Generator, x: Tensor) -> Tensor:
    y = layers.Conv2D(x.shape[-1], 3, padding="same")(activated(rng, normalised(rng, x)))
    return layers.Add()([x, y])


def _inception(rng: np.random.Generator, x: Tensor) -> Tensor:
    parts = [
        layers.Conv2D(_filters(rng), 1, activation="relu")(x),
        layers.Conv2D(_filters(rng), 3, padding="same", activation="relu")(x),
        layers.Conv2D(3, 1)(layers.MaxPooling2D(3, strides=1, padding="same")(x)),
    ]
    return layers.Concatenate()(parts)


def _dense_block(rng: np.random.Generator, x: Tensor) -> Tensor:
    for _ in range(2):
        y = layers.Conv2D(6, 3, padding="same")(activated(rng, layers.BatchNormalization()(x)))
        x = layers.Concatenate()([x, y])
    return x


def _pooled(rng: np.random.Generator, x: Tensor) -> Tensor:
    kind = _pick(rng, layers.MaxPooling2D, layers.AveragePooling2D)
    size = _pick(rng, 2, 3, (2, 3))
    return kind(
        size, strides=_pick(rng, None, 1, 2), padding=_pick(rng, "same", "valid") if min(x.shape[1:3]) > 3 else "same"
    )(x)


def _blurred(rng: np.random.Generator, x: Tensor) -> Tensor:
    return layers.AveragePooling2D(2, strides=1, padding="same")(x) - x * 0.5


def _unet(rng: np.random.Generator, x: Tensor) -> Tensor:
    """Return a U-net's block: half the size, upsampled again, and concatenated with its input."""
    height, width = x.shape[1:3]
    y = layers.Conv2D(_filters(rng), 3, padding="same", activation="relu")(layers.MaxPooling2D(2, padding="same")(x))
    kind = _pick(rng, "transposed", "transposed2", "nearest", "bilinear", "resized")
    if kind.startswith("transposed"):
        y = layers.Conv2DTranspose(_filters(rng), 2 if kind[-1] == "2" else 3, strides=2, padding="same")(y)
    elif kind == "resized":
        y = layers.Resizing(height, width, interpolation=_pick(rng, "bilinear", "nearest"))(y)
    else:
        y = layers.UpSampling2D(2, interpolation=kind)(y)
    if y.shape[1:3] != (height, width):
        y = layers.Cropping2D(((0, y.shape[1] - height), (0, y.shape[2] - width)))(y)
    return layers.Concatenate()([x, y])


def _enlarged(rng: np.random.Generator, x: Tensor) -> Tensor:
    kind = int(rng.integers(4))
    if kind == 0:
        return layers.Conv2DTranspose(
            _filters(rng), _pick(rng, 2, 3, 4), strides=2, padding=_pick(rng, "same", "valid")
        )(x)
    if kind == 1:
        return layers.UpSampling2D(_pick(rng, 2, (1, 2), 3), interpolation="nearest")(x)
    if kind == 2:
        return layers.UpSampling2D(2, interpolation="bilinear")(x)
    return ops.image.resize(x, (x.shape[1] + 5, x.shape[2] + 3), interpolation=_pick(rng, "bilinear", "nearest"))


def _padded(rng: np.random.Generator, x: Tensor) -> Tensor:
    kind = int(rng.integers(3))
    if kind == 0:
        x = layers.ZeroPadding2D(((0, 1), (2, 1)))(x)
    elif kind == 1:
        x = ops.pad(x, ((0, 0), (1, 1), (1, 2), (0, 0)), mode=_pick(rng, "reflect", "symmetric"))
    else:
        x = ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=0.5)
    return layers.Conv2D(_filters(rng), 3, strides=_pick(rng, 1, 2), activation="relu")(x)


def _cropped(rng: np.random.Generator, x: Tensor) -> Tensor:
    if min(x.shape[1:3]) < 4:
        return x
    return _pick(rng, lambda: layers.Cropping2D(((1, 0), (0, 1)))(x), lambda: x[:, ::2, 1::2], lambda: x[:, 1:-1])()


def _half_shuffled(rng: np.random.Generator, x: Tensor) -> Tensor:
    """Return a map with a convolution of half of its channels, then shuffled."""
    channels = x.shape[-1]
    if channels % 2:
        return x
    left, right = ops.split(x, 2, axis=-1)
    x = layers.Concatenate()([left, layers.Conv2D(channels // 2, 3, padding="same", activation="relu")(right)])
    if rng.random() < 0.6:
        height, width = x.shape[1:3]
        x = layers.Reshape((height, width, 2, channels // 2))(x)
        x = layers.Reshape((height, width, channels))(layers.Permute((1, 2, 4, 3))(x))
    return x


def _arithmetic(rng: np.random.Generator, x: Tensor) -> Tensor:
    y = layers.Conv2D(x.shape[-1], 1)(x)
    kind = int(rng.integers(9))
    if kind == 0:
        return layers.Subtract()([x, y])
    if kind == 1:
        return layers.Maximum()([x, y])
    if kind == 2:
        return layers.Minimum()([x, 0.5 * y + 0.1])
    if kind == 3:
        return layers.Average()([x, y, activated(rng, y)])
    if kind == 4:
        return ops.sqrt(ops.abs(x) + 1.0) - y
    if kind == 5:
        return ops.square(y) / 2.0 + x
    if kind == 6:
        return x / (1.0 + ops.exp(-y))
    if kind == 7:
        return ops.clip(x, -1.0, 1.0) * y
    return ops.maximum(1.0 - y, 0.0) + ops.minimum(x, 2.0)


def _transposed(rng: np.random.Generator, x: Tensor) -> Tensor:
    return layers.Conv2D(_filters(rng), 3, padding="same")(layers.Permute((2, 1, 3))(x))


def _convnext(rng: np.random.Generator, x: Tensor) -> Tensor:
    """Return dense layers for each pixel after a layer norm, as in ConvNeXt's block and in a transformer."""
    channels = x.shape[-1]
    y = layers.DepthwiseConv2D(5, padding="same")(x)
    y = layers.Dense(2 * channels)(layers.LayerNormalization(epsilon=1e-6)(y))
    y = ops.gelu(y, bool(rng.random() < 0.5))
    return layers.Add()([x, layers.Dense(channels)(y)])


def _attention(rng: np.random.Generator, x: Tensor) -> Tensor:
    """Return self-attention over pixels, at a small size."""
    while x.shape[1] * x.shape[2] > 100:
        x = layers.AveragePooling2D(2, padding="same")(x)
    height, width, channels = x.shape[1:]
    rows = layers.Reshape((height * width, channels))(x)
    if rng.random() < 0.5:
        mixed = layers.Attention(use_scale=False)([rows, rows])
    else:
        query, key = layers.Dense(6)(rows), layers.Dense(6)(rows)
        scores = layers.Softmax()(ops.matmul(query, ops.transpose(key, (0, 2, 1))) * 0.4)
        mixed = ops.matmul(scores, layers.Dense(channels)(rows))
    return layers.Add()([x, layers.Reshape((height, width, channels))(mixed)])


BLOCKS: tuple[Block, ...] = (
    _convolution, _convolution, _grouped, _separable, _inverted, _inverted, _spatial_gate, _residual, _residual,
    _preactivated, _inception, _dense_block, _pooled, _blurred, _unet, _unet, _enlarged, _padded, _cropped,
    _half_shuffled, _arithmetic, _arithmetic, _transposed, _convnext, _attention,
)  # fmt: skip


def _classes(rng: np.random.Generator, x: Tensor) -> Tensor:
    pool = _pick(rng, layers.GlobalAveragePooling2D, layers.GlobalMaxPooling2D)
    x = layers.Dropout(0.2)(pool()(x))
    if rng.random() < 0.4:
        x = layers.Dense(12, activation=_pick(rng, "relu", "tanh", "gelu"))(x)
    return layers.Dense(7, activation=_pick(rng, "softmax", "softmax", None))(x)


def _vector(rng: np.random.Generator, x: Tensor) -> Tensor:
    x = layers.Flatten()(layers.Conv2D(2, 3, strides=2, padding="same", activation="relu")(x))
    return layers.Dense(5, activation=_pick(rng, None, "sigmoid", "tanh"))(x)


def _unit(rng: np.random.Generator, x: Tensor) -> Tensor:
    return ops.normalize(layers.Dense(8)(layers.GlobalAveragePooling2D()(x)), axis=-1, order=2, epsilon=1e-12)


def _mask(rng: np.random.Generator, x: Tensor) -> Tensor:
    return layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x)


def _image(rng: np.random.Generator, x: Tensor) -> Tensor:
    if rng.random() < 0.5:
        return ops.depth_to_space(layers.Conv2D(12, 3, padding="same")(x), 2)
    return activated(rng, layers.Conv2DTranspose(3, 4, strides=2, padding="same")(x))


def _segments(rng: np.random.Generator, x: Tensor) -> Tensor:
    return layers.Softmax()(layers.Conv2D(5, 1)(x))


def _heatmaps(rng: np.random.Generator, x: Tensor) -> Tensor:
    return layers.Conv2D(4, 1)(activated(rng, layers.Conv2D(_filters(rng), 3, padding="same")(x)))


def _boxes(rng: np.random.Generator, x: Tensor) -> Tensor:
    small = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(x)
    rows = [layers.Reshape((-1, 4))(layers.Conv2D(8, 3, padding="same")(feature_map)) for feature_map in (x, small)]
    boxes = layers.Concatenate(axis=1)(rows)
    return layers.Activation("sigmoid")(boxes) if rng.random() < 0.5 else boxes


HEADS: tuple[Block, ...] = (_classes, _classes, _vector, _unit, _mask, _image, _segments, _heatmaps, _boxes)

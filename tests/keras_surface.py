"""The classes and functions of Keras for images, each in a tiny model, and the refused ones.

If a refused row starts to work, remove it from ``REFUSED_LAYERS``, ``REFUSED_ACTIVATIONS`` or ``REFUSED_OPS``. The test
fails until then.
"""

# A layer is made anew for each model, not when this file is read.
# ruff: noqa: PLW0108
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

L, K = keras.layers, keras.ops

Build = Callable[[Any], Any]
"""A function from a feature map (8, 8, 4) to an output."""


def stem(x: Any, channels: int = 4) -> Any:
    return L.Conv2D(channels, 3, padding="same", activation="sigmoid", name="stem")(x)


def _vector(x: Any) -> Any:
    return L.GlobalAveragePooling2D()(x)


def _rows(x: Any) -> Any:
    return L.Reshape((64, 4))(x)


def _volume(x: Any) -> Any:
    return L.Reshape((4, 4, 4, 4))(x)


def _numbers(x: Any) -> Any:
    return L.Flatten()(x)


def _one(name: str, *args: Any, **options: Any) -> Build:
    return lambda x: getattr(L, name)(*args, **options)(x)


def _two(name: str, **options: Any) -> Build:
    return lambda x: getattr(L, name)(**options)([x, L.Conv2D(4, 1, activation="sigmoid")(x)])


def _on(prepare: Build, name: str, *args: Any, **options: Any) -> Build:
    return lambda x: getattr(L, name)(*args, **options)(prepare(x))


def _normalization(x: Any) -> Any:
    return L.Normalization(mean=[0.1, 0.2, 0.3, 0.4], variance=[1.0, 2.0, 0.5, 0.3])(x)


def _frames(x: Any) -> Any:
    return L.Reshape((2, 4, 8, 4))(x)


LAYERS: Mapping[str, Build] = {
    "Activation": _one("Activation", "relu"),
    "ActivityRegularization": _one("ActivityRegularization", 0.1),
    "AdaptiveAveragePooling2D": _one("AdaptiveAveragePooling2D", 4),
    "AdaptiveMaxPooling2D": _one("AdaptiveMaxPooling2D", 4),
    "Add": _two("Add"),
    "AlphaDropout": _one("AlphaDropout", 0.5),
    "AugMix": _one("AugMix"),
    "Average": _two("Average"),
    "AveragePooling2D": _one("AveragePooling2D", 2),
    "BatchNormalization": _one("BatchNormalization"),
    "CenterCrop": _one("CenterCrop", 6, 4),
    "Concatenate": _two("Concatenate"),
    "Conv2D": _one("Conv2D", 5, 3),
    "Conv2DTranspose": _one("Conv2DTranspose", 4, 3, strides=2),
    "Cropping2D": _one("Cropping2D", ((1, 2), (0, 3))),
    "CutMix": _one("CutMix"),
    "Dense": _on(_vector, "Dense", 5),
    "DepthwiseConv2D": _one("DepthwiseConv2D", 3),
    "Dropout": _one("Dropout", 0.5),
    "ELU": _one("ELU"),
    "Flatten": lambda x: L.Dense(3)(L.Flatten()(x)),
    "GaussianDropout": _one("GaussianDropout", 0.5),
    "GaussianNoise": _one("GaussianNoise", 0.5),
    "GlobalAveragePooling2D": _one("GlobalAveragePooling2D"),
    "GlobalMaxPooling2D": _one("GlobalMaxPooling2D"),
    "GroupNormalization": _one("GroupNormalization", 2),
    "Identity": _one("Identity"),
    "LayerNormalization": _one("LayerNormalization"),
    "LeakyReLU": _one("LeakyReLU"),
    "MaxNumBoundingBoxes": _one("MaxNumBoundingBoxes", 3),
    "MaxPooling2D": _one("MaxPooling2D", 2),
    "Maximum": _two("Maximum"),
    "Minimum": _two("Minimum"),
    "MixUp": _one("MixUp"),
    "Multiply": _two("Multiply"),
    "Normalization": _normalization,
    "PReLU": _one("PReLU", shared_axes=[1, 2]),
    "Permute": _one("Permute", (2, 1, 3)),
    "RMSNormalization": _one("RMSNormalization"),
    "RandAugment": _one("RandAugment"),
    "RandomBrightness": _one("RandomBrightness", 0.5),
    "RandomColorDegeneration": lambda x: L.RandomColorDegeneration(0.5)(L.Conv2D(3, 1, activation="sigmoid")(x)),
    "RandomColorJitter": _one("RandomColorJitter"),
    "RandomContrast": _one("RandomContrast", 0.5),
    "RandomElasticTransform": _one("RandomElasticTransform"),
    "RandomErasing": _one("RandomErasing"),
    "RandomFlip": _one("RandomFlip"),
    "RandomGaussianBlur": _one("RandomGaussianBlur"),
    "RandomGrayscale": _one("RandomGrayscale"),
    "RandomHue": _one("RandomHue", 0.5),
    "RandomInvert": _one("RandomInvert"),
    "RandomPerspective": _one("RandomPerspective"),
    "RandomPosterization": _one("RandomPosterization", 4),
    "RandomRotation": _one("RandomRotation", 0.2),
    "RandomSaturation": _one("RandomSaturation", 0.5),
    "RandomSharpness": _one("RandomSharpness", 0.5),
    "RandomShear": _one("RandomShear"),
    "RandomTranslation": _one("RandomTranslation", 0.1, 0.1),
    "RandomZoom": _one("RandomZoom", 0.2),
    "ReLU": _one("ReLU"),
    "Rescaling": _one("Rescaling", 2.0, -0.5),
    "Reshape": lambda x: L.Multiply()([x, L.Reshape((1, 1, 4))(_vector(x))]),
    "Resizing": _one("Resizing", 5, 11),
    "SeparableConv2D": _one("SeparableConv2D", 5, 3),
    "Softmax": _on(_vector, "Softmax"),
    "Solarization": _one("Solarization"),
    "SpatialDropout2D": _one("SpatialDropout2D", 0.5),
    "SpectralNormalization": lambda x: L.SpectralNormalization(L.Conv2D(4, 3))(x),
    "Subtract": _two("Subtract"),
    "UnitNormalization": lambda x: L.UnitNormalization()(_vector(x)),
    "UpSampling2D": _one("UpSampling2D", 2),
    "ZeroPadding2D": _one("ZeroPadding2D", 1),
    # Not for images: each is in a model, to test its error message.
    "AdaptiveAveragePooling1D": _on(_rows, "AdaptiveAveragePooling1D", 4),
    "AdaptiveAveragePooling3D": _on(_volume, "AdaptiveAveragePooling3D", 2),
    "AdaptiveMaxPooling1D": _on(_rows, "AdaptiveMaxPooling1D", 4),
    "AdaptiveMaxPooling3D": _on(_volume, "AdaptiveMaxPooling3D", 2),
    "AdditiveAttention": lambda x: L.AdditiveAttention()([_rows(x), _rows(x)]),
    "Attention": lambda x: L.Attention()([_rows(x), _rows(x)]),
    "AutoContrast": _one("AutoContrast"),
    "AveragePooling1D": _on(_rows, "AveragePooling1D", 2),
    "AveragePooling3D": _on(_volume, "AveragePooling3D", 2),
    "Bidirectional": lambda x: L.Bidirectional(L.LSTM(2))(_rows(x)),
    "ContrastLimitedAdaptiveHistogramEqualization": _one("ContrastLimitedAdaptiveHistogramEqualization"),
    "Conv1D": _on(_rows, "Conv1D", 4, 3),
    "Conv1DTranspose": _on(_rows, "Conv1DTranspose", 4, 3),
    "Conv3D": _on(_volume, "Conv3D", 4, 2),
    "Conv3DTranspose": _on(_volume, "Conv3DTranspose", 4, 2),
    "ConvLSTM1D": _on(lambda x: L.Reshape((4, 16, 4))(x), "ConvLSTM1D", 2, 3),
    "ConvLSTM2D": _on(_frames, "ConvLSTM2D", 2, 3),
    "Cropping1D": _on(_rows, "Cropping1D"),
    "Cropping3D": _on(_volume, "Cropping3D", 1),
    "DepthwiseConv1D": _on(_rows, "DepthwiseConv1D", 3),
    "Dot": lambda x: L.Dot(axes=2)([_rows(x), _rows(x)]),
    "EinsumDense": _on(_vector, "EinsumDense", "ab,bc->ac", 3),
    "GRU": _on(_rows, "GRU", 2),
    "GlobalAveragePooling1D": _on(_rows, "GlobalAveragePooling1D"),
    "GlobalAveragePooling3D": _on(_volume, "GlobalAveragePooling3D"),
    "GlobalMaxPooling1D": _on(_rows, "GlobalMaxPooling1D"),
    "GlobalMaxPooling3D": _on(_volume, "GlobalMaxPooling3D"),
    "GroupedQueryAttention": lambda x: L.GroupQueryAttention(2, 2, 1)(_rows(x), _rows(x)),
    "LSTM": _on(_rows, "LSTM", 2),
    "Lambda": lambda x: L.Lambda(lambda y: y * 2.0)(x),
    "Masking": lambda x: L.Masking()(L.ReLU()(_rows(x))),
    "MaxPooling1D": _on(_rows, "MaxPooling1D"),
    "MaxPooling3D": _on(_volume, "MaxPooling3D"),
    "MultiHeadAttention": lambda x: L.MultiHeadAttention(2, 2)(_rows(x), _rows(x)),
    "Pipeline": lambda x: L.Pipeline([L.RandomFlip(), L.Rescaling(2.0)])(x),
    "RNN": lambda x: L.RNN([L.LSTMCell(3), L.GRUCell(2)], go_backwards=True, return_sequences=True)(_rows(x)),
    "RandomCrop": _one("RandomCrop", 4, 4),
    "RepeatVector": _on(_vector, "RepeatVector", 3),
    "SeparableConv1D": _on(_rows, "SeparableConv1D", 4, 3),
    "SimpleRNN": _on(_rows, "SimpleRNN", 2),
    "SpatialDropout1D": _on(_rows, "SpatialDropout1D", 0.5),
    "SpatialDropout3D": _on(_volume, "SpatialDropout3D", 0.5),
    "TimeDistributed": lambda x: L.TimeDistributed(L.Conv2D(2, 1))(_frames(x)),
    "UpSampling1D": _on(_rows, "UpSampling1D"),
    "UpSampling3D": _on(_volume, "UpSampling3D"),
    "ZeroPadding1D": _on(_rows, "ZeroPadding1D"),
    "ZeroPadding3D": _on(_volume, "ZeroPadding3D"),
}
"""A tiny model around each layer, by its class."""

_VOLUME, _STATE = "for volumes", "it keeps a state"
_ATTENTION = "products of two maps"


def _all(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


REFUSED_LAYERS: Mapping[str, str] = {
    # For images, but not supported yet.
    "Pipeline": "its layers can be exported one by one",
    "AutoContrast": "it looks at the whole picture, outside of training too",
    "ContrastLimitedAdaptiveHistogramEqualization": "it looks at the whole picture, outside of training too",
    "Lambda": "it holds Python code",
    # Not for images.
    **_all(
        _VOLUME,
        "AdaptiveAveragePooling3D AdaptiveMaxPooling3D AveragePooling3D Conv3D Conv3DTranspose Cropping3D "
        "GlobalAveragePooling3D GlobalMaxPooling3D MaxPooling3D SpatialDropout3D UpSampling3D ZeroPadding3D",
    ),
    **_all(_STATE, "ConvLSTM1D ConvLSTM2D"),
    **_all(_ATTENTION, "AdditiveAttention GroupedQueryAttention"),
}
"""Refused layers, with the reason."""

NO_MODEL: Mapping[str, str] = {
    **_all("no layer of a model", "InputSpec Layer Wrapper InputLayer"),
    **_all("a part of a recurrent layer", "GRUCell LSTMCell SimpleRNNCell StackedRNNCells"),
    **_all("for words and numbers", "CategoryEncoding Discretization Embedding HashedCrossing Hashing IntegerLookup"),
    **_all("for words and sounds", "MelSpectrogram ReversibleEmbedding STFTSpectrogram StringLookup TextVectorization"),
    **_all("code of another framework", "FlaxLayer JaxLayer TFSMLayer TorchModuleWrapper"),
    "ConvLSTM3D": "volumes over time",
    "Equalization": "Keras itself cannot build a functional model of it",
}
"""Classes of keras.layers without a tiny model on a feature map, with the reason."""

REFUSED_ACTIVATIONS: Mapping[str, str] = {
    "glu": "it halves the channels",
    "sparsemax": "its values depend on other channels",
    "threshold": "rarely used",
}
"""Functions of keras.activations, refused after a convolution in the middle of a network."""


def other(x: Any) -> Any:
    return L.Conv2D(4, 1, activation="sigmoid")(x) + 0.25


def _by_constants(operation: str, filters: int) -> Build:
    """Return a convolution with a constant kernel, which is not a layer's weight."""
    kernel = np.random.default_rng(3).normal(0.0, 0.2, (3, 3, 4, filters)).astype(np.float32)
    return lambda x: getattr(K, operation)(x, kernel, padding="same")


def _moments(x: Any) -> Any:
    mean, variance = K.moments(x, axes=(1, 2), keepdims=True)
    return (x - mean) * (variance + 1.0)


OPS: Mapping[str, Build] = {
    "abs": lambda x: K.abs(x - 0.5),
    "absolute": lambda x: K.absolute(x - 0.5),
    "add": lambda x: K.add(x, other(x)),
    "affine_transform": lambda x: K.image.affine_transform(x, np.float32([1.0, 0.2, -1.0, 0.1, 0.9, 0.5, 0.0, 0.0])),
    "all": lambda x: K.cast(K.all(x > 0.2, axis=1), "float32"),
    "amax": lambda x: K.amax(x, axis=-1, keepdims=True),
    "amin": lambda x: K.amin(x, axis=-1, keepdims=True),
    "any": lambda x: K.cast(K.any(x > 0.7, axis=1), "float32"),
    "argsort": lambda x: K.cast(K.argsort(x + np.float32([0, 3, 1, 2]), axis=-1), "float32"),
    "average_pool": lambda x: K.average_pool(x, 2),
    "batch_normalization": lambda x: K.batch_normalization(x, K.ones(4) * 0.5, K.ones(4) * 2.0, -1),
    "broadcast_to": lambda x: x - K.broadcast_to(K.max(x, axis=(1, 2), keepdims=True), (1, 8, 8, 4)),
    "ceil": lambda x: K.ceil(x * 4.0),
    "celu": lambda x: K.celu(x - 0.5),
    "clip": lambda x: K.clip(x, 0.2, 0.7),
    "concatenate": lambda x: K.concatenate([x, other(x)], -1),
    "conv": _by_constants("conv", 4),
    "cos": lambda x: K.cos(x),
    "crop_images": lambda x: K.image.crop_images(x, 1, 2, target_height=5, target_width=4),
    "cumsum": lambda x: K.cumsum(x, axis=1),
    "depth_to_space": lambda x: K.depth_to_space(x, 2),
    "depthwise_conv": _by_constants("depthwise_conv", 1),
    "diff": lambda x: K.diff(x, n=2, axis=1),
    "divide": lambda x: K.divide(x, other(x)),
    "einsum": lambda x: K.einsum("bhwc,bhwd->bcd", x, other(x)),
    "elu": lambda x: K.elu(x - 0.5),
    "equal": lambda x: K.cast(K.equal(x, x), "float32"),
    "exp": lambda x: K.exp(x),
    "exp2": lambda x: K.exp2(x),
    "expand_dims": lambda x: K.squeeze(K.expand_dims(x, 1), 1),
    "expm1": lambda x: K.expm1(x),
    "extract_patches": lambda x: K.image.extract_patches(x, 2),
    "flip": lambda x: K.flip(x, 2),
    "floor": lambda x: K.floor(x * 4.0),
    "full_like": lambda x: x * K.full_like(x, 0.5),
    "gelu": lambda x: K.gelu(x - 0.5),
    "get_item": lambda x: x[:, 1:-1, ::2, 1:3],
    "glu": lambda x: K.glu(x),
    "greater": lambda x: K.cast(K.greater(x, 0.5), "float32"),
    "hard_shrink": lambda x: K.hard_shrink(x - 0.5),
    "hard_sigmoid": lambda x: K.hard_sigmoid(x),
    "hard_silu": lambda x: K.hard_silu(x - 0.5),
    "hard_tanh": lambda x: K.hard_tanh(x * 2.0),
    "layer_normalization": lambda x: K.layer_normalization(x),
    "leaky_relu": lambda x: K.leaky_relu(x - 0.5),
    "less": lambda x: K.cast(K.less(x, 0.5), "float32"),
    "log": lambda x: K.log(x + 0.5),
    "log10": lambda x: K.log10(x + 0.5),
    "log1p": lambda x: K.log1p(x),
    "log2": lambda x: K.log2(x + 0.5),
    "log_sigmoid": lambda x: K.log_sigmoid(x),
    "log_softmax": lambda x: L.Conv2D(2, 1)(K.log_softmax(x)),
    "logical_and": lambda x: K.cast(K.logical_and(x > 0.3, x < 0.7), "float32"),
    "logsumexp": lambda x: K.logsumexp(x, axis=-1, keepdims=True),
    "matmul": lambda x: K.matmul(x, K.transpose(other(x), (0, 1, 3, 2))),
    "max": lambda x: K.max(x, axis=(1, 2)),
    "max_pool": lambda x: K.max_pool(x, 2),
    "maximum": lambda x: K.maximum(x, other(x)),
    "mean": lambda x: K.mean(x, axis=(1, 2)),
    "min": lambda x: K.min(x, axis=(1, 2)),
    "minimum": lambda x: K.minimum(x, other(x)),
    "moments": _moments,
    "moveaxis": lambda x: K.moveaxis(x, 3, 1),
    "multiply": lambda x: K.multiply(x, other(x)),
    "negative": lambda x: K.negative(x),
    "norm": lambda x: K.norm(x, axis=-1, keepdims=True),
    "normalize": lambda x: L.Conv2D(2, 1)(K.normalize(x, axis=-1)),
    "one_hot": lambda x: K.one_hot(K.argmax(x, axis=-1), 5, axis=1),
    "ones_like": lambda x: K.ones_like(x) - x,
    "pad": lambda x: K.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]]),
    "pad_images": lambda x: K.image.pad_images(x, 1, 2, target_height=12, target_width=13),
    "power": lambda x: K.power(x + 0.5, 1.5),
    "prod": lambda x: K.prod(x, axis=-1, keepdims=True),
    "reciprocal": lambda x: K.reciprocal(x + 0.5),
    "relu": lambda x: K.relu(x - 0.5),
    "relu6": lambda x: K.relu6(x),
    "repeat": lambda x: K.repeat(x, 2, axis=1),
    "reshape": lambda x: L.Dense(3)(K.reshape(x, (-1, 256))),
    "resize": lambda x: K.image.resize(x, (5, 11)),
    "rgb_to_grayscale": lambda x: K.image.rgb_to_grayscale(x[..., :3]),
    "rms_normalization": lambda x: K.rms_normalization(x),
    "roll": lambda x: K.roll(x, 2, axis=1),
    "rot90": lambda x: K.rot90(x, axes=(1, 2)),
    "round": lambda x: K.round(x * 4.0),
    "rsqrt": lambda x: K.rsqrt(x + 0.5),
    "selu": lambda x: K.selu(x - 0.5),
    "sigmoid": lambda x: K.sigmoid(x),
    "sign": lambda x: K.sign(x - 0.5),
    "silu": lambda x: K.silu(x - 0.5),
    "sin": lambda x: K.sin(x),
    "slice": lambda x: K.slice(x, (0, 1, 2, 0), (1, 5, 4, 3)),
    "soft_shrink": lambda x: K.soft_shrink(x - 0.5),
    "softmax": lambda x: L.Conv2D(2, 1)(K.softmax(x)),
    "softplus": lambda x: K.softplus(x),
    "softsign": lambda x: K.softsign(x),
    "sort": lambda x: K.sort(x, axis=1),
    "space_to_depth": lambda x: K.space_to_depth(x, 2),
    "sparse_plus": lambda x: K.sparse_plus(x - 0.5),
    "sparse_sigmoid": lambda x: K.sparse_sigmoid(x),
    "split": lambda x: K.split(x, 2, axis=-1)[1],
    "sqrt": lambda x: K.sqrt(x + 0.5),
    "square": lambda x: K.square(x),
    "squareplus": lambda x: K.squareplus(x),
    "squeeze": lambda x: K.squeeze(K.mean(x, axis=1, keepdims=True), 1),
    "stack": lambda x: K.reshape(K.stack([x, other(x)], axis=-1), (-1, 8, 8, 8)),
    "std": lambda x: K.std(x, axis=(1, 2)),
    "stop_gradient": lambda x: -K.stop_gradient(x),
    "subtract": lambda x: K.subtract(x, other(x)),
    "sum": lambda x: K.sum(x, axis=(1, 2)),
    "swapaxes": lambda x: K.swapaxes(x, 1, 2),
    "take": lambda x: K.take(x, [3, 1, 2], axis=-1),
    "take_along_axis": lambda x: K.take_along_axis(x, K.argmax(x, axis=1, keepdims=True), axis=1),
    "tan": lambda x: K.tan(x),
    "tanh": lambda x: K.tanh(x),
    "tanh_shrink": lambda x: K.tanh_shrink(x - 0.5),
    "tensordot": lambda x: K.tensordot(x, np.eye(4, 3, dtype=np.float32) + 0.5, axes=1),
    "tile": lambda x: K.tile(x, (1, 2, 1, 1)),
    "top_k": lambda x: K.top_k(K.reshape(x, (-1, 256)), 5)[0],
    "transpose": lambda x: K.transpose(x, (0, 2, 1, 3)),
    "true_divide": lambda x: K.true_divide(x, 2.0),
    "unstack": lambda x: K.unstack(x, axis=1)[0],
    "var": lambda x: K.var(x, axis=(1, 2)),
    "where": lambda x: K.where(x > 0.5, x, other(x)),
    "zeros_like": lambda x: L.Concatenate()([x, K.zeros_like(x)]),
}
"""Elementwise operations, reductions and geometry, by their names in keras.ops."""

REFUSED_OPS: Mapping[str, str] = {}
"""Refused operations, with the reason."""

"""Alternatives to unsupported layers and operations of Keras, by class."""

from __future__ import annotations

from collections.abc import Mapping

_VOLUMES = "use the 2D layer of the same name, on a feature map (height, width, channels)"
_RECURRENT = "compute one step in the network and carry its state outside, or use convolutions over a stack of frames"
_ATTENTION = "use Attention or MultiHeadAttention, which the CPU computes"
_DATA = "prepare such data before the model, and give it numbers"
_FOREIGN = "write the model with Keras' own layers"
_DETERMINISTIC = "apply it to images before the model"


def _for(advice: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), advice)


INSTEAD: Mapping[str, str] = {
    **_for(
        _VOLUMES,
        "AdaptiveAveragePooling3D AdaptiveMaxPooling3D AveragePooling3D Conv3D Conv3DTranspose Cropping3D "
        "GlobalAveragePooling3D GlobalMaxPooling3D MaxPooling3D SpatialDropout3D UpSampling3D ZeroPadding3D",
    ),
    **_for(_RECURRENT, "ConvLSTM1D ConvLSTM2D ConvLSTM3D"),
    **_for("give it to a layer RNN", "GRUCell LSTMCell SimpleRNNCell StackedRNNCells"),
    **_for(_ATTENTION, "AdditiveAttention GroupedQueryAttention"),
    **_for(
        _DATA,
        "CategoryEncoding Discretization Embedding HashedCrossing Hashing IntegerLookup MelSpectrogram "
        "ReversibleEmbedding STFTSpectrogram StringLookup TextVectorization",
    ),
    **_for(_FOREIGN, "FlaxLayer JaxLayer TFSMLayer TorchModuleWrapper"),
    **_for(_DETERMINISTIC, "AutoContrast ContrastLimitedAdaptiveHistogramEqualization Equalization"),
    "Pipeline": "put its layers into the model one by one",
    "Lambda": "write its computation with keras.ops (x * 2.0, keras.ops.relu(x), ...) on Keras tensors",
}
"""Advice by class name."""

OF_YOUR_OWN = (
    "give the module that registers it, --import MODULE, if its call is made of keras.ops and Keras' layers, or a "
    "function that computes it on the CPU, --operator MODULE:FUNCTION"
)
"""Advice for a class that is not part of Keras."""

OF_KERAS_2 = "convert the model to TensorFlow Lite with the package tf_keras, and give that file"
"""Advice for a file of Keras 2 that Keras 3 cannot build."""

"""Keras networks with the rounding of their export, for any network; the compiler supplies formats and ranges.

``rounded`` exports the network in memory to find the stored layers, their bits and the range of each channel. The
returned copy shares layers and weights and rounds at these places, with straight-through gradients except for saturated
values. Training the copy therefore trains the network. Batch norms keep their statistics, because a shader has constant
ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import Calibration, Precision, prepare
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph
from glsl_infer.importers.keras import reader
from glsl_infer.tools.validate.job import computed_nodes


@keras.saving.register_keras_serializable(package="glsl_infer_training")
class RoundedAsStored(keras.layers.Layer):  # type: ignore[misc]
    """Round each channel to the steps of its range, and clip it to the range.

    Args:
        scales: value of 255 8-bit steps, for each channel.
        zeros: byte of the value 0, for each channel.
        bits: 8, or 16 for 256 times as many steps.
    """

    def __init__(self, scales: Sequence[float], zeros: Sequence[float], bits: int = 8, **kwargs: Any) -> None:
        super().__init__(trainable=False, **kwargs)
        self.scales, self.zeros, self.bits = tuple(scales), tuple(zeros), bits
        self._step = np.asarray(self.scales, np.float32) / np.float32(255.0 * 2.0 ** (bits - 8))
        zero = np.asarray(self.zeros, np.float32) * np.float32(2.0 ** (bits - 8))
        self._low, self._high = -zero * self._step, (np.float32(255.0 * 2.0 ** (bits - 8)) - zero) * self._step

    def call(self, inputs: Any) -> Any:
        """Round ``(..., channels)``."""
        clipped = ops.clip(inputs, self._low, self._high)
        return clipped + ops.stop_gradient(ops.round(clipped / self._step) * self._step - clipped)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``input_shape``."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "scales": self.scales, "zeros": self.zeros, "bits": self.bits}


@dataclass(frozen=True)
class Rounded:
    """A network with rounding.

    Attributes:
        network: it shares the layers and weights of the original model.
        rounds: names of the layers followed by rounding.
        left_out: stored layers of the export that are not the output of a Keras layer.
    """

    network: keras.Model
    rounds: tuple[str, ...]
    left_out: tuple[str, ...]


def stored(
    model: keras.Model,
    pictures: Sequence[NDArray[np.uint8]],
    *,
    input_range: tuple[float, float] | None = None,
    precision: str = "auto",
) -> tuple[Graph, dict[str, RoundedAsStored]]:
    """Return the exported network, and a rounding layer for each node whose output it stores as a feature map.

    Args:
        model: a functional or sequential model.
        pictures: calibration images, in the form of the network's input.
        input_range: values of bytes 0 and 255, as for ``reader.to_graph``.
        precision: as for ``glsl_infer.compiler.ranges.precision.choose``.

    Raises:
        ModelError: a layer cannot be exported.
    """
    graph = reader.to_graph(model, input_range)
    samples = [{graph.input.name: picture} for picture in pictures]
    prepared = prepare(optimize(graph), Calibration(samples), precision=Precision(precision)).graph
    layer_names = computed_nodes(graph)
    rounding_layers: dict[str, RoundedAsStored] = {}
    for node in prepared.nodes:
        shape = prepared.shapes[node.name]
        if (
            node.operator.is_input
            or len(shape) != 3
            or "scales" not in node.operator.attrs
            or node.name not in layer_names
        ):
            continue
        scales, zeros = (np.broadcast_to(node.attrs[key], shape[2]) for key in ("scales", "zeros"))
        name = layer_names[node.name]
        layer = RoundedAsStored(
            tuple(map(float, scales)),
            tuple(map(float, zeros)),
            node.attrs["bits"],
            name=f"{name}-stored".replace("/", "-"),
        )
        rounding_layers[name] = layer
    return prepared, rounding_layers


def rounded(
    model: keras.Model,
    pictures: Sequence[NDArray[np.uint8]],
    *,
    input_range: tuple[float, float] | None = None,
    precision: str = "auto",
) -> Rounded:
    """Return a copy of a network with the rounding of its export; arguments as for ``stored``.

    Raises:
        ModelError: no layer's output is stored, or a layer cannot be exported.
    """
    _, layers = stored(model, pictures, input_range=input_range, precision=precision)
    layers_by_output = {_layer_of(model, name): layer for name, layer in layers.items()}
    to_insert = {name: layer for name, layer in layers_by_output.items() if name is not None}
    if not to_insert:
        raise ModelError(f"model '{model.name}': no layer of it is stored as it is; train it as it was")
    inserted: list[str] = []

    def call_with_rounding(layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        outputs = layer(*args, **kwargs)
        if layer.name not in to_insert:
            return outputs
        inserted.append(layer.name)
        return to_insert[layer.name](outputs)

    network = keras.models.clone_model(functional(model), clone_function=_reuse, call_function=call_with_rounding)
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.trainable = False
    left_out = tuple(name for name in layers if _layer_of(model, name) not in inserted)
    return Rounded(network, tuple(dict.fromkeys(inserted)), left_out)


def functional(model: keras.Model) -> keras.Model:
    """Return a functional model of the same layers. A ``Sequential`` has no attributes ``input`` and ``output``."""
    if isinstance(model, keras.Sequential):
        return keras.Model(model.inputs[0], model.outputs[0])
    return keras.Model(model.input, model.output)


def _reuse(layer: keras.layers.Layer) -> keras.layers.Layer:
    if isinstance(layer, keras.layers.InputLayer):
        return layer.__class__.from_config(layer.get_config())
    return layer


def _layer_of(model: keras.Model, name: str) -> str | None:
    """Return the Keras layer of a node; the node of a layer's ``activation=`` has the suffix ``-activation``."""
    names = {layer.name for layer in model.layers}
    if name in names:
        return name
    first, _, last = name.rpartition("-")
    return first if last == "activation" and first in names else None

"""A Keras network that rounds where the shaders do: format and ranges from the compiler, whatever the network is.

``rounded`` exports the network in memory and asks which layers' outputs are stored, and how: in 8 bits or 16, each
channel in a range of its own. The copy that it returns has the same layers and weights, and rounds there; gradients
pass straight through, but for values that saturate. What trains the copy trains the network. Batch norms keep their
statistics: a shader has none but those.
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
from glsl_infer.compiler.ranges import prepare
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph
from glsl_infer.importers.keras import reader
from glsl_infer.tools.validate.job import computed_nodes


@keras.saving.register_keras_serializable(package="glsl_infer_training")
class RoundedAsStored(keras.layers.Layer):  # type: ignore[misc]
    """Round each channel to the steps of its range, and to its ends beyond them.

    Args:
        scales: of each channel, what 255 steps of 8 bits are worth.
        zeros: the byte that stands for 0.
        bits: 8, or 16 for 256 steps in each of those.
    """

    def __init__(self, scales: Sequence[float], zeros: Sequence[float], bits: int = 8, **kwargs: Any) -> None:
        super().__init__(trainable=False, **kwargs)
        self.scales, self.zeros, self.bits = tuple(scales), tuple(zeros), bits
        self._step = np.asarray(self.scales, np.float32) / np.float32(255.0 * 2.0 ** (bits - 8))
        zero = np.asarray(self.zeros, np.float32) * np.float32(2.0 ** (bits - 8))
        self._low, self._high = -zero * self._step, (np.float32(255.0 * 2.0 ** (bits - 8)) - zero) * self._step

    def call(self, inputs: Any) -> Any:
        """Round ``(..., channels)``."""
        within = ops.clip(inputs, self._low, self._high)
        return within + ops.stop_gradient(ops.round(within / self._step) * self._step - within)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``input_shape``."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return what a saved model needs to build the layer again."""
        return {**super().get_config(), "scales": self.scales, "zeros": self.zeros, "bits": self.bits}


@dataclass(frozen=True)
class Rounded:
    """A network that rounds.

    Attributes:
        network: has the layers of the model it was made from, their weights shared.
        rounds: names of the layers behind which it rounds.
        left_out: stored layers of the export that no layer's output is.
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
    """Return the exported network, and a layer that rounds for each node whose output it stores in texels of its own.

    Args:
        model: a functional or sequential model.
        pictures: typical ones, as the network reads them.
        input_range: what bytes 0 and 255 stand for; see ``reader.to_graph``.
        precision: see ``glsl_infer.compiler.ranges.precision.choose``.

    Raises:
        ModelError: a layer that cannot be exported, by name.
    """
    graph = reader.to_graph(model, input_range)
    samples = [{graph.input.name: picture} for picture in pictures]
    prepared = prepare(optimize(graph), samples, precision=precision).graph
    computes = computed_nodes(graph)
    found: dict[str, RoundedAsStored] = {}
    for node in prepared.nodes:
        shape = prepared.shapes[node.name]
        if (
            node.operator.is_input
            or len(shape) != 3
            or "scales" not in node.operator.attrs
            or node.name not in computes
        ):
            continue
        scales, zeros = (np.broadcast_to(node.attrs[key], shape[2]) for key in ("scales", "zeros"))
        name = computes[node.name]
        layer = RoundedAsStored(
            tuple(map(float, scales)),
            tuple(map(float, zeros)),
            node.attrs["bits"],
            name=f"{name}-stored".replace("/", "-"),
        )
        found[name] = layer
    return prepared, found


def rounded(
    model: keras.Model,
    pictures: Sequence[NDArray[np.uint8]],
    *,
    input_range: tuple[float, float] | None = None,
    precision: str = "auto",
) -> Rounded:
    """Return a copy of a network that rounds where its export does; arguments as of ``stored``.

    Raises:
        ModelError: no layer's output is stored, so that there is nothing to round, or the export refuses a layer.
    """
    _, layers = stored(model, pictures, input_range=input_range, precision=precision)
    behind = {_layer_of(model, name): layer for name, layer in layers.items()}
    waiting = {name: layer for name, layer in behind.items() if name is not None}
    if not waiting:
        raise ModelError(f"model '{model.name}': no layer of it is stored as it is; train it as it was")
    used: list[str] = []

    def called(layer: keras.layers.Layer, *args: Any, **kwargs: Any) -> Any:
        outputs = layer(*args, **kwargs)
        if layer.name not in waiting:
            return outputs
        used.append(layer.name)
        return waiting[layer.name](outputs)

    whole = keras.Model(model.input, model.output)
    network = keras.models.clone_model(whole, clone_function=_same, call_function=called)
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.trainable = False
    left_out = tuple(name for name in layers if _layer_of(model, name) not in used)
    return Rounded(network, tuple(dict.fromkeys(used)), left_out)


def _same(layer: keras.layers.Layer) -> keras.layers.Layer:
    if isinstance(layer, keras.layers.InputLayer):
        return layer.__class__.from_config(layer.get_config())
    return layer


def _layer_of(model: keras.Model, name: str) -> str | None:
    """Return the layer whose output a node is: the node of a layer's own ``activation=`` has that behind its name."""
    names = {layer.name for layer in model.layers}
    if name in names:
        return name
    first, _, last = name.rpartition("-")
    return first if last == "activation" and first in names else None

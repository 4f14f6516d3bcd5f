"""Keras layers that only the CPU computes, imported and compared with Keras."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from imported import as_saved, check, check_model, close, randomise
from keras import layers as L
from keras import ops

from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.place import cpu_layers
from glsl_infer.errors import ModelError
from glsl_infer.graph import reference
from glsl_infer.importers.keras import to_graph

X = keras.Input((6, 6, 3), name="shared")  # a name unlike any later layer's
WEIGHTS = np.linspace(-1, 1, 72, dtype=np.float32).reshape(9, 8)


def tokens(width: int = 8) -> Any:
    """Return a sequence of 9 vectors, computed from an image."""
    return L.Reshape((9, width))(L.Conv2D(width, 2, strides=2)(X))


def fields(width: int = 8) -> Any:
    """Return a map of 9 vectors."""
    return L.Conv2D(width, 2, strides=2)(X)


def heads() -> tuple[Any, Any, Any]:
    """Return queries, keys and values of 2 heads, sliced from one Dense as in tutorials, with the batch in axis 1."""
    y = ops.reshape(L.Dense(24)(tokens()), (-1, 9, 3, 2, 4))
    y = ops.transpose(y, (2, 0, 3, 1, 4))
    return y[0], y[1], y[2]


def behind() -> Any:
    """Return three sequences in an axis before the batch: (3, batch, 9, 8)."""
    return ops.moveaxis(L.Reshape((9, 3, 8))(L.Dense(24)(tokens())), 2, 0)


def attended() -> Any:
    q, k, v = heads()
    weights = ops.softmax(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * 0.5, axis=-1)
    return ops.reshape(ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3)), (-1, 72))


def vector(y: Any, size: int) -> Any:
    return L.Reshape((size,))(y)


NETWORKS: dict[str, tuple[Callable[[], Any], set[str]]] = {
    "dot": (lambda: L.Flatten()(L.Dot(axes=(2, 2))([tokens(), tokens()])), {"einsum"}),
    "dot of vectors": (
        lambda: L.Dot(axes=1)([L.GlobalAveragePooling2D()(X), L.Dense(3)(L.GlobalAveragePooling2D()(X))]),
        {"einsum"},
    ),
    "matmul": (lambda: L.Flatten()(ops.matmul(tokens(), ops.transpose(tokens(), (0, 2, 1)))), {"matmul"}),
    "einsum": (lambda: L.Flatten()(ops.einsum("bnd,bmd->bmn", tokens(), tokens())), {"einsum"}),
    "attention": (lambda: L.Flatten()(L.Attention(use_scale=True)([tokens(), tokens()])), {"attention"}),
    "heads": (
        lambda: L.Flatten()(L.MultiHeadAttention(2, 3, value_dim=5)(tokens(), tokens())),
        {"attention", "linear"},
    ),
    "transformer": (
        lambda: L.Dense(4)(L.GlobalAveragePooling1D()(block(tokens()))),
        {"attention", "tensor_norm", "linear", "tensor_binary"},
    ),
    "softmax over rows": (lambda: L.Conv2D(2, 1)(L.Softmax(axis=1)(L.Conv2D(4, 1)(X))), {"tensor_softmax"}),
    "softmax over a map": (lambda: L.Conv2D(2, 1)(L.Softmax(axis=(1, 2))(L.Conv2D(4, 1)(X))), {"tensor_softmax"}),
    "softmax over rows and channels": (
        lambda: L.Conv2D(2, 1)(L.Softmax(axis=(1, 3))(L.Conv2D(4, 1)(X))),
        {"tensor_softmax"},
    ),
    "heads over all of a map": (
        lambda: vector(L.MultiHeadAttention(2, 3)(fields(), fields()), 72),
        {"tensor_softmax", "matmul"},
    ),
    "heads along columns": (
        lambda: vector(L.MultiHeadAttention(2, 3, value_dim=5, attention_axes=2)(fields(), fields()), 72),
        {"tensor_softmax", "matmul"},
    ),
    "heads behind a moved batch": (attended, {"tensor_transpose", "tensor_slice", "matmul"}),
    "unstacked before the batch": (lambda: vector(ops.add(*ops.unstack(behind(), axis=0)[1:]), 72), {"tensor_slice"}),
    "split before the batch": (
        lambda: vector(ops.squeeze(ops.relu(ops.split(behind(), 3, axis=0)[2]), 0), 72),
        {"tensor_slice"},
    ),
    "batch moved and back": (
        lambda: vector(ops.transpose(ops.expand_dims(behind() * 2.0, 0), (2, 0, 1, 3, 4)), 216),
        {"tensor_transpose"},
    ),
    "every step's vector": (lambda: vector(L.TimeDistributed(L.Dense(2, activation="relu"))(tokens()), 18), {"linear"}),
    "every step by its own nodes": (
        lambda: vector(L.TimeDistributed(L.Reshape((2, 2, 2)))(tokens()), 72),
        {"tensor_slice", "tensor_concat"},
    ),
    "a constant first": (lambda: vector(ops.matmul(WEIGHTS[:5], L.Permute((2, 1))(tokens())), 45), {"linear"}),
    "patches": (lambda: ops.image.extract_patches(X, size=(3, 2), strides=(2, 2), padding="same"), {"gather_points"}),
    "a part": (lambda: vector(ops.slice(tokens(), (0, 2, 1), (1, 4, 6)), 24), {"tensor_slice"}),
    "moments": (lambda: ops.add(*ops.moments(tokens(), axes=[1])), {"tensor_reduce"}),
    "ones": (lambda: vector(tokens() + ops.ones_like(tokens()), 72), {"tensor_binary"}),
    "broadcast": (lambda: vector(ops.broadcast_to(tokens()[:, :1], (1, 2, 8)), 16), {"gather_points"}),
    "permute": (lambda: L.Conv2D(2, 1)(L.Permute((3, 1, 2))(L.Conv2D(4, 1)(X))), {"tensor_transpose"}),
    "concatenate rows": (
        lambda: L.Conv2D(2, 1)(L.Concatenate(axis=1)([L.Conv2D(4, 1)(X) for _ in range(5)])),
        {"tensor_concat"},
    ),
    "top k": (lambda: vector(ops.top_k(tokens(), 2)[0], 18), {"top_k"}),
    "indices": (lambda: vector(ops.cast(ops.top_k(tokens(), 2)[1], "float32"), 18), {"top_k"}),
    "sort": (lambda: vector(ops.sort(tokens(), axis=1), 72), {"sort"}),
    "mean": (lambda: ops.mean(tokens(), axis=-1), {"tensor_reduce"}),
    "constant": (
        lambda: vector(tokens() * np.linspace(-1, 1, 72).reshape(9, 8).astype("float32"), 72),
        {"tensor_binary"},
    ),
    "rows that differ": (
        lambda: L.Concatenate(axis=1)(
            [L.Softmax()(L.Reshape((-1, 2))(L.Conv2D(4, 1)(X))), L.Reshape((-1, 2))(X[..., :2])]
        ),
        {"tensor_concat"},
    ),
}


def block(x: Any) -> Any:
    """Return a block of a vision transformer."""
    y = L.LayerNormalization()(x)
    x = L.Add()([x, L.MultiHeadAttention(2, 4)(y, y)])
    y = L.Dense(16, activation="gelu")(L.LayerNormalization()(x))
    return L.Add()([x, L.Dense(8)(y)])


@pytest.mark.parametrize("name", NETWORKS)
def test_agrees_with_keras(name: str) -> None:
    make, expected = NETWORKS[name]
    graph = check(X, make())
    chosen = cpu_layers(graph)
    assert expected <= {graph.by_name[layer].op for layer in chosen}


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: L.Attention(score_mode="concat")([tokens(), tokens()]), "score_mode='concat'; use 'dot'"),
        (
            lambda: L.MultiHeadAttention(2, 3)(tokens(), tokens(), use_causal_mask=True),
            "a mask, a causal mask or its scores",
        ),
        (lambda: ops.einsum("bnd,cnd->bc", tokens(), tokens()), "let every tensor and the result begin with the batch"),
    ],
)
def test_unsupported_layers_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        to_graph(keras.Model(X, L.Flatten()(make())))


MODULE = """
import keras
import numpy as np


@keras.saving.register_keras_serializable(package="tests")
class TwiceAndMore(keras.layers.Layer):
    def __init__(self, more=1.0, **kwargs):
        super().__init__(**kwargs)
        self.more = more

    def build(self, shape):
        self.factor = self.add_weight(shape=(shape[-1],), name="factor")

    def call(self, x):
        return x * self.factor + self.more

    def compute_output_shape(self, shape):
        return shape

    def get_config(self):
        return {**super().get_config(), "more": self.more}


def twice_and_more(x, *, more, factor):
    return x * factor + np.float32(more)
"""


def test_a_custom_layer_runs_by_its_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from glsl_infer.cpu import custom

    (tmp_path / "my_layers.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(custom, "_functions", {})
    monkeypatch.setattr(custom, "_classes", {})
    import my_layers

    y = my_layers.TwiceAndMore(0.5)(L.Conv2D(4, 1)(X))
    model = randomise(keras.Model(X, L.Conv2D(2, 1)(y)), 0)
    assert all(node.op != "custom" for node in to_graph(model).nodes)  # its call is traced
    custom.load("my_layers:twice_and_more")
    graph = check_model(model)
    (node,) = [node for node in graph.nodes if node.op == "custom"]
    assert node.attrs["calls"] == "my_layers:twice_and_more" and cpu_layers(graph) == (node.name,)


def frames() -> Any:
    return keras.Input((3, 8, 8, 2))


def test_frames_are_one_map_that_shaders_cut() -> None:
    """A network on every frame becomes a network for each frame, and only the vectors are merged on the CPU."""
    x = frames()
    inner = keras.Sequential([keras.Input((6, 6, 4)), L.DepthwiseConv2D(3), L.GlobalMaxPooling2D()])
    y = L.TimeDistributed(inner)(L.TimeDistributed(L.Conv2D(4, 3, activation="relu"))(x))
    model = as_saved(randomise(keras.Model(x, L.Dense(2)(L.GRU(3)(y))), 4))
    graph = optimize(to_graph(model, (0.0, 1.0)))
    first = graph.nodes[0]
    assert first.attrs["shape"] == (24, 8, 2)
    assert [node.op for node in graph.nodes].count("spatial_slice") == 3
    assert {node.op for node in graph.nodes if node.name in cpu_layers(graph)} == {
        *("reshape", "tensor_concat", "gru", "tensor_slice")
    }
    rng = np.random.default_rng(0).uniform(0, 1, (3, 8, 8, 2)).astype(np.float32)
    outputs = reference.run(graph, {first.name: rng.reshape(24, 8, 2)}, mode="float")
    close(outputs[graph.outputs[0].name], np.asarray(model(rng[None], training=False))[0], 1e-5)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (behind, "layer 'moveaxis.*': an output whose batch is axis 1; bring the batch back to the front"),
        (lambda: ops.flip(behind(), 0), "Flip of a tensor whose batch is axis 1; bring the batch back to the front"),
        (lambda: behind()[:, 0], "GetItem across the batch; keep the batch, axis 1, as it is"),
        (
            lambda: L.TimeDistributed(L.Reshape((2, 1)))(L.Reshape((72, 2))(L.Conv2D(4, 1)(X))),
            "a TimeDistributed over 72 steps; give it at most 64",
        ),
    ],
    ids=["an output", "another operation", "a part of the batch", "many steps"],
)
def test_a_moved_batch_is_refused_where_it_cannot_be_followed(build: Callable[[], Any], says: str) -> None:
    model = keras.Model(X, build())
    with pytest.raises(ModelError, match=says):
        to_graph(model)

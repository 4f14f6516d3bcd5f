"""Keras 2 files: read with Keras 2's semantics, or refused with a command that converts them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest
from keras.src.applications import convnext

from glsl_infer.errors import ModelError
from glsl_infer.importers import keras as importer
from glsl_infer.importers.keras import keras2

FILES = Path(__file__).with_name("keras2")
NETWORKS = sorted(path.name for path in FILES.iterdir() if path.suffix in (".h5", ".keras") and path.stem != "lambda")


@pytest.mark.parametrize("name", NETWORKS)
def test_the_outputs_are_those_of_keras_2(name: str) -> None:
    path = FILES / name
    expected = np.load(path.with_suffix(".npz"))
    inputs = [expected[key] for key in sorted(expected) if key.startswith("x")]
    model = importer.load_model(path)
    outputs = keras.tree.flatten(model(inputs if len(inputs) > 1 else inputs[0], training=False))
    reference_output = [expected[key] for key in sorted(expected) if key.startswith("y")]
    assert len(outputs) == len(reference_output)
    tolerance = 2e-3 if "float16" in name else 2e-6
    for output, right in zip(outputs, reference_output):
        np.testing.assert_allclose(output, right, rtol=0, atol=tolerance * max(1.0, np.abs(right).max()))
    assert not importer.survey(path).problems
    assert not importer.survey(path).warnings


def test_names_of_layers_are_those_of_the_file() -> None:
    names = {node.name for node in importer.load(FILES / "tensorflow_calls.keras").nodes}
    assert {"input_2", "tf.math.truediv", "tf.nn.relu6", "tf.concat", "conv2d_1"} <= names


def test_the_warning_about_code_is_for_a_lambda_that_is_in_the_file() -> None:
    with pytest.raises(ModelError, match="layer 'lambda'"):
        importer.load(FILES / "lambda.h5")
    (refused,) = [row for row in importer.survey(FILES / "lambda.h5").rows if row.runs == "refused"]
    assert refused.kind == "Lambda"


def changed(name: str, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Return a copy of an .h5 file with another configuration."""
    path = folder / name
    path.write_bytes((FILES / name).read_bytes())
    with h5py.File(path, "r+") as root:
        config = json.loads(root.attrs["model_config"])
        change(config)
        root.attrs["model_config"] = json.dumps(config)
    return path


def layer(config: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(saved_layer for saved_layer in config["config"]["layers"] if saved_layer["class_name"] == kind)


def test_an_option_without_a_counterpart_is_named_with_the_conversion(tmp_path: Path) -> None:
    path = changed("mixed_float16.h5", tmp_path, lambda config: layer(config, "Conv2D")["config"].update(folded=7))
    with pytest.raises(ModelError) as error:
        importer.survey(path)
    assert "saved by Keras 2.21.0" in str(error.value)
    assert "layer 'conv2d_5' (Conv2D) has the option folded=7" in str(error.value)
    assert "pip install tf_keras" in str(error.value)
    assert "trust" not in str(error.value)


@pytest.mark.parametrize(
    ("policy", "read"),
    [
        ({"class_name": "Policy", "config": {"name": "mixed_float16"}}, "mixed_float16"),
        (
            {"class_name": "PolicyV1", "config": {"name": "mixed_float16", "loss_scale": {"class_name": "x"}}},
            "mixed_float16",
        ),
        ({"class_name": "Policy", "config": {"name": "_infer"}}, "float32"),
        ("float32", "float32"),
    ],
)
def test_policies_of_types_of_all_versions(tmp_path: Path, policy: Any, read: str) -> None:
    path = changed("mixed_float16.h5", tmp_path, lambda config: layer(config, "Conv2D")["config"].update(dtype=policy))
    assert importer.load_model(path).get_layer("conv2d_5").dtype_policy.name == read


def test_a_function_of_tensorflow_without_a_counterpart_is_a_row(tmp_path: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        layer(config, "TFOpLambda")["config"]["function"] = "signal.fft2d"

    path = changed("shapes.h5", tmp_path, change)
    with pytest.raises(
        ModelError, match=r"tf\.signal\.fft2d, called by a model of Keras 2, has no counterpart.*convert"
    ):
        importer.load(path)


def test_layers_of_a_class_that_is_not_in_the_file(tmp_path: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        layer(config, "Conv2D").update(class_name="mine>Own")

    with pytest.raises(ModelError, match="layer 'conv2d_5'"):
        importer.load(changed("mixed_float16.h5", tmp_path, change))


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    path = changed("mixed_float16.h5", tmp_path, lambda config: layer(config, "Conv2D")["config"].update(filters=9))
    with pytest.raises(ModelError, match="layer 'conv2d_5'"):
        importer.load_model(path)


def test_a_damaged_configuration_is_named(tmp_path: Path) -> None:
    path = changed("mixed_float16.h5", tmp_path, lambda config: config["config"].pop("input_layers"))
    with pytest.raises(ModelError, match="mixed_float16"):
        importer.load_model(path)


def test_a_sequential_that_is_a_list_and_a_shape_among_options() -> None:
    dense = {"class_name": "Dense", "config": {"name": "d", "units": 2, "batch_input_shape": [None, 5]}}
    config = keras2.rewritten({"class_name": "Sequential", "config": [dense]}, "m.h5")
    model = keras.saving.deserialize_keras_object(config)
    assert model.input_shape == (None, 5)


@pytest.mark.parametrize("kind", ["LayerScale", "Custom>LayerScale"])
def test_the_layer_of_convnext_is_that_of_keras_3(kind: str) -> None:
    settings = {"name": "scale", "trainable": True, "init_values": 1e-6, "projection_dim": 5}
    scale = {"class_name": kind, "config": {**settings, "batch_input_shape": [None, 4, 4, 5]}}
    config = keras2.rewritten({"class_name": "Sequential", "config": [scale]}, "m.h5")
    (layer,) = keras.saving.deserialize_keras_object(config).layers
    assert isinstance(layer, convnext.LayerScale) and layer.projection_dim == 5


def test_code_that_a_file_of_keras_2_names_is_not_loaded(tmp_path: Path) -> None:
    """A module name in an entry that claims to be from Keras is ignored."""
    data = io.BytesIO((FILES / "functional.keras").read_bytes())
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(data) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "config.json":
                config = json.loads(content)
                function = {"module": "os", "class_name": "function", "config": "system", "registered_name": "function"}
                layer(config, "Conv2D")["config"]["activation"] = function
                content = json.dumps(config).encode()
            target.writestr(name, content)
    with pytest.raises(ModelError, match=r"'os\.system'"):
        importer.load_model(path)


UNIT = np.random.default_rng(5).uniform(0.1, 0.9, (2, 4, 6, 3)).astype(np.float32)
ABOVE = 1.0 + UNIT

CALLS: dict[str, tuple[Any, ...]] = {
    **{f"math.{name}": (UNIT,) for name in ("acos", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan", "sign")},
    **{
        f"math.{name}": (UNIT, UNIT[:, :1])
        for name in ("atan2", "divide_no_nan", "floormod", "greater", "greater_equal", "less", "less_equal")
    },
    **{f"math.{name}": (UNIT, [1, 2]) for name in ("reduce_euclidean_norm", "reduce_logsumexp", "reduce_std")},
    **{f"math.{name}": (UNIT > 0.5, UNIT > 0.3) for name in ("logical_and", "logical_or", "logical_xor")},
    "math.acosh": (ABOVE,),
    "math.add_n": ([UNIT, ABOVE, UNIT],),
    "math.argmin": (UNIT, 2),
    "math.cumsum": (UNIT, 1),
    "math.equal": (np.round(UNIT), np.round(ABOVE)),
    "math.not_equal": (np.round(UNIT), np.round(ABOVE)),
    "math.logical_not": (UNIT > 0.5,),
    "math.reduce_all": (UNIT > 0.2, 3),
    "math.reduce_any": (UNIT > 0.8, 3),
    "math.top_k": (UNIT, 2),
    "broadcast_to": (UNIT[:, :1], (2, 4, 6, 3)),
    "einsum": ("bhwc,ck->bhwk", UNIT, UNIT[0, 0, :3]),
    "image.crop_to_bounding_box": (UNIT, 1, 2, 3, 4),
    "image.flip_left_right": (UNIT,),
    "image.flip_up_down": (UNIT,),
    "image.rgb_to_grayscale": (UNIT,),
    "nn.conv2d": (UNIT, UNIT[0, :2, :3, :, None] * np.ones(5, np.float32), 2, "SAME"),
    "norm": (UNIT, "euclidean", 3),
    "repeat": (UNIT, 2, 1),
    "roll": (UNIT, 1, 2),
    "tensordot": (UNIT, UNIT[0, 0, :3], 1),
    "where": (UNIT > 0.5, UNIT, ABOVE),
    "zeros_like": (UNIT,),
    "compat.v1.floor_div": (ABOVE, 0.3),
    "compat.v1.image.resize_bilinear": (UNIT, (8, 9), {"half_pixel_centers": True}),
    "compat.v1.image.resize_nearest_neighbor": (UNIT, (8, 12)),
    "compat.v1.nn.conv2d": (UNIT, {"filter": UNIT[0, :2, :3, :, None], "strides": [1, 2, 1, 1], "padding": "SAME"}),
    "compat.v1.nn.crelu": (UNIT - 0.5,),
    "compat.v1.nn.depthwise_conv2d": (
        UNIT,
        {"filter": UNIT[0, :2, :3, :, None], "strides": [1] * 4, "padding": "VALID", "rate": [2, 1]},
    ),
    "image.adjust_brightness": (UNIT, 0.2),
    "image.adjust_contrast": (UNIT, 1.4),
    "image.per_image_standardization": (UNIT,),
    "linalg.matrix_transpose": (UNIT,),
    "math.accumulate_n": ([UNIT, ABOVE],),
    "math.multiply_no_nan": (UNIT, 2.0),
    "nn.avg_pool": (UNIT, 2, 2, "SAME"),
    "nn.conv2d_transpose": (UNIT, UNIT[0, :2, :3, :2, None] * np.ones(3, np.float32), [2, 8, 12, 2], 2, "SAME"),
    "nn.max_pool": (UNIT, [2, 3], 1, "VALID"),
    "nn.silu": (UNIT, 1.5),
    "one_hot": (np.asarray([[1, 0], [2, 2]]), 3),
    "slice": (UNIT, [0, 1, 2, 0], [-1, 2, -1, 2]),
    "zeros": ([1, 2],),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_tensorflow(name: str) -> None:
    import tensorflow as tf

    from glsl_infer.importers.keras.tensorflow_calls import _FUNCTIONS, is_known

    assert is_known(name)
    function = tf
    for attribute in name.split("."):
        function = getattr(function, attribute)
    arguments = [tf.constant(value) if isinstance(value, np.ndarray) else value for value in CALLS[name]]
    named = arguments.pop() if isinstance(arguments[-1], dict) else {}
    expected = keras.tree.flatten(function(*arguments, **named))
    results = keras.tree.flatten(_FUNCTIONS[name.rpartition(".")[2]](*CALLS[name][: len(arguments)], **named))
    assert len(results) == len(expected)
    for result, right in zip(results, expected):
        np.testing.assert_allclose(np.asarray(result, float), np.asarray(right, float), rtol=1e-5, atol=1e-5)


def test_shapes_with_an_open_batch() -> None:
    from glsl_infer.importers.keras.tensorflow_calls import _FUNCTIONS

    x = keras.Input((8, 6, 4))
    shape = _FUNCTIONS["shape"](x)
    assert _FUNCTIONS["reshape"](x, [shape[0], -1, 4]).shape == (None, 48, 4)
    sizes = [shape[0], _FUNCTIONS["multiply"](shape[1], shape[2]), -1]
    assert _FUNCTIONS["reshape"](x, sizes).shape == (None, 48, 4)
    assert _FUNCTIONS["concat"]([shape[:1], [48, 4]], 0) == [None, 48, 4]
    assert _FUNCTIONS["multiply"]([8, 6], 2) == [16.0, 12.0]
    assert _FUNCTIONS["resize"](x, [16.0, 12.0]).shape == (None, 16, 12, 4)
    assert _FUNCTIONS["broadcast_to"]([[[1.0, 2.0]]], [shape[0], 3, 2]).shape == (1, 3, 2)


@pytest.mark.parametrize("options", [{"align_corners": True}, {}])
def test_a_resize_of_tensorflow_1_is_not_read_as_another(options: dict[str, Any]) -> None:
    """Without half_pixel_centers, the first pixel of the result is at the corner of the first pixel of the image."""
    from glsl_infer.importers.keras.tensorflow_calls import _FUNCTIONS

    with pytest.raises(ValueError, match="a resize that"):
        _FUNCTIONS["resize_bilinear"](UNIT, (8, 9), **options)

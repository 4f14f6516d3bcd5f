"""Logits from separate processes: bit-exact for the reference, and those of Keras and of the local GPU."""

import keras
import numpy as np
import pytest
import tiny
from colour_classifier import SIZE, save_colours

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import build
from glsl_infer.errors import InputError, RunError
from glsl_infer.graph import reference
from glsl_infer.importers.keras import load
from glsl_infer.runtime.pictures.preprocess import load as load_picture
from training import logits


@pytest.fixture(scope="module")
def model(image_folder, tmp_path_factory):
    return save_colours(image_folder, tmp_path_factory.mktemp("model") / "model.keras")


@pytest.fixture(scope="module")
def bundle(model):
    bundle, _, _ = build(load(model), ["a", "b", "c"])
    bundles.write(bundle, model.with_suffix(".glslnn"))
    return model.with_suffix(".glslnn")


@pytest.fixture(scope="module")
def paths(image_folder):
    return sorted((image_folder / "train").glob("*/*.png"))[:11]


def compute(engine, model, paths):
    counted = []
    computed = logits.compute(engine, model, paths, counted.append)
    assert sum(counted) == len(paths)
    return computed


@pytest.mark.exhaustive
def test_exact_is_the_reference_bit_for_bit(bundle, paths):
    network = bundles.read(bundle)
    expected = np.stack([reference.run(network, load_picture(path, SIZE), mode="stored") for path in paths])
    assert np.array_equal(compute("exact", bundle, paths).logits, expected)


@pytest.mark.exhaustive
def test_logits_do_not_depend_on_the_number_of_processes(bundle, paths, monkeypatch):
    expected = compute("exact", bundle, paths).logits
    for cores in (1, 3):
        monkeypatch.setattr(logits, "_cores", lambda cores=cores: cores)
        assert np.array_equal(compute("exact", bundle, paths).logits, expected)


def test_float_is_keras(model, paths):
    pictures = np.stack([load_picture(path, SIZE) for path in paths]).astype(np.float32) / 255.0
    expected = keras.saving.load_model(model).predict(pictures, verbose=0)
    computed = compute("float", model, paths)
    np.testing.assert_allclose(computed.logits, expected, atol=1e-4)
    assert computed.machine.startswith(f"Keras {keras.version()}, {keras.backend.backend()} ")
    alone = compute("float", model, paths[-1:])
    assert np.array_equal(alone.logits[0], computed.logits[-1]), "a picture's logits depend on its neighbours"


@pytest.mark.exhaustive
def test_gpu_is_near_the_reference(bundle, paths):
    computed = compute("gpu", bundle, paths)
    exact = compute("exact", bundle, paths).logits
    assert np.abs(computed.logits - exact).max() < 0.2
    assert np.ptp(exact) > 2
    assert "OpenGL ES" in computed.machine


def test_input_errors_of_the_process_keep_their_messages(bundle, model, paths, tmp_path):
    for engine, options, message in (
        ("float", bundle, "not a model that Keras can load"),
        ("exact", model, "a Keras model; convert it"),
        ("gpu", tmp_path / "none.glslnn", "none.glslnn: no such file"),
    ):
        with pytest.raises(InputError, match=message):
            compute(engine, options, paths)


def test_a_crashed_process_is_a_run_error(bundle, tmp_path):
    with pytest.raises(RunError, match="'nothing'"):
        logits.compute("nothing", bundle, [tmp_path], lambda count: None)


def test_a_model_of_images_is_refused(tmp_path, paths):
    model = keras.Sequential([keras.Input((SIZE, SIZE, 3)), keras.layers.Conv2D(3, 1, activation="sigmoid")])
    model.save(tmp_path / "images.keras")
    with pytest.raises(InputError, match="ends in a feature map and has no classes"):
        compute("float", tmp_path / "images.keras", paths[:1])


def test_the_tiny_bundle_of_all_layers(tmp_path, paths):
    bundle = tiny.write_tiny(tmp_path)
    network = bundles.read(bundle)
    expected = np.stack([reference.run(network, load_picture(path, tiny.SIZE)) for path in paths[:2]])
    assert np.array_equal(compute("exact", bundle, paths[:2]).logits, expected)

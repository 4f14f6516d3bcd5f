"""The browser's results have the bytes of the Python runner, or are as near as the probe allows for shipped models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import foreign_models
import new_operator
import numpy as np
import pytest
import small_models
from chromium import Page, PageError
from graphs import classifier, conv_node, input_node
from numpy.typing import NDArray
from pairwise import each_of
from several import SEVERAL, several_bundle, several_inputs
from web_site import ROOT, Site

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.ranges import prepare
from glsl_infer.lowering import weight_bytes
from glsl_infer.lowering.target import Target
from glsl_infer.program.layout import FixedPoint
from models import RUN_EVERYWHERE

LOAD = """async (file) => { globalThis.model = await lib.GlslInfer.load("/" + file); }"""

RUN = """async (given) => {
    const inputs = Object.fromEntries(model.session.inputs.map(({name, kind}) =>
        [name, kind === "picture" ? Uint8Array.from(given[name]) : Float32Array.from(given[name])]));
    const results = await model.run(inputs);
    return Object.values(results).map(({name, purpose, shape, data}) => ({name, purpose, shape, data: [...data]}));
}"""


NEAR_A_TIE = {"xception_block"}
"""Models with a sum so near a tie that SwiftShader and llvmpipe store different steps."""

RUN_ADDED_OPERATOR = """async (pixels) => {
    const model = await lib.GlslInfer.load("/new_operator.glslnn", undefined, {selfcheck: true});
    const layers = Array.from(model.session.layers(Uint8Array.from(pixels)), ({layer}) => layer);
    const {data} = await model.run(Uint8Array.from(pixels));
    return {layers, logits: [...data]};
}"""

FILTERS, SIZE = 64, 7


def served(site: Site, folder: Path, name: str, **options: str) -> bundles.Bundle:
    """Put one of the networks on the site, and return its bundle."""
    path = folder / f"{name}.glslnn"
    bundle = several_bundle(name, **options)
    bundles.write(bundle, path)
    site.files[f"/{path.name}"] = path.read_bytes()
    return bundle


def flat(inputs: dict[str, NDArray[Any]]) -> dict[str, list[float]]:
    return {name: array.ravel().tolist() for name, array in inputs.items()}


def assert_same_results(
    page: Page, site: Site, path: Path, inputs: dict[str, NDArray[Any]], tolerance: float = 0.0
) -> None:
    """Check that each output has the Python runner's bytes, or differs by a share of the largest value at most."""
    site.files[f"/{path.name}"] = path.read_bytes()
    page.evaluate(LOAD, path.name)
    with glsl_infer.Session(path) as session:
        reference_output = session.run(inputs)
    results = page.evaluate(RUN, flat(inputs))
    assert [result["name"] for result in results] == list(reference_output)
    for result in results:
        expected = np.asarray(reference_output[result["name"]], np.float32)
        assert tuple(result["shape"]) == expected.shape
        data = np.array(result["data"], np.float32)
        if tolerance:
            assert np.abs(data.reshape(expected.shape) - expected).max() <= tolerance * np.abs(expected).max()
        else:
            assert data.tobytes() == expected.tobytes(), result["name"]


SHADERS_WITH_LOOPS = """async ([file, renderer]) => {
    const {getParameter, shaderSource} = WebGLRenderingContext.prototype;
    const names = [];
    Object.assign(WebGLRenderingContext.prototype, {
        getParameter(name) {
            const value = getParameter.call(this, name);
            return typeof value === "string" && value.includes("SwiftShader") && renderer ? renderer : value;
        },
        shaderSource(shader, text) {
            if (text.includes("#define ROLLED_FETCHES\\n")) names.push(text.split("#define ROLLED_FETCHES\\n")[1]);
            return shaderSource.call(this, shader, text);
        },
    });
    try {
        const model = await lib.GlslInfer.load(file);
        const {data} = await model.run(new Uint8Array(257 * 257 * 3).fill(100));
        model.close();
        return {names, data: [...data]};
    } finally {
        Object.assign(WebGLRenderingContext.prototype, {getParameter, shaderSource});
    }
}"""


@pytest.mark.exhaustive
def test_small_programs_have_loops_on_a_gpu_emulated_by_the_cpu(blank: Page, site: Site) -> None:
    bundle = bundles.read(ROOT / "models/grocery-x22-257.glslnn")
    fragments = Counter[str]()
    for draw in bundle.manifest.passes:
        fragments[draw.program] += draw.pixels
    few = {program.fragment for program in bundle.manifest.programs if fragments[program.name] < 30_000}
    assert 0 < len(few) < len(bundle.manifest.programs)
    site.files["/loops.glslnn"] = (ROOT / "models/grocery-x22-257.glslnn").read_bytes()
    emulated = blank.evaluate(SHADERS_WITH_LOOPS, ["/loops.glslnn", ""])
    other = blank.evaluate(SHADERS_WITH_LOOPS, ["/loops.glslnn", "a GPU"])
    assert sorted(emulated["names"]) == sorted(bundle.members[name].decode() for name in few)
    assert other == {"names": [], "data": emulated["data"]}


@each_of(("layout", ["atlas", "planar"]), ("name", [*SEVERAL]))
def test_all_outputs_have_the_bytes_of_the_python_runner(
    blank: Page, site: Site, tmp_path: Path, name: str, layout: str
) -> None:
    bundle = served(site, tmp_path, name, layout=layout)
    blank.evaluate(LOAD, f"{name}.glslnn")
    with glsl_infer.Session(bundle) as session:
        for seed in range(2):
            inputs = several_inputs(bundle.graph, seed)
            reference_output = session.run(inputs)
            results = blank.evaluate(RUN, flat(inputs))
            assert [result["name"] for result in results] == list(reference_output)
            for output, result in zip(bundle.manifest.outputs, results):
                expected = np.asarray(reference_output[output.name])
                assert result["purpose"] == output.purpose
                assert tuple(result["shape"]) == expected.shape
                # As text, a 32-bit float is transferred exactly.
                assert np.array(result["data"], np.float32).tobytes() == expected.astype(np.float32).tobytes(), output
    worst = blank.evaluate("model.session.selfcheck().map(({worst}) => worst)")
    assert len(worst) == len(bundle.manifest.layers)
    # The reference has the expected values. A driver may round a tie the other way, and floats to 65,536 steps more.
    assert max(worst) <= (2 if name == "fine" else 1)


def test_classes_of_several_outputs(blank: Page, site: Site, tmp_path: Path) -> None:
    bundle = served(site, tmp_path, "several")
    blank.evaluate(LOAD, "several.glslnn")
    inputs = several_inputs(bundle.graph, 3)
    result = blank.evaluate(
        """async (given) => model.classify({image: Uint8Array.from(given.image), numbers: given.numbers}, 2)""",
        flat(inputs),
    )
    with glsl_infer.Session(bundle) as session:
        probabilities = session.run(inputs)["label"]
    best = np.argsort(-probabilities, kind="stable")[:2]
    assert [(label["index"], label["label"]) for label in result["labels"]] == [(i, f"class {i}") for i in best]
    assert [label["probability"] for label in result["labels"]] == pytest.approx(probabilities[best].tolist())


def test_messages_name_the_missing_inputs_and_their_kinds(blank: Page, site: Site, tmp_path: Path) -> None:
    served(site, tmp_path, "several")
    blank.evaluate(LOAD, "several.glslnn")
    blank.evaluate("""{ globalThis.image = new Uint8Array(144 * 256); globalThis.numbers = new Float32Array(7); }""")
    for call, message in {
        "model.run(image)": "InputError: the model has the inputs 'image', 'numbers'; give an object with these names",
        "model.session.run(image)": "InputError: the model has the outputs 'label', 'mask', 'boxes'; give an object of",
        "model.run({image})": "InputError: input 'numbers' is missing; the model reads 'image', 'numbers'",
        "model.run({image, numbers, more: numbers})": "InputError: the model has no input 'more'; it reads 'image', ",
        "model.run({image, numbers: [1, 2]})": "InputError: input 'numbers': 2 numbers were given; the model reads 7",
        "model.run({image, numbers: numbers.with(3, NaN)})": "InputError: input 'numbers': one of its numbers is NaN",
        "model.run({image, numbers: new Image()})": "ImageError: the browser cannot read this as an image",
        "model.run({image, numbers: new ImageData(1, 7)})": "InputError: input 'numbers' reads numbers; give an array",
        "model.run({image: numbers, numbers})": "InputError: input 'image' is an image; give its bytes as Uint8Array",
        "model.run({image: image.subarray(1), numbers})": (
            "ImageError: 36863 bytes were given; the model reads 147456: RGBA of 256 x 144 pixels, or 36864: grey"
        ),
        "model.session.picture": "InputError: the model reads 'image', 'numbers', not one image; give an object with",
    }.items():
        with pytest.raises(PageError) as caught:
            blank.evaluate(f"(async () => {call})()")
        assert str(caught.value).startswith(message), call


def test_numbers_of_any_type_and_beyond_the_range(blank: Page, site: Site, tmp_path: Path) -> None:
    """Values that an input cannot store, infinities included, become the nearest that it can store."""
    served(site, tmp_path, "several")
    blank.evaluate(LOAD, "several.glslnn")
    result = blank.evaluate("""(async () => {
        const image = Uint8Array.from({length: 144 * 256}, (_, i) => i % 253);
        const label = async (numbers) => [...(await model.run({image, numbers})).label.data];
        return [
            await label([3, -2, 0, 9e9, -Infinity, 1, 4]),
            await label(BigInt64Array.from([3n, -2n, 0n, 1000000n, -1000000n, 1n, 4n])),
            await label(Float64Array.from([3, -2, 0, Infinity, -1e300, 1, 4])),
            await label(Int8Array.from([3, -2, 0, 100, -100, 1, 4])),
        ];
    })()""")
    assert result[1:] == result[:1] * 3


def test_grey_inputs_accept_colour_pictures(blank: Page, site: Site, tmp_path: Path) -> None:
    served(site, tmp_path, "several")
    blank.evaluate(LOAD, "several.glslnn")
    same = blank.evaluate("""(async () => {
        const count = 144 * 256;
        const grey = Uint8Array.from({length: count}, (_, i) => (i * 7) % 256);
        const rgba = Uint8Array.from({length: 4 * count}, (_, i) => i % 4 === 3 ? 255 : grey[i >> 2]);
        const numbers = [0, 1, 2, 3, -1, -2, -3];
        const clamped = new Uint8ClampedArray(rgba);
        const pictures = [grey, rgba, clamped, new ImageData(clamped, 256, 144)];
        const said = [];
        for (const image of pictures) said.push((await model.run({image, numbers})).boxes.data.join());
        return said.every((one) => one === said[0]);
    })()""")
    assert same is True


@pytest.mark.parametrize("name", RUN_EVERYWHERE)
def test_small_models(blank: Page, site: Site, name: str) -> None:
    exported = small_models.exported(name)
    assert_same_results(blank, site, exported.path, exported.inputs, 0.001 if name in NEAR_A_TIE else 0.0)


@pytest.mark.parametrize("name", foreign_models.RUNNER_FILES)
def test_imported_files(blank: Page, site: Site, tmp_path: Path, name: str) -> None:
    _, bundle, _ = foreign_models.exported(name, tmp_path)
    assert_same_results(blank, site, bundle, foreign_models.example_inputs(bundle))


@pytest.mark.parametrize("channels, noise", [(1280, np.inf), (512, 0.0)], ids=["in bytes", "in 16 bits"])
def test_wide_convolutions_with_weights_in_a_texture(
    blank: Page, site: Site, tmp_path: Path, channels: int, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unrolled fetches would crash Chromium's GPU process."""
    monkeypatch.setattr(weight_bytes, "MOST_NOISE", noise)
    rng = np.random.default_rng(1)
    feed, wide = conv_node(rng, "feed", ("image",), 3, channels), conv_node(rng, "wide", ("feed",), channels, FILTERS)
    graph = prepare(classifier(rng, [input_node(SIZE), feed, wide], FILTERS)).graph
    bundle = to_bundle(lower.to_program(graph, Target(weights="texture")), ["a", "b", "c"])
    assert [len(draw.quads) for draw in bundle.manifest.passes if draw.layer == "wide"] == [FILTERS // 4]
    path = tmp_path / f"wide-{channels}.glslnn"
    bundles.write(bundle, path)
    assert_same_results(blank, site, path, {"image": rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8)})


def test_an_added_operator_runs_without_a_change(blank: Page, site: Site, tmp_path: Path) -> None:
    project = new_operator.write_by_copy(tmp_path)
    site.files["/new_operator.glslnn"] = project.bundle.read_bytes()
    result = blank.evaluate(RUN_ADDED_OPERATOR, project.picture.ravel().tolist())
    assert "mirrored" in result["layers"]
    np.testing.assert_allclose(result["logits"], project.output, rtol=0, atol=project.tolerance)


MODELS = sorted((ROOT / "models").glob("*.glslnn"))

SELF_CHECK = """async (url) => {
    const model = await lib.GlslInfer.load(url);
    const errors = model.session.selfcheck();
    const {width, height} = model.session.picture.value;
    const pixels = new Uint8Array(4 * width * height);
    for (let i = 0; i < pixels.length; i++) pixels[i] = i % 4 === 3 ? 255 : (i * i + 31 * i) % 251;
    const output = await model.run(pixels);
    const statistics = model.session.statistics();
    model.close();
    return {errors, shape: output.shape, data: Array.from(output.data.subarray(0, 4096)), statistics};
}"""


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_layer_is_within_its_tolerance_and_the_result_is_the_python_runners(blank: Page, path: Path) -> None:
    result: dict[str, Any] = blank.evaluate(SELF_CHECK, f"/models/{path.name}")
    bundle = bundles.read(path)
    assert [error["layer"] for error in result["errors"]] == [layer.layer for layer in bundle.manifest.probe.layers]
    for error, allowed in zip(result["errors"], bundle.manifest.probe.layers):
        assert error["worst"] <= allowed.max_error, error
        assert error["mean"] <= allowed.mean_error, error
    size = bundle.manifest.input.height
    indices = np.arange(4 * size * size)
    pixels = ((indices * indices + 31 * indices) % 251).astype(np.uint8).reshape(size, size, 4)[..., :3]
    with glsl_infer.Session(bundle) as session:
        expected = session.run(np.ascontiguousarray(pixels))
        statistics = session.statistics()
    assert result["shape"] == list(expected.shape)
    output = bundle.manifest.output.values[0]
    error = bundle.manifest.probe.outputs[0].max_error
    allowed_step = error if isinstance(output, FixedPoint) else 3 * max(output.scales) / 255
    np.testing.assert_allclose(result["data"], expected.ravel()[:4096], rtol=0, atol=allowed_step)
    assert result["statistics"]["passes"] == statistics.passes
    assert result["statistics"]["jobs"] == statistics.jobs
    assert result["statistics"]["textureBytes"] == statistics.texture_bytes


def test_models_are_there() -> None:
    assert len(MODELS) >= 2

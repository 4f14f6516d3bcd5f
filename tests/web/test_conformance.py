"""The corpus of tests/conformance, all compression levels, and bundles that this browser or its driver cannot run."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import bundle_data
import numpy as np
import pytest
import tiny
from bundle_files import members_of, rehashed, zipped
from chromium import Page, PageError
from conformance_files import FOLDER, INDEX, check_outputs
from web_site import ROOT, Site

from glsl_infer.bundle import Bundle, manifest_json

RUN = """async ({file, inputs}) => {
    const bytes = async (name) => (await fetch(`/${name}`)).arrayBuffer();
    const model = await lib.GlslInfer.load(await lib.read(new Uint8Array(await bytes(file))));
    const values = {};
    for (const [index, {name, file, shape: [height, width, channels]}] of inputs.entries()) {
        const {kind, value} = model.session.inputs[index];
        const data = await bytes(file);
        if (kind === "numbers") values[name] = new Float32Array(data);
        else if (value.height === height && value.width === width) values[name] = new Uint8Array(data);
        else values[name] = new ImageData(new Uint8ClampedArray(data), width, height);
    }
    const results = Object.values(await model.run(values)).map(({name, shape, data}) => [name, shape, [...data]]);
    model.session.selfcheck();
    model.close();
    return results;
}"""

READ = """async (names) => {
    const refused = {};
    for (const name of names) {
        const file = new Uint8Array(await (await fetch(`/${name}`)).arrayBuffer());
        const error = await lib.read(file, "damaged").then(() => undefined, (thrown) => thrown);
        refused[name] = [error?.name, error?.rule, error?.message];
    }
    return refused;
}"""


def served(site: Site) -> None:
    site.files.update({f"/{path.name}": path.read_bytes() for path in FOLDER.iterdir()})


def test_sound_bundles_give_the_listed_numbers(blank: Page, site: Site) -> None:
    served(site)
    assert INDEX["sound"]
    for case in INDEX["sound"]:
        results = blank.evaluate(RUN, case)
        check_outputs(case, {name: np.array(data, np.float32).reshape(shape) for name, shape, data in results})


def test_parts_are_refused_by_their_operators(blank: Page, site: Site) -> None:
    served(site)
    (case,) = INDEX["parts"]
    ((scores, rule, message),) = blank.evaluate(READ, [case["file"]]).values()
    assert (scores, rule) == ("BundleError", "parts")
    assert f"has layers for the CPU ({', '.join(case['operators'])}), which this runner cannot compute" in message


def test_damaged_bundles_are_refused_by_their_rule(blank: Page, site: Site) -> None:
    served(site)
    rules = {case["file"]: case["rule"] for case in INDEX["damaged"]}
    result: dict[str, Any] = blank.evaluate(READ, list(rules))
    assert {name: rule for name, (_, rule, _) in result.items()} == rules
    for kind, rule, message in result.values():
        assert kind == "BundleError"
        assert message.startswith("damaged: ")
        assert message.endswith(f" (rule: {rule})")
        assert "\n" not in message


KINDS = {0: "stored", 1: "fixed codes", 2: "own codes"}
READ_MEMBERS = """async (name) => {
    const file = new Uint8Array(await (await fetch(`/${name}`)).arrayBuffer());
    const {members} = await lib.read(file, name);
    return Object.fromEntries([...members].map(([key, bytes]) => [key, bytes.length]));
}"""


def test_every_level_of_compression_gives_the_same_members(blank: Page, site: Site) -> None:
    with zipfile.ZipFile(ROOT / "models/trashnet-x22-129.glslnn") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    expected = {name: len(data) for name, data in members.items() if name != "manifest.json"}
    kinds = set()
    for level in (0, 1, 6, 9):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        for data in members.values():
            deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
            kinds.add(KINDS[((deflate.compress(data) + deflate.flush())[0] >> 1) & 3])
        site.files[f"/level{level}"] = packed.getvalue()
        # The reader checks that the bytes are the same, because the manifest has their hashes.
        assert blank.evaluate(READ_MEMBERS, f"level{level}") == expected
    assert kinds == set(KINDS.values())


def with_manifest(bundle: Bundle, folder: Path) -> bytes:
    """Return a bundle as a file, with its current manifest and passes."""
    members = {
        **bundle.members,
        "manifest.json": json.dumps(manifest_json.to_json(bundle.manifest)).encode(),
        "passes.bin": manifest_json.pass_table(bundle.manifest),
    }
    return zipped(folder / "manifest.zip", rehashed(members)).read_bytes()


def test_passes_of_many_quads_are_read(blank: Page, site: Site, tmp_path: Path) -> None:
    members = members_of((FOLDER / "operator-of-tomorrow.glslnn").read_bytes(), tmp_path)
    data = bundle_data.combined_data(members)
    loops = next(entry for entry in data["passes"] if entry["layer"] == "pool")
    loops["quads"] = loops["quads"] * 200_000  # more than an engine passes to a function as arguments
    site.files["/many"] = zipped(tmp_path / "many.zip", bundle_data.members_from(data, members)).read_bytes()
    assert "passes.bin" in blank.evaluate(READ_MEMBERS, "many")


def test_a_duplicate_key_is_named(blank: Page, site: Site, tmp_path: Path) -> None:
    members = members_of((FOLDER / "operator-of-tomorrow.glslnn").read_bytes(), tmp_path)
    manifest = members["manifest.json"].replace(b"{", b'{"surprise": 1, "surprise": 2, ', 1)
    site.files["/twice"] = zipped(tmp_path / "twice.zip", {**members, "manifest.json": manifest}).read_bytes()
    ((kind, rule, message),) = blank.evaluate(READ, ["twice"]).values()
    assert (kind, rule) == ("BundleError", "keys")
    assert "an object has the key 'surprise' twice" in message


def test_addresses_without_a_bundle(blank: Page) -> None:
    with pytest.raises(PageError, match=r"BundleError: /nowhere\.glslnn"):
        blank.evaluate("lib.GlslInfer.load('/nowhere.glslnn')")
    with pytest.raises(PageError, match=r"BundleError: http://127\.0\.0\.1:1/x: cannot be fetched"):
        blank.evaluate("lib.GlslInfer.load('http://127.0.0.1:1/x')")
    blank.errors.clear()


def test_more_than_the_gpu_has_is_refused_by_name(blank: Page, site: Site, tmp_path: Path) -> None:
    bundle = tiny.tiny_bundle()
    site.files["/tiny.glslnn"] = with_manifest(bundle, tmp_path)
    blank.evaluate("""(() => {
        const real = WebGLRenderingContext.prototype.getParameter;
        WebGLRenderingContext.prototype.getParameter = function (name) {
            return name === this.MAX_TEXTURE_IMAGE_UNITS ? 1 : real.call(this, name);
        };
    })()""")
    needed = bundle.manifest.limits.texture_units
    message = rf"LimitError: this GPU .*MAX_TEXTURE_IMAGE_UNITS is 1, the model needs {needed}; use another browser"
    with pytest.raises(PageError, match=message):
        blank.evaluate("lib.GlslInfer.load('/tiny.glslnn')")


def test_a_driver_with_wrong_results_is_refused(blank: Page, site: Site, tmp_path: Path) -> None:
    """The self-check names the layer whose shader is wrong."""
    members = members_of(with_manifest(tiny.tiny_bundle(), tmp_path), tmp_path)
    name = "shaders/dense.frag" if "shaders/dense.frag" in members else sorted(m for m in members if "pool" in m)[0]
    broken = members[name].rstrip()[:-1] + b"    gl_FragColor = vec4(0.0);\n}\n"
    assert broken != members[name]
    site.files["/wrong.glslnn"] = zipped(tmp_path / "wrong.zip", rehashed(members, {name: broken})).read_bytes()
    with pytest.raises(PageError, match=r"SelfCheckError: layer '[\w-]+' comes out wrong on this driver"):
        blank.evaluate("lib.GlslInfer.load('/wrong.glslnn', undefined, {selfcheck: true})")


def test_a_shader_that_is_refused_names_its_layer(blank: Page, site: Site, tmp_path: Path) -> None:
    members = members_of(with_manifest(tiny.tiny_bundle(), tmp_path), tmp_path)
    name = sorted(m for m in members if m.startswith("shaders/stem") and m.endswith(".frag"))[0]
    wrong = members[name].replace(b"void main() {", b"void main() {\n    float twice = 1.0;\n    float twice = 2.0;")
    site.files["/bad.glslnn"] = zipped(tmp_path / "bad.zip", rehashed(members, {name: wrong})).read_bytes()
    with pytest.raises(PageError, match="ShaderError: layer 'stem'"):
        blank.evaluate("lib.GlslInfer.load('/bad.glslnn')")

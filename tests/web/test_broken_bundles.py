"""Bundles that this browser or its driver cannot run; test_conformance.py has damaged ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from bundle_files import members_of, rehashed, zipped
from chromium import Page, PageError
from web_site import Site

from glsl_infer.bundle import Bundle, manifest_json


def with_manifest(bundle: Bundle, folder: Path) -> bytes:
    """Return a bundle as a file, with its current manifest and passes."""
    members = {
        **bundle.members,
        "manifest.json": json.dumps(manifest_json.to_json(bundle.manifest)).encode(),
        "passes.bin": manifest_json.pass_table(bundle.manifest),
    }
    return zipped(folder / "manifest.zip", rehashed(members)).read_bytes()


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

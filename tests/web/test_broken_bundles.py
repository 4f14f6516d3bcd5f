"""Unsound bundles are refused with a message, by the rules of the Python reader and at the same places."""

from __future__ import annotations

import importlib.util
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import ranged
import tiny
from bundle_files import HOSTILE_VERTEX_SHADERS, hostile_vertex_shader, members_of, rehashed, zipped
from chromium import Page, PageError
from reading import refusals
from web_site import ROOT, Site

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle, manifest_json
from glsl_infer.errors import BundleError


def unit_tests(name: str) -> ModuleType:
    """Load a module of tests/unit, to use the manifests that it breaks."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests/unit" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_manifest(bundle: Bundle, folder: Path) -> bytes:
    """Return a bundle as a file, with its current manifest and passes."""
    members = {
        **bundle.members,
        "manifest.json": json.dumps(manifest_json.to_json(bundle.manifest)).encode(),
        "passes.bin": manifest_json.pass_table(bundle.manifest),
    }
    return zipped(folder / "manifest.zip", rehashed(members)).read_bytes()


def refused_by_python(folder: Path) -> Iterator[tuple[str, bytes, str]]:
    """Yield every manifest that the Python reader's tests break: name, file, and the Python reader's message."""
    bundle = tiny.tiny_bundle(memory="naive")
    for key, (change, _) in unit_tests("test_manifest_check").BROKEN.items():
        try:
            data = with_manifest(replace(bundle, manifest=change(bundle.manifest)), folder)
        except KeyError:  # a missing name has no index in the table of passes
            continue
        path = folder / "broken.glslnn"
        path.write_bytes(data)
        try:
            bundles.read(path)
        except BundleError as error:
            yield key, data, str(error).removeprefix(f"{path}: ")
        # No file can express the remaining ones: for example, the length of a uniform's value is its program's.


def test_what_the_python_reader_refuses_in_a_manifest_is_refused_here(blank: Page, site: Site, tmp_path: Path) -> None:
    wanted = {name: (data, message) for name, data, message in refused_by_python(tmp_path)}
    given = refusals(blank, site, {name: data for name, (data, _) in wanted.items()})
    assert len(given) > 40
    assert [name for name, words in given.items() if not words.startswith("broken.glslnn: ") or "\n" in words] == []
    other_parts = [
        (name, given[name], message)
        for name, (_, message) in wanted.items()
        if not given[name].startswith(f"broken.glslnn: {' '.join(message.split()[:2])}")
    ]
    assert len(other_parts) < len(given) // 5, other_parts
    rule = re.compile(r" \(rule: [a-z. ]+\)$")
    other_rules = [name for name, (_, words) in wanted.items() if rule.findall(given[name]) != rule.findall(words)]
    assert other_rules in ([], ["too many varyings"])  # this one breaks two rules: its vertex shader differs too


def test_whole_bundles_are_read(blank: Page, site: Site, tmp_path: Path, good: dict[str, bytes]) -> None:
    files = {f"{end}": with_manifest(ranged.ranged_bundle(end), tmp_path) for end in ranged.ENDS}
    stored = tmp_path / "stored.zip"
    with zipfile.ZipFile(stored, "w") as archive:
        for name, data in good.items():
            archive.writestr(name, data)
    files["stored"] = stored.read_bytes()
    for key, labels in {"without last end": b"a\nb\nc", "other editor": b"a\r\nb\r\nc\r\n"}.items():
        files[key] = zipped(tmp_path / "labels.zip", rehashed(good, {"labels.txt": labels})).read_bytes()
    assert refusals(blank, site, files) == dict.fromkeys(files, "")


def test_a_cut_off_or_foreign_file(blank: Page, site: Site, tmp_path: Path, good: dict[str, bytes]) -> None:
    data = zipped(tmp_path / "good.zip", good).read_bytes()
    files = {
        f"cut{length}": data[:length] for length in (0, 1, 21, 22, 500, len(data) // 2, len(data) - 30, len(data) - 1)
    }
    files |= {"png": b"\x89PNG\r\n\x1a\n" + bytes(100), "empty zip": b"PK\x05\x06" + bytes(18)}
    for name, message in refusals(blank, site, files).items():
        assert "not a glsl-infer model" in message, name


def test_members_that_do_not_belong(blank: Page, site: Site, tmp_path: Path, good: dict[str, bytes]) -> None:
    names = ("../outside.f32", "/etc/passwd", "weights/..", "weights/deeper/still.f32", "code.js", "Manifest.json")
    path = tmp_path / "extra.zip"
    files = {f"extra {i}": zipped(path, good, ((name, b"x"),)).read_bytes() for i, name in enumerate(names)}
    files["twice"] = zipped(path, good, (("labels.txt", good["labels.txt"]),)).read_bytes()
    for name, message in refusals(blank, site, files).items():
        assert "not allowed in a model: member '" in message, name


def test_damaged_and_hostile_members(blank: Page, site: Site, tmp_path: Path, good: dict[str, bytes]) -> None:
    path = tmp_path / "hostile.zip"
    bomb = zipped(path, {**good, "weights/bomb.f32": bytes(257 << 20)}).read_bytes()
    lying = zipped(path, {**good, "weights/bomb.f32": bytes(16 << 20)}).read_bytes()
    size = (16 << 20).to_bytes(4, "little")
    assert lying.count(size) == 2
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in good.items():
            archive.writestr(name, data)
    lzma = path.read_bytes()
    whole = zipped(path, good).read_bytes()
    secret = bytearray(whole)
    secret[secret.index(b"PK\x01\x02") + 8] |= 1
    text = good["manifest.json"]
    manifests = {
        "twice the same key": (text.replace(b'"version"', b'"format":"glslnn","version"', 1), "the same key twice"),
        "newer": (text.replace(b'"version":2', b'"version":3'), "version 3, this program reads up to 2"),
        "older": (text.replace(b'"version":2', b'"version":1'), "format version 1.*; export it again"),
        "other profile": (text.replace(b'"es2"', b'"es3"'), "needs profile 'es3'; this runner has es2; update"),
        "one point nought": (
            text.replace(b'"height":9', b'"height":9.0', 1),
            r"inputs\[0\]\.value\.height is 9\.0, not an integer",
        ),
        "cut": (text[:-1], "no JSON"),
        "not a number": (text.replace(b'"height":9', b'"height":NaN', 1), "no JSON"),
        "too large": (text.replace(b'"max_error":', b'"max_error":1e39,"x":', 1), r"to 1e\+30"),
        "nested": (text.replace(b'"limits":{', b'"limits":{"x":' + b"[" * 9999 + b"]" * 9999 + b",", 1), "too deeply"),
        "unknown key": (text.replace(b'"inputs":[{', b'"inputs":[{"more":1,', 1), r"inputs\[0\]: unknown key 'more'"),
        "half a pair": (text.replace(b'"name":"tiny"', b'"name":"\\ud800"', 1), "surrogate pair"),
        "not UTF-8": (text.replace(b'"name":"tiny"', b'"name":"\xff"', 1), "not UTF-8"),
    }
    for name, (changed, _) in manifests.items():
        assert changed != text, name
    expected = {
        "bomb": (bomb, "unpacks to more than 256 MiB"),
        "lying bomb": (lying.replace(size, (1000).to_bytes(4, "little")), "damaged"),
        "lzma": (lzma, "not supported"),
        "secret": (bytes(secret), "is encrypted"),
        "hash": (
            zipped(path, {**good, "labels.txt": b"x\ny\nz\n"}).read_bytes(),
            r"'labels.txt' is damaged \(its sha256",
        ),
        "missing": (zipped(path, {k: v for k, v in good.items() if k != "labels.txt"}).read_bytes(), "is missing"),
        **{
            f"no {name}": (
                zipped(path, {k: v for k, v in good.items() if k != name}).read_bytes(),
                f"'{name}' is missing",
            )
            for name in ("passes.bin", "graph.json")
        },
        "more": (zipped(path, {**good, "weights/more.f32": b"1234"}).read_bytes(), "is not in the manifest"),
        "labels": (zipped(path, rehashed(good, {"labels.txt": b"a\n"})).read_bytes(), "1 labels for 3 classes"),
        "bad text": (zipped(path, rehashed(good, {"labels.txt": b"a\n\xff\nb\n"})).read_bytes(), "not UTF-8"),
        **{
            name: (zipped(path, {**good, "manifest.json": changed}).read_bytes(), message)
            for name, (changed, message) in manifests.items()
        },
    }
    found = refusals(blank, site, {name: data for name, (data, _) in expected.items()})
    for name, (_, message) in expected.items():
        assert re.search(message, found[name]), (name, found[name])


def test_damaged_bytes_end_in_a_bundle_error_or_do_not_matter(
    blank: Page, site: Site, tmp_path: Path, good: dict[str, bytes]
) -> None:
    site.files["/good"] = zipped(tmp_path / "good.zip", good).read_bytes()
    found: dict[str, Any] = blank.evaluate("""(async () => {
        const good = new Uint8Array(await (await fetch("/good")).arrayBuffer());
        const wanted = await lib.read(good);
        let state = 3;
        const random = (below) => {
            state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
            return (state >> 8) % below;
        };
        let refused = 0;
        const others = [];
        for (let trial = 0; trial < 200; trial++) {
            const data = good.slice();
            const start = trial % 2 ? data.length - 900 : 0;
            for (let i = 0; i < 1 + random(4); i++) data[start + random(data.length - start)] = random(256);
            try {
                const {members} = await lib.read(data);
                const same = [...wanted.members].every(([name, bytes]) => `${members.get(name)}` === `${bytes}`);
                if (!same) others.push(trial);
            } catch (error) {
                refused += 1;
                if (!(error instanceof lib.BundleError)) others.push(String(error));
            }
        }
        return {refused, others};
    })()""")
    assert found["others"] == []
    assert found["refused"] > 100


def test_addresses_without_a_bundle(blank: Page) -> None:
    with pytest.raises(PageError, match=r"BundleError: /nowhere\.glslnn: the server says 404"):
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


def test_a_vertex_shader_that_is_not_the_format_s(blank: Page, site: Site, tmp_path: Path) -> None:
    good = tiny.write_tiny(tmp_path).read_bytes()
    files = {kind: hostile_vertex_shader(tmp_path, good, kind).read_bytes() for kind in HOSTILE_VERTEX_SHADERS}
    words = "program 'unit-pw': 'shaders/quads4.vert' is not the vertex shader of this format"
    wanted = f"broken.glslnn: {words} (rule: vertex shaders)"
    assert refusals(blank, site, files) == dict.fromkeys(files, wanted)


def test_textures_that_no_network_needs_are_refused(blank: Page, site: Site, tmp_path: Path) -> None:
    manifest = tiny.tiny_bundle().manifest
    large = tuple(replace(one, width=8192, height=8192) if one.kind == "target" else one for one in manifest.textures)
    hostile = replace(manifest, textures=large, limits=replace(manifest.limits, texture_size=8192))
    site.files["/large.glslnn"] = with_manifest(replace(tiny.tiny_bundle(), manifest=hostile), tmp_path)
    with pytest.raises(PageError, match=r"BundleError: .*\d{9,} bytes of textures; a model has at most 268435456"):
        blank.evaluate("lib.GlslInfer.load('/large.glslnn')")


def test_a_driver_that_computes_something_else_is_found_out(blank: Page, site: Site, tmp_path: Path) -> None:
    """The self-check names the layer whose shader is wrong."""
    members = members_of(with_manifest(tiny.tiny_bundle(), tmp_path), tmp_path)
    name = "shaders/dense.frag" if "shaders/dense.frag" in members else sorted(m for m in members if "pool" in m)[0]
    broken = members[name].rstrip()[:-1] + b"    gl_FragColor = vec4(0.0);\n}\n"
    assert broken != members[name]
    site.files["/wrong.glslnn"] = zipped(tmp_path / "wrong.zip", rehashed(members, {name: broken})).read_bytes()
    with pytest.raises(PageError, match=r"SelfCheckError: layer '[\w-]+' comes out wrong on this driver"):
        blank.evaluate("lib.GlslInfer.load('/wrong.glslnn', undefined, {selfcheck: true})")


def test_declarations_are_read_as_by_python(blank: Page, site: Site, tmp_path: Path, good: dict[str, bytes]) -> None:
    """The browser's reader finds the same wrong declarations as the Python reader in a bundle's only shader.

    The texts are those of the Python reader's tests. Other errors of these bundles are only found later.
    """
    unit = unit_tests("test_uniform_declarations")
    manifest = json.loads(good["manifest.json"])
    program = {**manifest["programs"][0], "samplers": ["image"], "uniforms": [["weights", 8], ["late", 1]]}
    manifest["programs"] = [program]
    files, wanted = {}, {}
    for test in ("test_what_declares_what_is_set", "test_a_uniform_that_nobody_sets_is_refused"):
        for index, text in enumerate(getattr(unit, test).pytestmark[0].args[1]):
            changed = {program["fragment"]: (text + unit.MAIN).encode()}
            members = {**good, **changed, "manifest.json": json.dumps(manifest).encode()}
            files[f"{test} {index}"] = zipped(tmp_path / "text.zip", rehashed(members)).read_bytes()
            wanted[f"{test} {index}"] = "nobody" in test
    given = refusals(blank, site, files)
    refused = (
        f"program '{program['name']}': its shader declares the uniform 'other', which no pass sets (rule: uniforms)"
    )
    assert {name: refused in words for name, words in given.items()} == wanted
    assert not [words for name, words in given.items() if "(rule: uniforms)" in words and not wanted[name]]


def test_a_shader_that_is_refused_names_its_layer(blank: Page, site: Site, tmp_path: Path) -> None:
    members = members_of(with_manifest(tiny.tiny_bundle(), tmp_path), tmp_path)
    name = sorted(m for m in members if m.startswith("shaders/stem") and m.endswith(".frag"))[0]
    wrong = members[name].replace(b"void main() {", b"void main() {\n    float twice = 1.0;\n    float twice = 2.0;")
    site.files["/bad.glslnn"] = zipped(tmp_path / "bad.zip", rehashed(members, {name: wrong})).read_bytes()
    with pytest.raises(PageError, match=r"ShaderError: layer 'stem' on .*: the driver refuses the fragment shader"):
        blank.evaluate("lib.GlslInfer.load('/bad.glslnn')")

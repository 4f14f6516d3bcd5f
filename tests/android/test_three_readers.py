"""Python, Java and TypeScript accept and refuse the same files, by the same rule and naming the same part.

tests/unit checks the Python reader's messages, and tests/conformance has files for readers elsewhere. Here the Python
reader's verdict is the expected one.
"""

from __future__ import annotations

import importlib.util
import io
import json
import math
import re
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import ranged
import readers
import tiny
from bundle_files import HOSTILE_VERTEX_SHADERS, rehashed
from hostile_shaders import ACCEPTED, HEAD, REFUSED
from oversized_manifests import TOO_MUCH
from pages import ROOT

from glsl_infer.bundle import Bundle, format_constants, manifest_json

Files = dict[str, bytes]

GOOD = tiny.tiny_members()
NUMBERS = (2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**38, 10**39, "9.0", "NaN", "1E+2", "-0", "1e400", "0x1", "01")
LABELS = (b"a\n", b"a\n\xff\nb\n", b"a\nb\nc", b"a\r\nb\r\nc\r\n")
SHADER = tiny.tiny_bundle().manifest.programs[0].fragment


@pytest.fixture(scope="module")
def three_readers(tmp_path_factory: pytest.TempPathFactory) -> readers.Readers:
    return readers.Readers(tmp_path_factory.mktemp("readers"))


def zipped(members: Mapping[str, bytes], *more: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of members; ``more`` can repeat names."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about duplicate names
        for name, data in (*members.items(), *more):
            archive.writestr(name, data)
    return file.getvalue()


def changed(**members: bytes) -> bytes:
    """Return the tiny bundle with other members, given by their names without folder and ending, and right hashes."""
    names = {Path(name).stem: name for name in GOOD}
    return zipped(rehashed(GOOD, {names[key]: data for key, data in members.items()}))


def with_manifest(text: bytes) -> bytes:
    return zipped({**GOOD, "manifest.json": text})


def of_manifest(bundle: Bundle) -> bytes:
    """Return a bundle as a file, with its current manifest and passes."""
    text = json.dumps(manifest_json.to_json(bundle.manifest)).encode()
    table = manifest_json.pass_table(bundle.manifest)
    return zipped(rehashed({**bundle.members, "manifest.json": text, "passes.bin": table}))


def shaders() -> Files:
    """Return a bundle for each accepted and each refused shader of the Python reader's tests."""
    texts = {
        f"{key}: {name}": text
        for key, group in (("refused", REFUSED), ("taken", ACCEPTED))
        for name, text in group.items()
    }
    return {name: zipped(rehashed(GOOD, {SHADER: (HEAD + text).encode()})) for name, text in texts.items()}


def declarations() -> Files:
    """Return bundles whose only program declares uniforms in every way of the Python reader's tests."""
    unit = unit_tests("test_uniforms")
    manifest = json.loads(GOOD["manifest.json"])
    manifest["programs"] = [
        {**manifest["programs"][0], "samplers": ["image"], "uniforms": [["weights", 8], ["late", 1]]}
    ]
    members, texts = {**GOOD, "manifest.json": json.dumps(manifest).encode()}, []
    for test in ("test_shaders_that_declare_all_uniforms_are_accepted", "test_an_unset_uniform_is_refused"):
        texts += getattr(unit, test).pytestmark[0].args[1]
    texts += [text for text, _ in unit.test_differences_of_set_and_declared_uniforms_are_refused.pytestmark[0].args[1]]
    return {text: zipped(rehashed(members, {SHADER: (text + unit.MAIN).encode()})) for text in texts}


def vertex_shaders() -> Files:
    """Return a bundle for each hostile vertex shader."""
    text = GOOD["shaders/quads4.vert"]
    return {kind: changed(quads4=change(text)) for kind, change in HOSTILE_VERTEX_SHADERS.items()}


def manifests() -> Files:
    """Return a bundle for each manifest of the Python reader's tests that a file can express."""
    bundle, files = tiny.tiny_bundle(memory="naive"), {}
    broken = unit_tests("test_manifest_check").BROKEN
    del broken["too many varyings"]  # breaks the rule of vertex shaders, too
    for name, (change, _) in broken.items():
        try:
            files[name] = of_manifest(replace(bundle, manifest=change(bundle.manifest)))
        except KeyError:  # a missing name has no index in the table of passes
            continue
    return files


def unit_tests(name: str) -> Any:
    """Load a module of tests/unit, for its tables."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests/unit" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pass_tables() -> Files:
    return {name: changed(passes=table) for name, table in broken_tables(GOOD["passes.bin"])}


def broken_tables(table: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield tables with one defect each, mostly in the first pass."""
    sources = 8 + 2 * table[7]
    quads = sources + 1 + 9 * table[sources]
    uniforms = quads + 4 + int.from_bytes(table[quads : quads + 4], "little") * (8 + 4 * table[sources])
    yield from {"empty": b"", "cut": table[:-1], "more": table + b"\0"}.items()
    for name, at, form, *values in (
        ("layer", 0, "H", 999),
        ("program", 2, "H", 999),
        ("target", 4, "H", 65535),
        ("clear", 6, "B", 2),
        ("texture", 8, "H", 999),
        ("no source", sources, "B", 0),
        ("15 sources", sources, "B", 15),
        ("unit", sources + 1, "B", 32),
        ("stride", sources + 2, "f", math.nan),
        ("infinite stride", sources + 6, "f", math.inf),
        ("no quad", quads, "I", 0),
        ("many quads", quads, "I", 2**32 - 1),
        ("x", quads + 4, "H", 8193),
        ("height", quads + 10, "H", 65535),
        ("origin", quads + 12, "h", -8193),
        ("kind", uniforms, "B", 2),
        ("number", uniforms, "Bf", 0, math.inf),
        ("member", uniforms, "BH", 1, 999),
    ):
        data = struct.pack(f"<{form}", *values)
        yield name, table[:at] + data + table[at + len(data) :]


def counts() -> Files:
    """Return bundles whose manifest lists other passes, quads, layers or members than there are."""
    manifest = json.loads(GOOD["manifest.json"])
    count, quads, layers = manifest["passes"]["count"], manifest["passes"]["quads"], manifest["layers"]
    changes: dict[str, dict[str, Any]] = {
        "more passes": {"passes": {"count": count + 1, "quads": quads + 1}},
        "fewer passes": {"passes": {"count": count - 1, "quads": quads - 1}},
        "more quads": {"passes": {"count": count, "quads": quads + 1}},
        "fewer quads": {"passes": {"count": count, "quads": quads - 1}},
        "no passes": {"passes": {"count": 0, "quads": quads}},
        "passes beyond the cap": {"passes": {"count": 65537, "quads": quads}},
        "quads beyond the cap": {"passes": {"count": count, "quads": 262145}},
        "an idle layer": {"layers": [*layers, "idle"]},
        "a layer twice": {"layers": [*layers, layers[0]]},
        "an absent member": {"floats": [*manifest["floats"], "weights/none.f32"]},
        "a member of text": {"floats": [*manifest["floats"], "labels.txt"]},
    }
    return {name: with_manifest(json.dumps({**manifest, **change}).encode()) for name, change in changes.items()}


def texts() -> Files:
    """Return bundles whose manifest is damaged as text, and manifests with integers and floats of any size."""
    text = GOOD["manifest.json"]
    damaged = {
        "cut": text[:-1],
        "the same key twice": text.replace(b'"version"', b'"format": "glslnn", "version"', 1),
        "newer": text.replace(b'"version": 2', b'"version": 3'),
        "older": text.replace(b'"version": 2', b'"version": 1'),
        "profile": text.replace(b'"es2"', b'"es3"'),
        "foreign": b'{"format":"other"}',
        "nested": text.replace(b'"limits": {', b'"limits": {"x":' + b"[" * 9999 + b"]" * 9999 + b",", 1),
        "unknown key": text.replace(b'"inputs": [{', b'"inputs": [{"more":1,', 1),
        "half a pair": text.replace(b'"name": "tiny"', b'"name":"\\ud800"', 1),
        "not UTF-8": text.replace(b'"name": "tiny"', b'"name":"\xff"', 1),
    }
    for key in (b"max_error", b"scale", b"width", b"version"):
        result = re.search(rb'"%s": ?([-.e\d]+)' % key, text)
        assert result
        for number in NUMBERS:
            damaged[f"{key!r} {number}"] = text[: result.start(1)] + str(number).encode() + text[result.end(1) :]

    return {name: with_manifest(data) for name, data in damaged.items()}


def containers() -> Files:
    """Return files with a damaged, foreign or hostile zip container, and sound ones."""
    good_zip = zipped(GOOD)
    secret = bytearray(good_zip)
    secret[good_zip.index(b"PK\x01\x02") + 8] |= 1
    lying, size = zipped({**GOOD, "weights/bomb.f32": bytes(16 << 20)}), (16 << 20).to_bytes(4, "little")
    assert lying.count(size) == 2
    foreign = (b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"\x89PNG\r\n\x1a\n" + bytes(100), b"a,b\n" * 999)
    lengths = (1, 21, 22, 500, len(good_zip) // 2, len(good_zip) - 30, len(good_zip) - 1)
    names = ("../out.f32", "/etc/passwd", "weights/..", "weights/.hidden", "weights/a/b.f32", "weights\\b", "code.js")
    return {
        "sound": good_zip,
        "stored": zipped(GOOD, method=zipfile.ZIP_STORED),
        "lzma": zipped({"manifest.json": GOOD["manifest.json"]}, method=zipfile.ZIP_LZMA),
        "encrypted": bytes(secret),
        "lying bomb": lying.replace(size, (1000).to_bytes(4, "little")),
        "damaged": zipped({**GOOD, "labels.txt": b"x\ny\nz\n"}),
        "more": zipped(GOOD, ("weights/more.f32", b"1234")),
        "twice": zipped(GOOD, ("labels.txt", GOOD["labels.txt"])),
        **{f"foreign {index}": data for index, data in enumerate(foreign)},
        **{f"cut to {length}": good_zip[:length] for length in lengths},
        **{f"extra {name}": zipped(GOOD, (name, b"x")) for name in names},
        **{f"no {name}": zipped({key: data for key, data in GOOD.items() if key != name}) for name in GOOD},
        **{
            f"labels {data!r}": changed(labels=data)
            for data in (b"a\n", b"a\n\xff\nb\n", b"a\nb\nc", b"a\r\nb\r\nc\r\n")
        },
    }


def caps() -> Files:
    """Return bundles at a cap of the format, and above it."""
    files = {}
    for name, (manifest, _) in TOO_MUCH.items():
        table = manifest_json.pass_table(replace(tiny.tiny_bundle().manifest, passes=manifest.passes))
        text = json.dumps(manifest_json.to_json(manifest), separators=(",", ":")).encode()
        files[name] = zipped(rehashed({**GOOD, "manifest.json": text, "passes.bin": table}))
    for name, cap in (
        (SHADER, format_constants.MAX_SHADER_BYTES),
        ("manifest.json", format_constants.MAX_MANIFEST_BYTES),
        ("graph.json", format_constants.MAX_GRAPH_BYTES),
        ("passes.bin", format_constants.MAX_TABLE_BYTES),
    ):
        for above in (0, 1):
            members = {**GOOD, name: GOOD[name].ljust(cap + above - 1) + b"\n"}  # which a table of passes may not have
            files[f"{name} {'above' if above else 'at'} the cap"] = zipped(
                members if name == "manifest.json" else rehashed(members)
            )
    good_zip = zipped(GOOD)
    end, size = len(good_zip) - 22, (format_constants.MAX_DIRECTORY_BYTES + 1).to_bytes(4, "little")
    large = good_zip[: end + 12] + size + good_zip[end + 16 :]
    files |= {"directory": large, "before a comment": large[:-2] + b"\5\0hello"}
    return {
        **files,
        "64-bit directory": good_zip[:end] + b"PK\6\7" + bytes(16) + good_zip[end:],
        **all_members(good_zip),
    }


def all_members(good_zip: bytes) -> Files:
    """Return files that declare as many bytes in total as a bundle can have, and one more; nothing is unpacked."""
    entry = good_zip.rindex(b"PK\1\2", 0, good_zip.rindex(b"weights/probe.bin"))
    local = int.from_bytes(good_zip[entry + 42 : entry + 46], "little") + 22
    remaining = format_constants.MAX_BYTES - sum(map(len, GOOD.values())) + len(GOOD["weights/probe.bin"])
    files = {}
    for above in (0, 1):
        size = (remaining + above).to_bytes(4, "little")
        data = good_zip[: entry + 24] + size + good_zip[entry + 28 :]
        files[f"all members, {above} above"] = data[:local] + size + data[local + 4 :]
    return files


def range_ends() -> Files:
    return {end: of_manifest(ranged.ranged_bundle(end)) for end in ranged.ENDS}


FAMILIES = (
    (shaders, 0),
    (declarations, 0),
    (vertex_shaders, 0),
    (manifests, 2),
    (pass_tables, 0),
    (counts, 0),
    (texts, 11),
    (containers, 4),
    pytest.param(caps, 3, marks=pytest.mark.exhaustive),
    (range_ends, len(ranged.ENDS)),
)
"""Files of a kind, and the number of sound ones."""


@pytest.mark.parametrize("files, sound", FAMILIES, ids=lambda value: getattr(value, "__name__", None))
def test_the_same_rule_and_part(three_readers: Any, tmp_path: Path, files: Callable[[], Files], sound: int) -> None:
    cases = files()
    paths = [tmp_path / f"{index}.glslnn" for index in range(len(cases))]
    for path, data in zip(paths, cases.values()):
        path.write_bytes(data)
    answers = three_readers.verdicts(paths)
    if files is declarations:
        del answers["Python"]  # the pass of the only program has other uniforms, which it reads first
    lines = {name: [answers[reader][index] for reader in answers] for index, name in enumerate(cases)}
    if files is caps:  # readers count lists before, or after, they read the entries
        for group in lines.values():
            assert len({line.startswith("ok ") for line in group}) == 1, group
    else:
        assert {name: group for name, group in lines.items() if readers.differ(*map(readers.verdict, group))} == {}
    assert sum(readers.verdict(group[0])[0] == "ok" for group in lines.values()) == sound


@pytest.mark.exhaustive
def test_random_damage(tmp_path: Path) -> None:
    kinds, findings = readers.compare(300, 27, tmp_path / "findings")
    assert findings == []
    assert 30 < kinds["taken"] < 270

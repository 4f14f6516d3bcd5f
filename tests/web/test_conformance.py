"""The corpus of tests/conformance in the browser, and members of every compression level."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
from chromium import Page
from conformance_files import FOLDER, INDEX, check_outputs
from web_site import ROOT, Site

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
    for entry in INDEX["sound"]:
        results = blank.evaluate(RUN, entry)
        check_outputs(entry, {name: np.array(data, np.float32).reshape(shape) for name, shape, data in results})


def test_parts_are_refused_by_their_operators(blank: Page, site: Site) -> None:
    served(site)
    (entry,) = INDEX["parts"]
    ((scores, rule, message),) = blank.evaluate(READ, [entry["file"]]).values()
    assert (scores, rule) == ("BundleError", "parts")
    assert f"has layers for the CPU ({', '.join(entry['operators'])}), which this runner cannot compute" in message


def test_damaged_bundles_are_refused_by_their_rule(blank: Page, site: Site) -> None:
    served(site)
    rules = {entry["file"]: entry["rule"] for entry in INDEX["damaged"]}
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

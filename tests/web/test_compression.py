"""Members are inflated to the same bytes for every compression level and method."""

from __future__ import annotations

import io
import zipfile
import zlib

from chromium import Page
from web_site import ROOT, Site

KINDS = {0: "stored", 1: "fixed codes", 2: "own codes"}
READ = """async (name) => {
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
        assert blank.evaluate(READ, f"level{level}") == expected
    assert kinds == set(KINDS.values())

"""The corpus of tests/conformance in the browser: sound bundles give the listed numbers, damaged ones are refused."""

from __future__ import annotations

import json
from typing import Any

from chromium import Page
from reading import refusals
from web_site import ROOT, Site

FOLDER = ROOT / "tests/conformance"
INDEX: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "index.json").read_text("utf-8"))

RUN = """async (file, pixels) => {
    const bytes = async (name) => new Uint8Array(await (await fetch(`/${name}`)).arrayBuffer());
    const model = await lib.GlslInfer.load(await lib.read(await bytes(file)));
    const rgb = await bytes(pixels);
    const rgba = new Uint8Array(4 * model.session.size ** 2).fill(255);
    rgb.forEach((byte, i) => { rgba[4 * Math.floor(i / 3) + i % 3] = byte; });
    const {data} = await model.run(rgba);
    model.session.selfcheck();
    model.close();
    return Array.from(data);
}"""


def test_sound_bundles_give_the_listed_numbers(blank: Page, site: Site) -> None:
    assert INDEX["sound"]
    for entry in INDEX["sound"]:
        names = (entry["file"], entry["picture"])
        site.files.update({f"/{name}": (FOLDER / name).read_bytes() for name in names})
        given = blank.evaluate(RUN, *names)
        wanted = entry["output"]
        assert len(given) == len(wanted)
        assert max(abs(a - b) for a, b in zip(given, wanted)) <= entry["tolerance"], entry["file"]


def test_damaged_bundles_are_refused(blank: Page, site: Site) -> None:
    files = {entry["file"]: (FOLDER / entry["file"]).read_bytes() for entry in INDEX["damaged"]}
    assert files
    given = refusals(blank, site, files)
    assert [name for name, words in given.items() if not words.startswith("broken.glslnn: ") or "\n" in words] == []

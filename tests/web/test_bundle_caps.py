"""A bundle above the caps of the format is refused with a message; one exactly at a cap is not refused for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bundle_data
import pytest
import tiny
from bundle_files import Members, rehashed, zipped
from chromium import Page
from reading import refusals
from web_site import Site

from glsl_infer.bundle import format_constants

Manifest = dict[str, Any]

TEXTURE = {"name": "t", "kind": "target", "clear": [0, 0, 0, 0]}
SIDE = 1024
AT_MOST = "a model has at most"


def textures(manifest: Manifest, count: int) -> None:
    manifest["textures"] = [{**TEXTURE, "width": 1, "height": 1}] * count


def texture_bytes(manifest: Manifest, count: int) -> None:
    """Add as many full square textures as fit into ``count`` bytes, and one row for the remainder."""
    squares, rest = divmod(count // 4, SIDE * SIDE)
    sizes = [(SIDE, SIDE)] * squares + [(rest, 1)] * (rest > 0)
    manifest["textures"] = [{**TEXTURE, "width": width, "height": height} for width, height in sizes]


def passes(manifest: Manifest, count: int) -> None:
    manifest["passes"] = [manifest["passes"][0]] * count


def quads(manifest: Manifest, count: int) -> None:
    """Distribute ``count`` quads over two passes: their sum counts."""
    first = manifest["passes"][0]
    quad = first["quads"][0]
    manifest["passes"] = [{**first, "quads": [quad] * (count - 1)}, {**first, "quads": [quad]}]


def texels(manifest: Manifest, count: int) -> None:
    squares, rest = divmod(count, SIDE * SIDE)
    first = manifest["passes"][0]
    origins = first["quads"][0][4:]
    sizes = [[0, 0, SIDE, SIDE, *origins]] * squares + [[0, 0, rest, 1, *origins]] * (rest > 0)
    manifest["passes"] = [{**first, "quads": sizes}]


def programs(manifest: Manifest, count: int) -> None:
    manifest["programs"] = [manifest["programs"][0]] * count


def layers(manifest: Manifest, count: int) -> None:
    manifest["passes"] = [{**manifest["passes"][0], "layer": f"layer {index}"} for index in range(count)]


COUNTED: dict[str, tuple[Callable[[Manifest, int], None], int, int, str]] = {
    "layers": (layers, format_constants.MAX_LAYERS, 1, "manifest.layers has {} entries; 1 to {} are possible"),
    "textures": (textures, format_constants.MAX_TEXTURES, 1, "manifest.textures has {} entries; 1 to {} are possible"),
    "programs": (programs, format_constants.MAX_PROGRAMS, 1, "manifest.programs has {} entries; 1 to {} are possible"),
    "passes": (passes, format_constants.MAX_PASSES, 1, "manifest.passes.count is {}, not an integer from 1 to {}"),
    "quads": (quads, format_constants.MAX_QUADS, 1, "manifest.passes.quads is {}, not an integer from 1 to {}"),
    "bytes": (texture_bytes, format_constants.MAX_TEXTURE_BYTES, 4, f"{{}} bytes of textures; {AT_MOST} {{}}"),
    "texels": (texels, format_constants.MAX_DRAWN_TEXELS, 1, f"{{}} texels drawn in a frame; {AT_MOST} {{}}"),
}
"""For each cap: a function that sets a count, the cap, the smallest count above it, and the error message."""


@pytest.mark.parametrize("what", COUNTED)
def test_what_a_manifest_asks_for(blank: Page, site: Site, tmp_path: Path, good: Members, what: str) -> None:
    change, cap, step, message = COUNTED[what]

    def asking_for(count: int) -> bytes:
        manifest = tiny.tiny_manifest()
        change(manifest, count)
        return zipped(tmp_path / "asking.zip", bundle_data.members_from(manifest, good)).read_bytes()

    found = refusals(blank, site, {"most": asking_for(cap), "more": asking_for(cap + step)})
    assert found["more"] == f"broken.glslnn: {message.format(cap + step, cap)} (rule: caps)"
    # Most of these fail later, because their parts do not fit together.
    assert "(rule: caps)" not in found["most"]
    assert "unpacks to more" not in found["most"]


def test_a_shader(blank: Page, site: Site, tmp_path: Path, good: Members) -> None:
    name = tiny.tiny_manifest()["programs"][0]["fragment"]

    def padded(size: int) -> bytes:
        return zipped(tmp_path / "shader.zip", rehashed(good, {name: good[name].ljust(size, b"\n")})).read_bytes()

    cap = format_constants.MAX_SHADER_BYTES
    found = refusals(blank, site, {"most": padded(cap), "more": padded(cap + 1)})
    assert found == {
        "most": "",
        "more": f"broken.glslnn: {cap + 1} bytes of GLSL in '{name}'; {AT_MOST} {cap} (rule: caps)",
    }


def test_a_manifest(blank: Page, site: Site, tmp_path: Path, good: Members) -> None:
    def padded(size: int) -> bytes:
        members = {**good, "manifest.json": good["manifest.json"].ljust(size)}
        return zipped(tmp_path / "manifest.zip", members).read_bytes()

    cap = format_constants.MAX_MANIFEST_BYTES
    found = refusals(blank, site, {"most": padded(cap), "more": padded(cap + 1)})
    assert found == {"most": "", "more": "broken.glslnn: manifest.json unpacks to more than 16 MiB (rule: container)"}


def test_a_graph(blank: Page, site: Site, tmp_path: Path, good: Members) -> None:
    """The runner does not read graph.json, but limits its size."""

    def padded(size: int) -> bytes:
        return zipped(tmp_path / "graph.zip", rehashed(good, {"graph.json": bytes(size)})).read_bytes()

    cap = format_constants.MAX_GRAPH_BYTES
    found = refusals(blank, site, {"most": padded(cap), "more": padded(cap + 1)})
    assert found == {"most": "", "more": "broken.glslnn: graph.json unpacks to more than 16 MiB (rule: container)"}


def test_all_members_together(blank: Page, site: Site, tmp_path: Path, good: Members) -> None:
    """The sizes in the directory are enough for a refusal: no member is unpacked."""
    whole = zipped(tmp_path / "whole.zip", good).read_bytes()
    entry = whole.rindex(b"PK\1\2", 0, whole.rindex(b"weights/probe.bin"))
    rest = (
        format_constants.MAX_BYTES
        - sum(map(len, good.values()))
        + int.from_bytes(whole[entry + 24 : entry + 28], "little")
    )

    def declaring(size: int) -> bytes:
        """Return the zip with another size of the probe, in the directory and in the probe's local header."""
        local = int.from_bytes(whole[entry + 42 : entry + 46], "little") + 22
        changed = whole[: entry + 24] + size.to_bytes(4, "little") + whole[entry + 28 :]
        return changed[:local] + size.to_bytes(4, "little") + changed[local + 4 :]

    found = refusals(blank, site, {"most": declaring(rest), "more": declaring(rest + 1)})
    assert found["more"] == "broken.glslnn: unpacks to more than 256 MiB (rule: container)"
    assert "damaged" in found["most"]


def directories(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield zip files whose end declares a larger directory than is allowed."""
    end = len(whole) - 22
    size = format_constants.MAX_DIRECTORY_BYTES + 1
    yield "declared", whole[: end + 12] + size.to_bytes(4, "little") + whole[end + 16 :]
    yield "before a comment", whole[: end + 12] + size.to_bytes(4, "little") + whole[end + 16 : -2] + b"\5\0hello"
    yield "64-bit", whole[:end] + b"PK\6\7" + bytes(16) + whole[end:]


def test_the_directory_of_the_zip(blank: Page, site: Site, tmp_path: Path, good: Members) -> None:
    whole = zipped(tmp_path / "whole.zip", good).read_bytes()
    assert refusals(blank, site, {"whole": whole}) == {"whole": ""}
    found = refusals(blank, site, dict(directories(whole)))
    no_zip = "broken.glslnn: not a glsl-infer model, or cut off before its end; export or copy the file again"
    assert found == {
        "declared": "broken.glslnn: the directory of the zip is larger than 16 MiB, which no model's is "
        "(rule: container)",
        "before a comment": f"{no_zip} (rule: container)",
        "64-bit": f"{no_zip} (rule: container)",
    }

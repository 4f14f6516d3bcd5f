"""The browser's reader, applied to files."""

from __future__ import annotations

from collections.abc import Mapping

from chromium import Page
from web_site import Site

READ = """async (names) => {
    const found = {};
    for (const name of names) {
        const file = new Uint8Array(await (await fetch("/" + encodeURIComponent(name))).arrayBuffer());
        try {
            await lib.read(file, "broken.glslnn");
            found[name] = "";
        } catch (error) {
            found[name] = error instanceof lib.BundleError ? error.message : `${error.name} ${error.message}`;
        }
    }
    return found;
}"""


def refusals(page: Page, site: Site, files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the browser's error message for each file, or an empty string if the file is sound."""
    site.files.update({f"/{name}": data for name, data in files.items()})
    return dict(page.evaluate(READ, list(files)))

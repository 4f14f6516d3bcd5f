"""Fixtures: the built library and page, a browser, and separate pages for every test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from bundle_files import members_of
from chromium import Browser, Page
from web_site import ROOT, WEB, Site


@pytest.fixture(scope="session")
def dist() -> Path:
    """The folder with the library and page, built from the current sources."""
    for folder, package in ((WEB, "axe-core"), (WEB / "tfjs", "@tensorflow")):
        if not (folder / "node_modules" / package).exists():
            subprocess.run(["npm", "ci", "--silent"], cwd=folder, check=True, stdin=subprocess.DEVNULL)
    subprocess.run(["node", "build.mjs"], cwd=WEB, check=True, stdin=subprocess.DEVNULL)
    return WEB / "dist"


@pytest.fixture(scope="session")
def site(dist: Path) -> Iterator[Site]:
    """A server of the demo page with the shipped models at /, and of the documentation's images at /images."""
    with Site({"": dist, "images": ROOT / "docs/images"}) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests that do not need a film as the camera."""
    with Browser() as running:
        yield running


@pytest.fixture
def blank(browser: Browser, site: Site) -> Iterator[Page]:
    """An empty page with the library loaded as ``lib``; the test fails if the page has logged an error."""
    page = browser.page(f"{site.address}/blank.html")
    page.evaluate("import('/glsl-infer.js').then((lib) => { globalThis.lib = lib; })")
    yield page
    errors = page.errors
    page.close()
    assert errors == []


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The members of a small, sound bundle."""
    folder = tmp_path_factory.mktemp("good")
    return members_of(tiny.write_tiny(folder).read_bytes(), folder)

"""The API reference is built from the docstrings, has all that is public, and no link in it is broken."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT

import glsl_infer

pytestmark = pytest.mark.slow

SCRIPT = ROOT / "scripts/api_reference.py"

sys.path.insert(0, str(ROOT / "scripts"))

from api_reference import broken_links  # noqa: E402


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference") / "api"
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r".*index\.html: \d+ pages, no broken link\n", done.stdout)
    return folder


def test_all_that_is_public_is_there(reference: Path) -> None:
    text = (reference / "glsl_infer.html").read_text("utf-8")
    for name in glsl_infer.__all__:
        value = getattr(glsl_infer, name)
        page = reference / f"{value.__name__.replace('.', '/')}.html"
        assert f'id="{name}"' in text or page.is_file(), name


@pytest.mark.parametrize(
    "name",
    ["graph", "ops/operator", "compiler/memory", "tools/validate/compare", "tools/videocore/report", "gl/context"],
)
def test_modules_are_there(reference: Path, name: str) -> None:
    assert "<h1" in (reference / "glsl_infer" / f"{name}.html").read_text("utf-8")


def test_keras_is_not_imported_for_it(reference: Path) -> None:
    assert not (reference / "glsl_infer/importers.html").exists()
    assert not (reference / "glsl_infer/importers").exists()


def test_docstrings_are_understood(reference: Path) -> None:
    text = (reference / "glsl_infer.html").read_text("utf-8")
    assert "<h6 id=" in text, "sections such as Arguments and Raises become headings"


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here"></a><a href="b.html#there"></a><a href="c.html"></a>'
        '<a href="https://example.org/x#y"></a><script>`<a href="${url}">`</script>'
    )
    (tmp_path / "b.html").write_text('<p id="elsewhere">')
    assert broken_links(tmp_path) == ["a.html: b.html#there", "a.html: c.html"]


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "holds something else than an API reference" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]

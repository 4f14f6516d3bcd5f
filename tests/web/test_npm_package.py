"""The npm package of a release: `npm publish --dry-run` reports no problem, and the contents work."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from web_site import ROOT, WEB

REPOSITORY = "https://example.org/somebody/glsl-infer"


@pytest.fixture(scope="module")
def package(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, unpacked; ``dist`` has made sure that esbuild is installed."""
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts/build/release.py")
    assert spec and spec.loader
    release = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(release)
    folder = tmp_path_factory.mktemp("npm")
    release.npm_package(folder, REPOSITORY)  # raises if the dry run reports a problem
    (packed,) = folder.iterdir()
    assert packed.name == f"glsl-infer-{release.version_of(ROOT)}.tgz"
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package"


def test_package_contents(package: Path) -> None:
    names = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    sources = [path.relative_to(WEB / "src") for path in (WEB / "src").rglob("*.ts") if ".d." not in path.name]
    types = {f"dist/types/{path.with_suffix('.d.ts')}" for path in sources}
    assert {name for name in names if not name.startswith("dist/types/")} == {
        *("package.json", "README.md", "LICENSE", "dist/glsl-infer.js", "dist/glsl-infer-tasks.js")
    }
    assert types == {name for name in names if name.startswith("dist/types/")}
    assert (package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    library = (package / "dist/glsl-infer.js").read_text("utf-8")
    assert "sourceMappingURL" not in library
    assert library.rstrip() == (WEB / "dist/glsl-infer.js").read_text("utf-8").split("\n//# source")[0].rstrip()


def test_metadata_shown_by_an_index(package: Path) -> None:
    about: dict[str, Any] = json.loads((package / "package.json").read_text("utf-8"))
    assert about["license"] == "MIT" and about["author"] and len(about["keywords"]) > 5
    assert about["repository"]["url"] == f"git+{REPOSITORY}.git"
    assert not {"scripts", "devDependencies", "dependencies"} & set(about)
    own = json.loads((WEB / "package.json").read_text("utf-8"))
    assert not {"repository", "homepage"} & set(own)  # the project has no address of its own


def test_a_project_that_depends_on_it(package: Path, tmp_path: Path) -> None:
    """A project that depends on the package finds its types in TypeScript and its module in Node."""
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/glsl-infer").symlink_to(package)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "uses.ts").write_text(
        'import { GlslInfer, toPicture } from "glsl-infer";\n'
        "export async function first(url: string, video: HTMLVideoElement): Promise<string> {\n"
        "  const model = await GlslInfer.load(url);\n"
        "  const { labels } = await model.classify(video);\n"
        "  const wrong: number = labels[0].label;\n"
        "  return labels[0].label + wrong + typeof toPicture;\n"
        "}\n"
    )
    compiler = WEB / "node_modules/typescript/bin/tsc"
    words = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "uses.ts"]
    done = subprocess.run(["node", compiler, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert [line.split("(")[0] for line in done.stdout.splitlines()] == ["uses.ts"], done.stdout
    assert "Type 'string' is not assignable to type 'number'" in done.stdout
    program = 'import * as lib from "glsl-infer"; console.log(typeof lib.GlslInfer.load)'
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "function\n"), done.stderr

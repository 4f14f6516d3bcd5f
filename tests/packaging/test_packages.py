"""The source distribution, its page on an index, matching versions, and the publishing workflow."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import tarfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from types import ModuleType
from typing import Any

import needs
import pytest
from command_line import run_python

import glsl_infer

ROOT = Path(__file__).resolve().parents[2]
NAME = f"glsl_infer-{glsl_infer.__version__}"
README = (ROOT / "README.md").read_text("utf-8")
REPOSITORY = "https://example.org/somebody/glsl-infer"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts/build" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return script("release")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, release: ModuleType) -> Path:
    """Build the Python files of a release with a repository, which twine checks."""
    needs.module("twine")
    folder = tmp_path_factory.mktemp("release")
    release.python_packages(folder, REPOSITORY)
    return folder


@pytest.fixture(scope="module")
def source(path: Path) -> dict[str, bytes]:
    with tarfile.open(path / f"{NAME}.tar.gz") as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        return {file.name.partition("/")[2]: archive.extractfile(file).read() for file in files}  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def metadata(source: dict[str, bytes]) -> Message:
    return Parser().parsestr(source["PKG-INFO"].decode("utf-8"))


@pytest.mark.exhaustive
def test_the_source_distribution_has_the_files_of_git_and_no_strays(source: dict[str, bytes]) -> None:
    expected = ["glsl_infer", "shaders", "recipes", "models/*.glslnn", "models/*.md", "training", "LICENSE"]
    expected += ["README.md", "CHANGELOG.md", "pyproject.toml", "scripts/build/package_page.py", ".gitignore"]
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *expected]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    tracked = {name for name in done.stdout.split("\0") if name and (ROOT / name).exists()}
    assert set(source) == tracked | {"PKG-INFO"}
    assert all(source[name] == (ROOT / name).read_bytes() for name in tracked)


def test_a_wheel_of_the_source_distribution_has_the_same_page(path: Path, tmp_path: Path) -> None:
    """The release builds its wheel from the sdist with the repository's address; this wheel is built without it."""
    with tarfile.open(path / f"{NAME}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / NAME
    program = f"import hatchling.build as b; print(b.prepare_metadata_for_build_wheel({str(tmp_path)!r}))"
    done = run_python("-c", program, folder=unpacked)
    assert done.returncode == 0, done.stderr
    about = Parser().parsestr((tmp_path / done.stdout.strip() / "METADATA").read_text("utf-8"))
    assert REPOSITORY in str(about.get_payload())
    assert len(about.get_all("Project-URL", [])) == 4


def test_metadata_shown_by_an_index(metadata: Message) -> None:
    assert metadata["Author"] and metadata["Summary"] and metadata["Keywords"]
    assert metadata["License-Expression"] == "MIT" and metadata["License-File"] == "LICENSE"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert urls["Source"] == REPOSITORY and "Changelog" in urls


def test_links_of_the_page_lead_to_files_of_the_tag(metadata: Message) -> None:
    text = str(metadata.get_payload())
    paths = re.findall(rf"{REPOSITORY}/(raw|blob)/v{re.escape(glsl_infer.__version__)}/([^)\"#\s]+)", text)
    assert len(paths) > 20 and {"raw", "blob"} == {kind for kind, _ in paths}
    assert all((ROOT / path).exists() for _, path in paths)
    for kind, path in paths:
        assert (kind == "raw") == (Path(path).suffix in {".jpg", ".png", ".svg"}), path
    assert _relative(text) == [] != _relative(README)


def test_without_a_repository_the_page_has_no_broken_links() -> None:
    page = script("package_page").page(README, "", "1.2.3")
    assert _relative(page) == [] and "raw/" not in page
    assert re.findall(r"^(?:#.*| {4}.*)$", page, re.M) == re.findall(r"^(?:#.*| {4}.*)$", README, re.M)
    assert "[Beatmup](https://" in page and "[Operators](" not in page and "Operators\nlists the supported" in page


def _relative(text: str) -> list[str]:
    """Return the relative links and images of a page."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return [link for link in re.findall(r"\]\(([^)\s]+)|src=\"([^\"]+)", plain) if "://" not in "".join(link)]


def test_a_repository_has_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    page = script("package_page")
    for remote, address in (("", ""), (f"{REPOSITORY}.git", REPOSITORY), (f"{REPOSITORY}/", REPOSITORY)):
        monkeypatch.setenv(page.REPOSITORY, remote)
        assert page.repository() == address
    monkeypatch.setenv(page.REPOSITORY, "git@example.org:somebody")
    with pytest.raises(ValueError, match="give the repository's address, https://HOST/OWNER/NAME"):
        page.repository()


# Versions ------------------------------------------------------------------------------------------
@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("glsl_infer/__init__.py", "web/package.json", "web/package-lock.json", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    changes = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    (tmp_path / "CHANGELOG.md").write_text(re.sub(r"^## .*$", "## 0.1.0 - unreleased", changes, count=1, flags=re.M))
    return tmp_path


def test_versions_agree(release: ModuleType) -> None:
    assert release.faults(ROOT) == []


def test_a_new_version_is_written_everywhere(release: ModuleType, copy: Path) -> None:
    before = json.loads((copy / "web/package-lock.json").read_text())
    release.write_version(copy, "1.20.3")
    assert release.version_of(copy) == "1.20.3"
    assert release.faults(copy, "v1.20.3") == []
    after = json.loads((copy / "web/package-lock.json").read_text())
    assert after["packages"][""]["version"] == "1.20.3"
    after["version"] = after["packages"][""]["version"] = before["version"]
    assert after == before
    assert re.search(r"^## 1\.20\.3 - 20\d\d-\d\d-\d\d$", (copy / "CHANGELOG.md").read_text("utf-8"), re.M)
    with pytest.raises(release.ReleaseError, match=r"write '## 1.21.0 - unreleased' and what changed"):
        release.write_version(copy, "1.21.0")


def test_contradicting_versions_are_all_named(release: ModuleType, copy: Path) -> None:
    module = copy / "glsl_infer/__init__.py"
    module.write_text(re.sub(r'__version__ = ".*"', '__version__ = "0.2.0rc1"', module.read_text("utf-8")))
    wrong = release.faults(copy, "v0.2.0")
    assert [line.partition(":")[0].partition(" ")[0] for line in wrong] == [
        *("glsl_infer/__init__.py", "web/package.json", "web/package-lock.json", "CHANGELOG.md", "tag", "CHANGELOG.md")
    ]
    assert "give three numbers below 100" in wrong[0] and "unreleased" in wrong[-1]


@pytest.mark.parametrize("version", ["1.2", "1.2.100", "01.2.3", "v1.2.3", "1.2.3.4"])
def test_invalid_versions_are_refused(release: ModuleType, copy: Path, version: str) -> None:
    with pytest.raises(release.ReleaseError, match="three numbers below 100"):
        release.write_version(copy, version)


TEXT = (ROOT / ".github/workflows/release.yml").read_text("utf-8")


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    yaml = needs.module("yaml")
    workflow: dict[Any, Any] = yaml.safe_load(TEXT)
    return workflow


def test_only_a_tag_starts_the_workflow(workflow: dict[Any, Any]) -> None:
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads the key `on` as true


def test_publishing_begins_after_the_suite_and_ends_with_the_release(workflow: dict[Any, Any]) -> None:
    jobs = workflow["jobs"]
    order = ["suite", "build", "rehearsal", "python", "npm", "files"]
    assert {name: job.get("needs") for name, job in jobs.items()} == dict(zip(order, [None, *order]))
    assert jobs["suite"]["steps"][-1]["run"] == ".ci/run"
    for name in order[2:]:  # these publish the checked files and build none
        assert not any("checkout" in step.get("uses", "") for step in jobs[name]["steps"])


def test_the_command_that_builds_is_one(workflow: dict[Any, Any]) -> None:
    (command,) = (step["run"] for step in workflow["jobs"]["build"]["steps"] if "release.py" in step.get("run", ""))
    words = [re.sub(r"^\$\w+$", "v0.0.0", word) for word in shlex.split(command)[2:]]
    done = run_python("scripts/build/release.py", *words, folder=ROOT)
    # The tag differs from this version: the arguments are valid, but nothing is built.
    assert done.returncode == 2 and "v0.0.0" in done.stderr and "usage:" not in done.stderr


def test_no_password_is_used() -> None:
    assert "secrets." not in TEXT
    assert TEXT.count("id-token: write") == 2  # PyPI and npm trust the workflow itself

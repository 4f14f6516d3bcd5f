"""`classify` refuses a renamed, truncated, partly written, foreign or newer model with a one-line remedy."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from bundle_files import members_of, ordinary_user, rehashed, zipped
from command_line import Capture, refused
from tiny import tiny_bundle, write_tiny

from glsl_infer.bundle.manifest import VERSION
from glsl_infer.cli import main
from glsl_infer.support.resources import default_model

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/images/example.jpg"
SHIPPED = default_model().read_bytes()
AGAIN, GIVE = "export or copy the file again", "give a *.glslnn file"
UPDATE = "update glsl-infer: git pull in its checkout, then "


def model_refused(capfd: Capture, model: Path) -> str:
    message = refused(capfd, ["classify", "--model", model, EXAMPLE])
    assert message.startswith(f"error: {model}: ")
    return message


@pytest.mark.parametrize("percent", [*range(0, 100, 5), 99])
def test_truncated(capfd: Capture, tmp_path: Path, percent: int) -> None:
    model = tmp_path / "cut.glslnn"
    model.write_bytes(SHIPPED[: len(SHIPPED) * percent // 100])
    assert AGAIN in model_refused(capfd, model)


@pytest.mark.parametrize("percent", range(5, 100, 10))
def test_half_written(capfd: Capture, tmp_path: Path, percent: int) -> None:
    """A partly written file is refused, with zeros at the end or at the start.

    A file system can allocate the blocks before it writes them, and a copy can stop over an older file.
    """
    kept, model = len(SHIPPED) * percent // 100, tmp_path / "half.glslnn"
    model.write_bytes(SHIPPED[:kept] + bytes(len(SHIPPED) - kept))
    assert AGAIN in model_refused(capfd, model)
    model.write_bytes(bytes(kept) + SHIPPED[kept:])
    assert AGAIN in model_refused(capfd, model)


def test_partly_overwritten_by_another_model(capfd: Capture, tmp_path: Path) -> None:
    other = write_tiny(tmp_path).read_bytes()
    model = tmp_path / "both.glslnn"
    model.write_bytes(other[: len(other) // 2] + SHIPPED[len(other) // 2 :])
    assert AGAIN in model_refused(capfd, model)
    model.write_bytes(SHIPPED[:4096] + other[4096:])
    assert AGAIN in model_refused(capfd, model)


def test_bytes_behind_the_end(capfd: Capture, tmp_path: Path) -> None:
    """Bytes after the end of the zip are refused, because another reader could find another file there."""
    model = write_tiny(tmp_path)
    model.write_bytes(model.read_bytes() + bytes(512))
    assert AGAIN in model_refused(capfd, model)


def test_another_suffix_does_not_matter(capfd: Capture, tmp_path: Path) -> None:
    assert main(["classify", "--model", str(write_tiny(tmp_path, "model.zip")), str(EXAMPLE)]) == 0
    assert capfd.readouterr().out.count("%") == len(tiny_bundle().labels)


def foreign_zip(*names: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "{}")

    return write


FOREIGN: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), AGAIN),
    "a picture": (lambda path: path.write_bytes(EXAMPLE.read_bytes()), AGAIN),
    "text": (lambda path: path.write_text("glass\npaper\n"), AGAIN),
    "an archive": (foreign_zip("photos/1.txt", "photos/2.txt"), GIVE),
    "a document": (foreign_zip("[Content_Types].xml", "_rels/.rels", "word/document.xml"), GIVE),
    "a browser extension": (foreign_zip("manifest.json", "background.js"), GIVE),
    "an empty archive": (foreign_zip(), GIVE),
    "a folder": (lambda path: path.mkdir(), GIVE),
    "a pipe": (os.mkfifo, GIVE),
    "a dead link": (lambda path: path.symlink_to("nowhere"), "no such file"),
    "nothing": (lambda path: None, "no such file"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign(capfd: Capture, tmp_path: Path, kind: str) -> None:
    make, advice = FOREIGN[kind]
    make(tmp_path / "foreign.glslnn")
    assert advice in model_refused(capfd, tmp_path / "foreign.glslnn")


def test_a_device(capfd: Capture) -> None:
    assert "is a device" in model_refused(capfd, Path("/dev/zero"))


def test_a_socket(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # socket names are limited in length
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("model.glslnn")
        assert "is a socket" in model_refused(capfd, Path("model.glslnn"))


def test_a_keras_model(capfd: Capture, tmp_path: Path) -> None:
    model = tmp_path / "model.keras"
    foreign_zip("metadata.json", "config.json", "model.weights.h5")(model)
    assert "glsl-infer export" in model_refused(capfd, model)


def test_no_permission(capfd: Capture) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = write_tiny(Path(folder))
        Path(folder).chmod(0o755)
        model.chmod(0)
        with ordinary_user():
            assert "cannot be read (Permission denied)" in model_refused(capfd, model)
        Path(folder).chmod(0)
        with ordinary_user():
            assert "cannot be read (Permission denied)" in model_refused(capfd, model)


NEWER = {
    "only the number": {},
    "other keys": {"manifest": {"quantization": {"bits": 16}}},
    "other members": {"member": "code/kernel.wgsl"},
    "another manifest": {"manifest": dict.fromkeys(("inputs", "passes", "textures", "probe"), None)},
}


@pytest.mark.parametrize("change", NEWER)
@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_newer(capfd: Capture, tmp_path: Path, change: str, compression: int) -> None:
    """A newer version is reported as such, for any other changes in the file."""
    members = members_of(write_tiny(tmp_path).read_bytes(), tmp_path)
    manifest = {**json.loads(members.pop("manifest.json")), "version": VERSION + 1, **NEWER[change].get("manifest", {})}
    model = tmp_path / "newer.glslnn"
    with zipfile.ZipFile(model, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, data in {**members, NEWER[change].get("member", "weights/new.f32"): b"new"}.items():
            archive.writestr(name, data, compression)
    message = model_refused(capfd, model)
    assert f"format version {VERSION + 1}" in message
    assert UPDATE in message


def test_older(capfd: Capture, tmp_path: Path) -> None:
    """A bundle of version 1 is reported by its version, although it lacks passes.bin and graph.json."""
    members = members_of(write_tiny(tmp_path).read_bytes(), tmp_path)
    manifest = {"format": "glslnn", "version": 1, "model": {"name": "tiny"}}
    old = {name: data for name, data in members.items() if name not in ("passes.bin", "graph.json")}
    model = zipped(tmp_path / "older.glslnn", {**old, "manifest.json": json.dumps(manifest).encode()})
    message = model_refused(capfd, model)
    assert "format version 1" in message
    assert "export it again" in message


def test_a_hash_that_differs(capfd: Capture, tmp_path: Path) -> None:
    members = members_of(write_tiny(tmp_path).read_bytes(), tmp_path)
    model = zipped(tmp_path / "changed.glslnn", {**members, "labels.txt": b"one\ntwo\nthree\n"})
    message = model_refused(capfd, model)
    assert "member 'labels.txt' is damaged" in message
    assert AGAIN in message


@pytest.mark.parametrize("labels", [b"a\nb\n", b"a\nb\nc\nd\n", b""])
def test_labels_that_do_not_fit(capfd: Capture, tmp_path: Path, labels: bytes) -> None:
    members = rehashed(members_of(write_tiny(tmp_path).read_bytes(), tmp_path), {"labels.txt": labels})
    message = model_refused(capfd, zipped(tmp_path / "labels.glslnn", members))
    assert f"{labels.count(b'c') * 2 + 2 * (labels != b'')} labels for 3 classes" in message

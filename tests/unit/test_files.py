"""Atomic writing of files, full disks, and the rule for images in folders."""

from __future__ import annotations

import ast
import os
import re
import resource
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny
from command_line import Capture, refused
from PIL import Image
from tiny import LABELS, write_tiny

from glsl_infer.cli import main
from glsl_infer.cli.table_file import open_table
from glsl_infer.errors import ImageError, InputError, RunError
from glsl_infer.gl.program_binaries import Binary
from glsl_infer.runtime.pictures import decoding, paths, preprocess
from glsl_infer.runtime.program_cache import ProgramCache
from glsl_infer.support import files
from glsl_infer.tools.train import photographs


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))  # a socket's path must be short


NODES: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "a socket": listening,
    "a device": lambda path: path.symlink_to(os.ttyname(os.openpty()[1])),
}


@pytest.mark.parametrize("kind", NODES)
@pytest.mark.parametrize("linked", [False, True])
def test_only_regular_files_are_replaced(
    tmp_path: Path, kind: str, linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    node = tmp_path / "node"
    NODES[kind](node)
    before, path = node.stat(), node
    if linked:
        path = tmp_path / "link"
        path.symlink_to(node)
    for write in (files.write_text, write_by_path):
        with pytest.raises(InputError, match=f"is {kind}.*; name a file"):
            write(path, "text")
    after = node.stat()
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(files.TEMPORARY)] == []


def write_by_path(path: Path, text: str) -> None:
    with files.replacing(path) as temporary:
        assert temporary.suffix == path.suffix
        temporary.write_text(text)


def test_standard_output_is_refused_with_advice(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with pytest.raises(InputError, match=r"is a pipe.*cat FILE > "):
        files.output_file(f"/proc/self/fd/{writing}")
    os.close(reading)
    os.close(writing)
    with (tmp_path / "gone").open("w") as file:
        (tmp_path / "gone").unlink()
        with pytest.raises(InputError, match="no name"):
            files.output_file(f"/proc/self/fd/{file.fileno()}")


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("write", [files.write_text, write_by_path])
def test_a_link_stays_and_its_target_is_replaced(
    tmp_path: Path, exists: bool, write: Callable[[Path, str], None]
) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link.txt"
    folder.mkdir()
    target = folder / "target.txt"
    if exists:
        target.write_text("old")
    link.symlink_to("folder/target.txt")
    write(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [path.name for path in folder.iterdir()] == ["target.txt"]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match="cannot be written"):
        files.write_text(tmp_path / "a", "text")


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_rights_are_those_of_any_new_file(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        files.write_text(tmp_path / "public", "text")
        with files.writing(tmp_path / "private", private=True) as file:
            file.write(b"text")
    assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def test_a_link_in_the_way_of_a_temporary_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".tmp-{os.getpid()}-out.txt").symlink_to(victim)
    files.write_text(tmp_path / "out.txt", "text")
    assert (victim.read_text(), (tmp_path / "out.txt").read_text()) == ("mine", "text")


def test_concurrent_writes_use_separate_temporary_files(tmp_path: Path) -> None:
    with files.writing(tmp_path / "out") as a, files.writing(tmp_path / "out") as b:
        a.write(b"aaaa")
        b.write(b"b")
    assert (tmp_path / "out").read_bytes() == b"aaaa"  # the last complete content
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_temporary_file_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    with pytest.raises(RuntimeError), files.writing(tmp_path / "out") as file:
        Path(file.name).unlink()
        Path(file.name).symlink_to(victim)  # as another owner of the folder could
        file.write(b"text")
        file.flush()
        raise RuntimeError
    assert victim.read_text() == "mine"


def test_a_name_of_the_largest_length(tmp_path: Path) -> None:
    path = tmp_path / f"{'é' * 125}.txt"
    files.write_text(path, "text")
    assert path.read_text() == "text"


def test_a_file_is_synced_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, bool]] = []
    fsync = os.fsync

    def watch(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        synced.append((kind, (tmp_path / "out").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    files.write_text(tmp_path / "out", "text")
    assert synced == [("file", False), ("folder", True)]


def test_the_cache_follows_no_link(tmp_path: Path) -> None:
    victim, cache = tmp_path / "victim", ProgramCache(tmp_path / "cache", "0" * 64)
    victim.write_text("mine")
    cache.path.parent.mkdir()
    cache.path.symlink_to(victim)
    assert cache.write({"a": Binary(1, b"code")})
    assert victim.read_text() == "mine"
    assert cache.read() == {"a": Binary(1, b"code")}
    cache.path.unlink()
    os.mkfifo(cache.path)
    assert not cache.write({"a": Binary(1, b"code")})


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    path.chmod(0o640)
    files.write_text(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
@pytest.mark.parametrize("mode", [0o444, 0o644], ids=["read-only", "of another user"])
def test_a_read_only_file_is_not_replaced(mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder's rights alone would allow it."""
    path = tmp_path / "out.csv"
    path.write_text("old")
    path.chmod(mode)
    if mode & 0o200:
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(InputError, match=r"is read-only; .* chmod u\+w"):
        files.write_text(path, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]
    assert path.read_text() == "old"


WRITERS = {
    "cli/collect.py": "a photograph, into files.writing",
    "cli/inspect.py": "runtime.images.save",
    "cli/number_files.py": "arrays, into files.output",
    "cli/image_tasks.py": "runtime.images.save",
    "cli/run_results.py": "runtime.images.save",
    "importers/__init__.py": "a temporary folder",
    "importers/conversion_job.py": "the temporary folder of its parent",
    "runtime/images.py": "a picture, into files.writing",
    "support/child_process.py": "a temporary folder",
    "support/files.py": "the functions that all others use",
    "tools/aibench/degraded_input.py": "a picture, into files.replacing",
    "tools/aibench/bundles.py": "a temporary folder",
    "tools/benchmark/plots.py": "a plot, into files.output",
    "tools/camera/mjpeg.py": "a picture, into memory",
    "tools/camera/presence.py": "a photograph, into files.writing",
    "tools/deploy/fetch.py": "a temporary folder",
    "tools/deploy/folder.py": "a temporary folder, which is then renamed",
    "tools/deploy/tasks.py": "the same folder",
    "tools/get/exporting.py": "a temporary folder",
    "tools/train/make.py": "a picture, into files.writing",
    "tools/validate/compare.py": "a temporary folder",
    "tools/validate/job.py": "the temporary folder of its parent",
    "tools/validate/keras_outputs.py": "the temporary folder of its parent",
    "tools/validate/litert_outputs.py": "the temporary folder of its parent",
    "tools/validate/onnx_outputs.py": "the temporary folder of its parent",
    "tools/videocore/plot.py": "a plot, into tools.benchmark.plots",
    "tools/videocore/verify.py": "a temporary folder",
    "tools/window/window.py": "the window's picture, into files.writing",
}
"""Modules that write by other functions than those of ``files``, and where to."""

_METHODS = {
    "write_text",
    "write_bytes",
    "save",
    "savez",
    "savez_compressed",
    "savefig",
    "savetxt",
    "tofile",
    "copyfile",
}
_FUNCTIONS = {
    *("os.rename", "os.replace", "shutil.copy", "shutil.copy2", "shutil.copytree", "shutil.move"),
    *("json.dump", "pickle.dump"),
}
_MODE = re.compile(r"[rb]*[wax+][wax+bt]*")


def writes(node: ast.AST) -> bool:
    """Return whether a call can write a file by a function outside of ``files``."""
    if not isinstance(node, ast.Call) or "devnull" in ast.dump(node):
        return False
    name = ast.unparse(node.func)
    if name.rpartition(".")[2] == "open":
        words = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
        return any(isinstance(word, ast.Constant) and _MODE.fullmatch(str(word.value)) for word in words)
    method = name.rpartition(".")[2] if isinstance(node.func, ast.Attribute) else ""
    return name in _FUNCTIONS or (method in _METHODS and not name.startswith("files."))


def test_every_output_is_written_by_the_same_functions() -> None:
    """They keep the old file until the new one is complete, and its mode; they refuse read-only files and devices."""
    package = Path(files.__file__).parents[1]
    modules = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(map(writes, ast.walk(ast.parse(path.read_text("utf-8")))))
    }
    assert modules == set(WRITERS)


@contextmanager
def files_end_after(size: int) -> Iterator[None]:
    """Limit the files of this process to ``size`` bytes: a longer write fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("percent", [0, 1, 50, 90, 99])
def test_the_old_file_is_intact(tmp_path: Path, good: bytes, percent: int) -> None:
    path = tmp_path / "tiny.glslnn"
    path.write_bytes(b"old")
    with files_end_after(len(good) * percent // 100), pytest.raises(InputError) as caught:
        tiny.write_tiny(tmp_path)
    assert str(caught.value) == f"{path}: cannot be written (File too large)"
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("tiny.glslnn", b"old")]
    assert tiny.write_tiny(tmp_path).read_bytes() == good


def test_a_disk_with_just_enough(tmp_path: Path, good: bytes) -> None:
    with files_end_after(len(good)):
        assert tiny.write_tiny(tmp_path).read_bytes() == good


def test_the_rows_that_had_room_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with files_end_after(1000), pytest.raises(RunError, match="File too large"), open_table(path, ["number"]) as table:
        for index in range(1000):
            table.write([index])
    assert path.read_text() == "old"
    lines = (tmp_path / "out.csv.partial").read_text().split()
    assert lines[: table.rows + 1] == ["number", *map(str, range(table.rows))]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.csv", "out.csv.partial"]


NO = "Pillow cannot read .heic images"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of images, hidden data of macOS, Jupyter and a network disk, and other files."""
    photos = tmp_path / "photos"
    for name in (
        "a.JPG",
        "b.jfif",
        "c.jpe",
        "deep/d.png",
        ".ipynb_checkpoints/a.jpg",
        "__MACOSX/a.jpg",
        "@eaDir/a.jpg",
    ):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), "red").save(photos / name, "JPEG")
    for name in ("._a.JPG", "deep/._d.png", ".DS_Store", "notes.txt", "e.heic"):
        (photos / name).write_bytes(b"\0\5\x16\7Mac OS X")
    return photos


def names(files: list[Path], folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in files]


def test_hidden_files_and_folders_are_not_images(folder: Path) -> None:
    assert names(paths.find([folder]), folder) == ["a.JPG", "b.jfif", "c.jpe", "deep/d.png", "e.heic"]
    hidden = folder / ".ipynb_checkpoints"
    assert names(paths.find([hidden]), hidden) == ["a.jpg"], "a folder that is named is not hidden"
    assert paths.find([folder / "._a.JPG"]) == [folder / "._a.JPG"], "nor is a file"
    (folder / "only").mkdir()
    (folder / "only/._x.jpg").write_bytes(b"")
    with pytest.raises(ImageError, match="no images in this folder"):
        paths.find([folder / "only"])


def test_formats_that_pillow_does_not_decode_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(decoding._PLUGINS, ".heic", ("no_such_plugin", "some-plugin"))
    messages: list[str] = []
    result = paths.find([folder], warn=messages.append)
    assert names(result, folder) == ["a.JPG", "b.jfif", "c.jpe", "deep/d.png"]
    assert len(messages) == 1 and messages[0].startswith(f"{folder}: 1 file is left out; {NO}")
    assert messages[0].endswith("-m pip install some-plugin")
    with pytest.raises(ImageError, match=NO):
        preprocess.open_image(folder / "e.heic")


def test_training_explains_formats_that_pillow_does_not_decode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(decoding._PLUGINS, ".heic", ("no_such_plugin", "some-plugin"))
    cat = tmp_path / "cat"
    cat.mkdir()
    for index in range(photographs.LEAST_PHOTOGRAPHS):
        (cat / f"{index}.heic").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        photographs.find(tmp_path)
    message = str(caught.value)
    assert message.startswith(
        f"{cat}: 0 readable images; a class needs 5, better 30; {cat}: 5 files are left out; {NO}"
    )
    assert message.endswith("-m pip install some-plugin")


def test_training_follows_the_rule(folder: Path) -> None:
    (folder / "deep/d.png").unlink()
    for name in ("class", "__MACOSX/class", "@eaDir/class"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for index in range(photographs.LEAST_PHOTOGRAPHS):
            Image.new("RGB", (8, 8)).save(folder / name / f"{index}.jfif", "JPEG")
            (folder / name / f"._{index}.jfif").write_bytes(b"")
    (folder / "deep/._d.png").unlink()
    (folder / "deep").rmdir()
    result = photographs.find(folder)
    assert result.classes == ("class",) and len(result.files) == photographs.LEAST_PHOTOGRAPHS
    loose = len(paths.in_folder(folder)) - len(result.files)
    left_out = [warning for warning in result.warnings if "left out" in warning]
    assert left_out == [f"{folder}: {loose} images are left out, because they are not in the folder of a class"]


def test_a_folder_for_results_has_no_images(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    model = write_tiny(tmp_path)
    for out in (folder, Path(f"{folder}/../photos")):
        assert "is the folder of the images" in refused(capsys, ["run", model, folder, "--out-dir", out])
    assert "is for one image" in refused(capsys, ["run", model, folder, "-o", tmp_path / "o.npz"])
    assert "cannot be used together" in refused(
        capsys, ["run", model, folder / "a.JPG", "-o", tmp_path / "o.npz", "--out-dir", tmp_path / "out"]
    )
    assert "is not a folder" in refused(capsys, ["run", model, folder, "--out-dir", model])
    assert not (tmp_path / "out").exists()


def test_labels_of_a_model(tmp_path: Path, capsys: Capture) -> None:
    assert main(["labels", str(write_tiny(tmp_path))]) == 0
    assert capsys.readouterr().out.splitlines() == list(LABELS)
    assert main(["labels"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 81

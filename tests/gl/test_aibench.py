"""``glsl-infer aibench``: its rows, its score, and the build and run of one network."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from command_line import Capture, refused
from graphs import classifier, conv_node
from needs import installed
from PIL import Image
from tiny import write_tiny

from glsl_infer.bundle import write
from glsl_infer.cli import main
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import InputError
from glsl_infer.graph import Node
from glsl_infer.runtime import images
from glsl_infer.runtime.pictures.preprocess import open_image
from glsl_infer.runtime.session import Session
from glsl_infer.tools.aibench import bundles, degraded_input, largest_image, memory_need, phones, tests, timing


def folder_of_tiny(folder: Path) -> Path:
    """Write tiny classifiers under the names of the quick run's networks."""
    for test in tests.chosen(None, quick=True):
        assert test.quick is not None
        width, height = test.quick
        path = folder / f"{test.network}-{width}x{height}.glslnn"
        rng = np.random.default_rng(0)
        picture = Node("image", "input", (), {"shape": (height, width, 3)})
        graph = classifier(rng, [picture, conv_node(rng, "c", ("image",), 3, 4)], 4)
        write(build(graph, ["a", "b", "c"], options=Options(), calibration=[])[0], path)
    return folder


def test_every_test_is_a_row_and_a_failed_one_has_its_reason(tmp_path: Path, capsys: Capture) -> None:
    installed("matplotlib")
    folder = folder_of_tiny(tmp_path)
    (folder / "dped-48x32.glslnn").write_bytes(b"no bundle")
    assert main(["aibench", "--quick", "--json", "--models", str(folder), "--plot", str(folder / "p.png")]) == 0
    result = json.loads(capsys.readouterr().out)
    rows = {row["test"]: row for row in result["tests"]}
    assert list(rows) == [1, 4, 5, 8, 9] and result["score"] is None
    assert all(rows[test]["ms"] > 0 and rows[test]["pictures"] == 4 for test in (1, 4, 5))
    assert "dped-48x32.glslnn" in rows[8]["failed"]
    assert "vector" in rows[9]["failed"], "a classifier makes no picture"
    with Image.open(folder / "p.png") as picture:
        assert picture.size[0] > 500


def test_a_bundle_of_another_network_is_a_failed_row(tmp_path: Path, capsys: Capture) -> None:
    folder = folder_of_tiny(tmp_path)
    (folder / "dped-48x32.glslnn").write_bytes((folder / "mobilenet-v1-64x64.glslnn").read_bytes())
    assert main(["aibench", "--quick", "--only", "8", "--json", "--models", str(folder)]) == 1
    (row,) = json.loads(capsys.readouterr().out)["tests"]
    assert "dped-48x32.glslnn reads 64x64, and the test's images have 48x32: another network" in row["failed"]


def test_invalid_options_are_refused(tmp_path: Path, capsys: Capture) -> None:
    assert "--only 10" in refused(capsys, ["aibench", "--only", "4,10"])
    assert "--only nothing; choose of 1, 2" in refused(capsys, ["aibench", "--only", ""])
    assert "choose of 1, 4, 5, 8, 9" in refused(capsys, ["aibench", "--quick", "--only", "2"])
    assert "--memory 0" in refused(capsys, ["aibench", "--memory", "0"])
    installed("tensorflow")
    message = refused(capsys, ["aibench", "--only", "4", "--models", "/proc/none/here"])
    assert "/proc/none/here: no network can be built there (No such file or directory); give --models" in message
    assert "not a folder" in refused(capsys, ["aibench", "--models", write_tiny(tmp_path)])


def test_missing_networks_are_reported_once(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "_can_build", lambda: False)
    message = refused(capsys, ["aibench", "--quick", "--only", "4,8,9", "--models", str(tmp_path)])
    assert f"{tmp_path} has no srcnn-48x48.glslnn or dped-48x32.glslnn; to build it" in message
    (folder_of_tiny(tmp_path) / "dped-48x32.glslnn").unlink()
    assert main(["aibench", "--quick", "--only", "4,8", "--json", "--models", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)["tests"]
    assert "ms" in rows[0] and "no such file; to build it" in rows[1]["failed"]


def test_a_network_that_exceeds_memory_is_not_started(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of_tiny(tmp_path)
    path = folder / "srcnn-48x48.glslnn"
    with zipfile.ZipFile(path) as archive:
        members = sum(member.file_size for member in archive.infolist())
    assert members < memory_need.needed(path) < 100 * members
    assert memory_need.needed(tmp_path / "none.glslnn") == 0
    monkeypatch.setattr(memory_need, "available", lambda: 1000)
    assert main(["aibench", "--quick", "--only", "4", "--json", "--models", str(folder)]) == 1
    (row,) = json.loads(capsys.readouterr().out)["tests"]
    assert "it takes at least" in row["failed"]


def test_a_pixel_2_has_its_score() -> None:
    reference = {test.number: test.reference for test in tests.TESTS}
    assert phones.score_of(reference) == pytest.approx(1293.0)
    assert phones.score_of({4: 584.0}) == pytest.approx(2 * 1293.0 / 9)
    assert phones.score_of({9: 8.0}) == pytest.approx(2 * 1293.0 / 9)


def test_a_result_is_a_row_among_the_phones() -> None:
    (pixel,) = (row for row in phones.read() if row["phone"] == "Google Pixel 2")
    assert {test.number: test.reference for test in tests.TESTS} == {
        test.number: float(pixel[str(test.number)]) for test in tests.TESTS
    }
    assert float(pixel["score"]) == float(pixel["paper"]) == phones.PIXEL_2
    rows = [{"test": 1, "ms": 71.6}, {"test": 2, "failed": "no memory"}, {"test": 9, "megapixels": 0.25}]
    heads, *lines = (line.split() for line in phones.table("mine", rows, 99.6, phones.read()))
    assert heads == ["phone", *"123456789", "score", "paper"]
    assert lines[0][:3] == ["Huawei", "P20", "Pro"] and lines[0][-1] == "6519"
    assert lines[-1] == ["mine", "72", "-", "-", "-", "-", "-", "-", "-", "0.25", "100", "-"]
    assert phones.table("mine", rows, None, phones.read())[1].startswith("mine")


def test_other_devices_are_rows_of_the_table(tmp_path: Path) -> None:
    file = tmp_path / "others.csv"
    file.write_text(
        "phone,1,2,3,4,5,6,7,8,9,score\nslow,900,-,-,-,-,-,-,-,-,50\nfast,1,2,3,4,5,6,7,8,9.5,2000\n", "utf-8"
    )
    table = phones.table("mine", [{"test": 1, "ms": 71.6}], 99.6, phones.read(file))
    names = [line.split()[0] for line in table]
    assert names[:2] == ["phone", "Huawei"] and names[-2:] == ["mine", "slow"]
    assert 2 < names.index("fast") < 6 and len(names) == 1 + 30 + 3


def test_the_formula_and_the_scores_of_the_paper() -> None:
    """The formula reproduces the paper's scores approximately, because the paper does not print its weights."""
    deviations = {row["phone"]: float(row["score"]) / float(row["paper"]) - 1.0 for row in phones.published()}
    assert len(deviations) == 30 and deviations["Google Pixel 2"] == 0.0
    sizes = sorted(map(abs, deviations.values()))
    assert (
        0.2 < sizes[15] < 0.25
        and sizes[-1] == deviations["Huawei Ascend P1"] < 0.54
        and min(deviations.values()) > -0.25
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line is wrong; it must be phone,1,2,3,4,5,6,7,8,9,score"),
        ("phone,1\n", "the first line is wrong; it must be"),
        ("phone,1,2,3,4,5,6,7,8,9,score\na,1\nb,1,2,3,x,5,6,nan,8,9,-\n", "line 2: 2 cells, not 11"),
        ("phone,1,2,3,4,5,6,7,8,9,score\na,1\nb,1,2,3,x,5,6,nan,8,9,-\n", "line 3: no number: 'x', 'nan', '-'"),
    ],
)
def test_a_file_of_other_devices_is_checked(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "others.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError) as refusal:
        phones.read(file)
    assert message in str(refusal.value) and str(file) in str(refusal.value)


def test_unreadable_device_lists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        phones.read(tmp_path / "none.csv")
    (tmp_path / "picture.csv").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(InputError, match="not a CSV file in UTF-8"):
        phones.read(tmp_path / "picture.csv")


def test_the_first_two_pictures_do_not_count() -> None:
    assert timing.mean_of([9.0, 7.0, 1.0, 3.0]) == 2.0
    assert timing.mean_of([9.0, 7.0]) == 7.0
    assert timing.mean_of([9.0]) == 9.0


@pytest.mark.exhaustive
def test_a_missing_network_is_built_and_run(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network is built by Keras and exported in child processes, and both tests use it."""
    installed("tensorflow")
    monkeypatch.setattr(largest_image, "MEGAPIXELS", (0.01, 0.25))  # only the first is in a quick run
    monkeypatch.setenv("GLSL_INFER_CACHE", str(tmp_path / "programs"))
    assert main(["aibench", "--quick", "--only", "4,9", "--json", "--models", str(tmp_path)]) == 0
    result = json.loads(capsys.readouterr().out)
    rows, machine = result["tests"], result["machine"]
    assert rows[0]["ms"] > 0 and rows[0]["width"] == 48
    assert main(["aibench", "--quick", "--only", "4", "--models", str(tmp_path)]) == 0
    compiled = int(capsys.readouterr().out.split(" programs compiled")[0].split()[-3])
    assert compiled in (0, rows[0]["compiled"]), "a driver gives all programs away or none"
    if "llvmpipe" in machine["renderer"]:
        assert compiled == 0 < rows[0]["compiled"], "a second run compiles nothing"
    with Image.open(tmp_path / "srcnn-48x48.png") as begun:
        assert begun.size == (48, 48)
    assert rows[1]["megapixels"] == 0.01
    (bundle,) = tmp_path.glob("*.glslnn")
    with Session(bundle) as session:
        assert session.bundle.manifest.input.fit == "center-crop/area-average", "no picture is distorted"
        few = largest_image.largest(session, 100_000, 60.0, print, (0.005, 0.01, 4.0))
        assert few.megapixels == 0.01 and "MB" in few.why
        monkeypatch.setattr(largest_image, "available", lambda: 100_000)
        few = largest_image.largest(session, 1 << 30, 60.0, print, (0.005, 0.01, 4.0))
        assert few.megapixels == 0.005 and few.why.endswith("0 are free")
        assert images.overlap_of(session.bundle) == (8, 1), "SRCNN's windows of 9, 5 and 5 pixels"
        picture = largest_image._picture(400)
        tracemalloc.start()
        images.run_whole(session, picture, watch=lambda tiles, _: tiles)
        _, peak_memory = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak_memory < 1.7 * picture.nbytes, "the picture is copied"
        photograph = np.asarray(Image.open(Path(__file__).parents[2] / "docs/images/example.jpg").resize((80, 60)))
        seams = [run_whole(session, photograph, overlap) for overlap in (None, 12)]
    assert np.array_equal(*seams), "with 8 or more no seam shows"


def run_whole(session: Session, picture: np.ndarray, overlap: int | None) -> np.ndarray:
    return images.run_whole(session, picture, overlap=overlap)


def test_ranges_are_learnt_from_photographs_as_the_network_reads_them(tmp_path: Path) -> None:
    (icnet,) = tests.chosen("7", quick=False)
    items = sorted(degraded_input.typical(icnet, tmp_path).iterdir())
    assert [path.stem for path in items] == sorted(path.stem for path in degraded_input.PICTURES.glob("*.jpg"))
    assert {open_image(path).size for path in items} == {(576, 384)}


@pytest.mark.parametrize(("number", "quantised"), [("1", True), ("8", False)])
def test_only_the_quantised_network_has_8_bits_throughout(number: str, quantised: bool, tmp_path: Path) -> None:
    (test,) = tests.chosen(number, quick=False)
    command = bundles.export_command(test, tmp_path / "a.keras", tmp_path / "a.glslnn", tmp_path)
    assert (" --precision 8" in " ".join(map(str, command))) == quantised

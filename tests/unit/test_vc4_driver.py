"""Where the vc4 driver is looked for, what its process sees, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny import tiny_bundle

from glsl_infer.errors import InputError
from glsl_infer.tools.videocore import driver
from glsl_infer.tools.videocore.driver import FILES, SHIM, Driver, find
from glsl_infer.tools.videocore.verify import verify


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any driver."""
    for name in ("VC4_PREFIX", "VC4_RUN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(driver, "_PACKAGE_ROOT", tmp_path / "checkout")


def put(folder: Path) -> Path:
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_without_one_it_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        find()
    message = str(caught.value)
    for words in (
        "no VideoCore IV driver on this machine",
        "scripts/vc4/build.sh",
        str(tmp_path / "cache"),
        "--driver DIR",
    ):
        assert words in message
    (tmp_path / "checkout/scripts/vc4").mkdir(parents=True)
    (tmp_path / "checkout/scripts/vc4/build.sh").touch()
    with pytest.raises(InputError, match=str(tmp_path / "checkout/scripts/vc4/build.sh")):
        find()


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(InputError, match=r"no VideoCore IV driver on this machine.*--driver DIR"):
        find()
    beside = put(tmp_path / "shared/vc4/prefix")
    assert find().prefix == beside


def test_the_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(put(tmp_path / "given")).origin == "--driver"
    beside = put(tmp_path / "shared/vc4/prefix")
    assert find().prefix == beside
    built = put(tmp_path / "cache/glsl-infer/vc4/prefix")
    assert find().prefix == built
    run = put(tmp_path / "elsewhere/prefix")
    monkeypatch.setenv("VC4_RUN", str(tmp_path / "elsewhere/run"))
    assert find().prefix == run
    prefix = put(tmp_path / "prefix")
    monkeypatch.setenv("VC4_PREFIX", str(prefix))
    assert find().prefix == prefix
    assert find(tmp_path / "given").prefix == tmp_path / "given"


@pytest.mark.parametrize("name", ["VC4_PREFIX", "VC4_RUN"])
def test_a_named_place_without_one_is_no_reason_to_take_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    put(tmp_path / "cache/glsl-infer/vc4/prefix")
    monkeypatch.setenv(name, str(tmp_path / "nowhere/run"))
    with pytest.raises(InputError, match=rf"nowhere.*: no VideoCore IV driver there \({name}\)"):
        find()


def test_one_that_is_not_complete_is_none(tmp_path: Path) -> None:
    (put(tmp_path / "given") / SHIM).unlink()
    with pytest.raises(InputError, match="no VideoCore IV driver there"):
        find(tmp_path / "given")


def test_its_process_sees_no_other_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GALLIUM_DRIVER", "llvmpipe")
    monkeypatch.setenv("LIBGL_ALWAYS_SOFTWARE", "1")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/somewhere")
    environment = Driver(tmp_path, "test").environment()
    assert "GALLIUM_DRIVER" not in environment and "LIBGL_ALWAYS_SOFTWARE" not in environment
    assert environment["LD_LIBRARY_PATH"] == f"{tmp_path}/lib:/somewhere"
    assert environment["LD_PRELOAD"].startswith(str(tmp_path / SHIM))
    assert environment["VC4_DEBUG"] == "shaderdb"
    assert Driver(tmp_path, "test").environment(disassembly=True)["VC4_DEBUG"] == "shaderdb,qpu"


def test_without_one_export_says_that_nothing_is_verified() -> None:
    made = tiny_bundle()
    found = verify(made, 60.0)
    assert "no VideoCore IV driver on this machine" in found.note and found.driver == "" and found.warnings == ()
    assert [check.layer for check in found.layers] == list(dict.fromkeys(one.layer for one in made.manifest.passes))
    assert not any(check.verified or check.threads for check in found.layers)

"""The vc4 driver: searched folders, the environment of its process, and the message if it is missing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tiny import tiny_bundle

from glsl_infer.errors import InputError
from glsl_infer.tools.videocore import driver
from glsl_infer.tools.videocore.driver import FILES, GALLIUM, SHIM, Driver, find, find_all
from glsl_infer.tools.videocore.verify import verify


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Provide a machine without any driver."""
    for name in ("VC4_PREFIX", "VC4_RUN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(driver, "_PACKAGE_ROOT", tmp_path / "checkout")


def put(folder: Path, version: str = "22.3.6") -> Path:
    """Create a driver's folder of files that are empty except for a version."""
    newer = not version.startswith("22.")
    for name in FILES:
        if name != GALLIUM[0] or not newer:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
    if newer:
        (folder / f"lib/libgallium-{version}.so").touch()
    else:
        (folder / GALLIUM[0]).write_bytes(b"\0%s%u.%u%s Mesa " + version.encode() + b"\0")
    return folder


def test_a_missing_driver_is_reported_with_the_command(tmp_path: Path) -> None:
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
    with pytest.raises(InputError, match="--driver"):
        find()
    shared = put(tmp_path / "shared/vc4/prefix")
    assert find().prefix == shared


def test_the_driver_is_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(put(tmp_path / "given")).origin == "--driver"
    shared = put(tmp_path / "shared/vc4/prefix")
    assert find().prefix == shared
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
def test_a_variable_that_names_a_folder_without_a_driver_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    put(tmp_path / "cache/glsl-infer/vc4/prefix")
    monkeypatch.setenv(name, str(tmp_path / "nowhere/run"))
    with pytest.raises(InputError, match=rf"nowhere.*: no VideoCore IV driver there \({name}\)"):
        find()


def test_an_incomplete_driver_is_not_found(tmp_path: Path) -> None:
    (put(tmp_path / "given") / SHIM).unlink()
    with pytest.raises(InputError, match="no VideoCore IV driver there"):
        find(tmp_path / "given")


def test_every_version_of_mesa_is_found(tmp_path: Path) -> None:
    old = put(tmp_path / "shared/vc4/prefix")
    assert [(driver.version, driver.mesa) for driver in find_all()] == [("22.3.6", "22")]
    new = put(tmp_path / "cache/glsl-infer/vc4/prefix-25", "25.0.7")
    put(tmp_path / "shared/vc4/prefix-25", "25.0.1")
    assert [(driver.version, driver.prefix) for driver in find_all()] == [("22.3.6", old), ("25.0.7", new)]
    assert find().prefix == find(mesa="22").prefix == old
    assert find(mesa="25").prefix == new
    assert [driver.prefix for driver in find_all(new)] == [new]
    folder = put(tmp_path / "given/prefix-25", "25.0.7").parent
    assert [driver.version for driver in find_all(folder)] == ["25.0.7"]


def test_a_missing_version_of_mesa_is_reported_with_the_command(tmp_path: Path) -> None:
    folder = put(tmp_path / "given", "25.0.7")
    with pytest.raises(InputError) as caught:
        find(folder, "22")
    assert f"no VideoCore IV driver of Mesa 22 (25.0.7 in {folder})" in str(caught.value)
    assert "build.sh of a checkout of glsl-infer --suite bookworm" in str(caught.value)


def test_development_libraries_of_the_system_are_not_used(tmp_path: Path) -> None:
    """PyOpenGL loads libEGL.so first, so links to the driver come before its folder, which can be read-only."""
    prefix = put(tmp_path / "given")
    links, folder, *_ = Driver(prefix, "test").environment()["LD_LIBRARY_PATH"].split(":")
    assert folder == str(prefix / "lib")
    for name, target in (("libEGL.so", "libEGL.so.1"), ("libGLESv2.so", "libGLESv2.so.2")):
        assert (Path(links) / name).resolve() == prefix / "lib" / target
        assert not (prefix / "lib" / name).exists()
        (prefix / "lib" / name).symlink_to(target)
    assert Driver(prefix, "test").environment()["LD_LIBRARY_PATH"].split(":")[0] == folder


def test_links_of_a_user_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    links = Driver(put(tmp_path / "given"), "test").environment()["LD_LIBRARY_PATH"].split(":")[0]
    assert Path(links).parent == tmp_path and (Path(links) / "libEGL.so").is_symlink()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--suite", "sid"], "choose bookworm or trixie"),
        (["--suite"], "choose bookworm"),
        (["--all"], "unknown option"),
    ],
)
def test_build_refuses_unknown_arguments(words: list[str], message: str) -> None:
    script = Path(__file__).resolve().parents[2] / "scripts/vc4/build.sh"
    done = subprocess.run([script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and message in done.stderr


def test_the_environment_selects_no_other_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GALLIUM_DRIVER", "llvmpipe")
    monkeypatch.setenv("LIBGL_ALWAYS_SOFTWARE", "1")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/somewhere")
    monkeypatch.setenv("API_TOKEN", "secret")
    environment = Driver(tmp_path, "test").environment()
    assert "API_TOKEN" not in environment
    assert "GALLIUM_DRIVER" not in environment and "LIBGL_ALWAYS_SOFTWARE" not in environment
    assert environment["LD_LIBRARY_PATH"] == f"{tmp_path}/lib:/somewhere"
    assert environment["LD_PRELOAD"].startswith(str(tmp_path / SHIM))
    assert environment["VC4_DEBUG"] == "shaderdb"
    assert Driver(tmp_path, "test").environment(disassembly=True)["VC4_DEBUG"] == "shaderdb,qpu"


def test_export_without_a_driver_verifies_no_layer() -> None:
    bundle = tiny_bundle()
    verification = verify(bundle, 60.0)
    assert (
        "no VideoCore IV driver on this machine" in verification.note
        and verification.driver == ""
        and verification.warnings == ()
    )
    assert [check.layer for check in verification.layers] == list(
        dict.fromkeys(draw.layer for draw in bundle.manifest.passes)
    )
    assert not any(check.verified or check.threads for check in verification.layers)

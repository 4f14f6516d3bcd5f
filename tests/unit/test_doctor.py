"""glsl-infer doctor on copies of boards' files: it finds every kind of problem, and its command fixes it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from board_files import (
    BOOKWORM,
    CONFIG,
    GROUP,
    LLVMPIPE,
    PC,
    PI,
    PI_3_B_PLUS,
    VC4,
    ZERO_W,
    driver,
    machine,
    meminfo,
    pi_3_b_plus,
    zero_w,
)

from glsl_infer.tools.doctor import CHECKS, Finding, Machine, Status, User, config_txt, packages, run_check, verdict

pytestmark = pytest.mark.slow

CONFIG_TXT = "boot/firmware/config.txt"
WITHOUT_OVERLAY = CONFIG.replace("dtoverlay=vc4-kms-v3d", "#dtoverlay=vc4-kms-v3d")
NO_GPU = {"dev/dri/renderD128": None, "dev/dri/card0": None}
CSI = {"sys/class/video4linux/video0/name": "unicam-image\n", "dev/video0": ""}
USB = {
    "sys/class/video4linux/video0/name": "HD Webcam C270\n",
    "sys/class/video4linux/video0/device/uevent": "DRIVER=uvcvideo\n",
}
PICAMERA2 = {"usr/lib/python3/dist-packages/picamera2": ""}
NO_CONTEXT = {
    "context": None,
    "contexts": {
        "surfaceless": {
            "works": False,
            "reason": "the library libEGL is not installed",
            "advice": "on Debian, Ubuntu or Raspberry Pi OS: sudo apt install libegl1 libgles2 libgl1-mesa-dri",
        }
    },
}


PROBLEM, WARNING = Status.PROBLEM, Status.WARNING
NO_CONFIG_NO_GPU = {CONFIG_TXT: None, **NO_GPU}
SWAPLESS = {"proc/meminfo": meminfo(430, 20, swap=0)}
SMALL_CMA = {"proc/meminfo": meminfo(430, 290, cma=16), "proc/cmdline": "console=tty1 cma=16M rootwait\n"}
LOW_VOLTAGE = {"sys/class/hwmon/hwmon1/name": "rpi_volt\n", "sys/class/hwmon/hwmon1/in0_lcrit_alarm": "1\n"}
THROTTLED = {"usr/bin/vcgencmd": None, "sys/devices/platform/soc/soc:firmware/get_throttled": "10000\n"}
NO_LIBRARIES = {**dict.fromkeys(name for name in ZERO_W if name.startswith("usr/lib/")), "driver": NO_CONTEXT}
NO_DETECTION = {CONFIG_TXT: CONFIG.replace("detect=1", "detect=0")}
NO_MESA = {"usr/lib/arm-linux-gnueabihf/dri/vc4_dri.so": None, "driver": LLVMPIPE}
USER_WITHOUT_GROUPS, IN_VIDEO = User("pi", frozenset()), User("pi", frozenset({"video"}))
SOFTWARE_RENDERING = {"environ": {"LIBGL_ALWAYS_SOFTWARE": "1"}}
NOT_IN_VIDEO = {"etc/group": GROUP.replace("44:pi", "44:"), "user": User("pi", frozenset({"render"}))}
OLD_MESA = driver("VC4 V3D 2.1", "OpenGL ES 2.0 Mesa 22.3.6")


def finding_of(machine: Machine, name: str) -> Finding:
    finding = run_check(name, machine)
    assert finding is not None
    return finding


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLSL_INFER_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("board", [zero_w, pi_3_b_plus])
def test_a_healthy_board_has_no_problems(board: Any, tmp_path: Path) -> None:
    findings = [finding for name in CHECKS if (finding := run_check(name, board(tmp_path)))]
    assert [finding.message for finding in findings if finding.status is not Status.OK] == []
    assert [finding.name for finding in findings] == [name for name in CHECKS if name != "layers"]
    assert verdict(findings) == "no problems found"


def test_cpu_model_has_a_fallback(tmp_path: Path) -> None:
    assert zero_w(tmp_path).cpu_model() == "Raspberry Pi Zero W Rev 1.1, ARMv6-compatible processor rev 7 (v6l)"
    assert Machine(tmp_path / "empty").cpu_model()


def test_a_pc_has_no_checks_of_a_board(tmp_path: Path) -> None:
    pc = machine(tmp_path, PC, driver=LLVMPIPE)
    findings = [finding for name in CHECKS if (finding := run_check(name, pc))]
    assert {"config.txt", "groups", "GPU memory", "camera", "power"}.isdisjoint(finding.name for finding in findings)
    assert "the CPU draws" in finding_of(pc, "driver").message
    assert finding_of(pc, "driver").status is Status.OK


def vcgencmd_printing(text: str, code: int = 0) -> dict[str, str]:
    """Return the program that queries the firmware, with its answer."""
    return {"usr/bin/vcgencmd": f"#!/bin/sh\necho '{text}'\nexit {code}\n"}


def cameras(text: str) -> dict[str, str]:
    """Return a camera on the ribbon cable, with picamera2 and its list of cameras."""
    return {**CSI, **PICAMERA2, "usr/bin/rpicam-hello": f"#!/bin/sh\necho '{text}'\n"}


@pytest.mark.parametrize(
    ("status", "check", "board", "words", "fix"),
    [
        (WARNING, "system", {"etc/os-release": BOOKWORM.replace("12", "11")}, "older than", "Imager"),
        (WARNING, "power", vcgencmd_printing("throttled=0x50005"), "voltage is too low", "power"),
        (WARNING, "power", vcgencmd_printing("throttled=0x80008"), "too hot", "heat sink"),
        (WARNING, "power", THROTTLED, "earlier since the start: the supply voltage is too low", "power supply"),
        (WARNING, "power", {**vcgencmd_printing("", 255), **LOW_VOLTAGE}, "voltage is too low", "power supply"),
        (PROBLEM, "memory", SWAPLESS, "are needed", "zram-tools"),
        (PROBLEM, "memory", {**SWAPLESS, "usr/sbin/dphys-swapfile": ""}, "are needed", "dphys-swapfile swapon"),
        (WARNING, "memory", {"proc/meminfo": meminfo(430, 50)}, "swaps", "ps -eo"),
        (PROBLEM, "GPU memory", {"proc/meminfo": meminfo(430, 290, cma=8)}, "the GPU needs", "cma-64"),
        (WARNING, "GPU memory", SMALL_CMA, "the GPU needs", "cmdline.txt"),
        (WARNING, "GPU memory", {CONFIG_TXT: CONFIG + "gpu_mem=256\n"}, "gpu_mem=256", "sed"),
        (PROBLEM, "config.txt", {CONFIG_TXT: WITHOUT_OVERLAY, **NO_GPU}, "no line dtoverlay", "tee"),
        (PROBLEM, "config.txt", {**NO_CONFIG_NO_GPU, "boot/config.txt": WITHOUT_OVERLAY}, "/boot/config.txt", "tee"),
        (PROBLEM, "config.txt", {**NO_CONFIG_NO_GPU, "boot/config.txt": None}, "is missing", "tee"),
        (PROBLEM, "config.txt", NO_GPU, "no /dev/dri/renderD*", "sudo reboot"),
        (WARNING, "config.txt", {CONFIG_TXT: CONFIG.replace("vc4-kms", "vc4-fkms")}, "loads vc4-fkms-v3d", "sed"),
        (
            PROBLEM,
            "groups",
            {"etc/group": GROUP.replace("pi", ""), "user": USER_WITHOUT_GROUPS},
            "render",
            "usermod -aG video,render",
        ),
        (PROBLEM, "groups", {"user": USER_WITHOUT_GROUPS}, "login began before", "log out"),
        (WARNING, "groups", NOT_IN_VIDEO, "the camera", "video"),
        (PROBLEM, "driver", {**SOFTWARE_RENDERING, "driver": LLVMPIPE}, "CPU draws", "unset LIBGL_ALWAYS_SOFTWARE"),
        (PROBLEM, "driver", {"driver": LLVMPIPE, "user": IN_VIDEO}, "closed to this user", "groups"),
        (PROBLEM, "driver", {**NO_GPU, "driver": LLVMPIPE}, "no /dev/dri/renderD*", "config.txt"),
        (PROBLEM, "driver", NO_MESA, "Mesa's drivers are not installed", "apt install --reinstall libgl1-mesa-dri"),
        (PROBLEM, "driver", {"driver": LLVMPIPE}, "CPU draws", "EGL_LOG_LEVEL=debug"),
        (PROBLEM, "driver", {"driver": NO_CONTEXT}, "libEGL is not installed", "see libraries"),
        (PROBLEM, "driver", {"driver": {"failed": "ended by signal 11: "}}, "signal 11", "--reinstall libgl1-mesa-dri"),
        (PROBLEM, "driver", {"driver": {"failed": "no Python package numpy"}}, "numpy", "info --debug"),
        (PROBLEM, "libraries", {"usr/lib/arm-linux-gnueabihf/libEGL.so.1": None}, "libEGL.so.1", "apt install libegl1"),
        (PROBLEM, "libraries", NO_LIBRARIES, "Mesa's drivers", "apt install libegl1 libgles2 libgl1-mesa-dri"),
        (WARNING, "mesa", {"driver": OLD_MESA}, "queued", "full-upgrade"),
        (PROBLEM, "camera", CSI, "picamera2", "sudo apt install python3-picamera2"),
        (PROBLEM, "camera", {CONFIG_TXT: CONFIG + "start_x=1\n", **PICAMERA2}, "start_x=1", "camera_auto_detect=1"),
        (WARNING, "camera", cameras("No cameras available!"), "lists none", "ribbon"),
        (WARNING, "camera", USB, "/dev/video0", "python3-av"),
        (WARNING, "camera", NO_DETECTION, "does not look", "camera_auto_detect=1"),
    ],
)
def test_each_problem_has_its_fix(
    status: Status, check: str, board: dict[str, Any], words: str, fix: str, tmp_path: Path
) -> None:
    """``board`` has changed files by their paths, and arguments of ``Machine`` by their names."""
    options = {name: board[name] for name in ("user", "environ", "driver") if name in board}
    files = {name: text for name, text in board.items() if name not in options}
    finding = finding_of(zero_w(tmp_path, files, **options), check)
    assert finding.status is status, finding
    assert words in finding.message
    assert any(fix in proposal for proposal in finding.fixes), finding.fixes


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (cameras("0 : imx219 [3280x2464 10-bit RGGB]"), "imx219"),
        ({**CSI, **PICAMERA2}, "attached"),
        ({**USB, "usr/lib/python3/dist-packages/av": ""}, "--source /dev/video0"),
        ({CONFIG_TXT: NO_DETECTION[CONFIG_TXT] + "dtoverlay=imx708,cam0\n"}, "no camera"),
    ],
)
def test_a_working_camera_is_ok(files: dict[str, str | None], words: str, tmp_path: Path) -> None:
    finding = finding_of(zero_w(tmp_path, files), "camera")
    assert finding.status is Status.OK
    assert words in finding.message


@pytest.mark.parametrize(
    ("text", "overlay"),
    [
        ("[pi4]\ndtoverlay=vc4-kms-v3d\n", None),
        ("[pi4]\n[all]\ndtoverlay=vc4-kms-v3d,cma-64\n", "vc4-kms-v3d,cma-64"),
        ("[PI0W]\ndtoverlay=vc4-kms-v3d\n", "vc4-kms-v3d"),
        ("[pi02]\ndtoverlay=vc4-kms-v3d\n", None),
        ("[none]\n[pi0]\ndtoverlay=vc4-kms-v3d\n", None),
        ("[EDID=VSC-TD2220]\n  dtoverlay=vc4-kms-v3d  \r\n", "vc4-kms-v3d"),
        ("# dtoverlay=vc4-kms-v3d\ndtoverlay=vc4-kms-dsi-7inch\n", None),
        (f"#{'x' * 200}\ndtparam={'x' * 98}dtoverlay=vc4-kms-v3d\n", None),
        ("include more.txt\n", "vc4-fkms-v3d"),
        ("include config.txt\n", None),
        ("", None),
    ],
)
def test_conditions_of_config_txt(text: str, overlay: str | None, tmp_path: Path) -> None:
    files = {CONFIG_TXT: text, "boot/firmware/more.txt": "[pi0]\ndtoverlay=vc4-fkms-v3d\n"}
    assert config_txt.read(zero_w(tmp_path, files)).graphics == overlay


@pytest.mark.parametrize(
    ("board", "filters"),
    [
        ("Raspberry Pi Zero 2 W Rev 1.0", {"pi0", "pi0w", "pi02"}),
        ("Raspberry Pi Zero Rev 1.3", {"pi0"}),
        ("Raspberry Pi Model B Plus Rev 1.2", {"pi1"}),
        ("Raspberry Pi 2 Model B Rev 1.1", {"pi2"}),
        ("Raspberry Pi 3 Model A Plus Rev 1.0", {"pi3", "pi3+"}),
        ("Raspberry Pi Compute Module Rev 1.0", {"pi1", "cm1"}),
        ("Raspberry Pi Compute Module 3 Plus Rev 1.0", {"pi3", "cm3", "cm3+"}),
        ("Raspberry Pi Compute Module 4S Rev 1.0", {"pi4", "cm4s"}),
        ("Raspberry Pi 400 Rev 1.0", {"pi4", "pi400"}),
        ("Raspberry Pi 5 Model B Rev 1.0", {"pi5"}),
        ("Raspberry Pi 9 Something Rev 1.0", set()),
    ],
)
def test_conditions_of_boards(board: str, filters: set[str]) -> None:
    assert config_txt.model_filters(board) == filters


def run_first_fix(machine: Machine, finding: Finding, folder: Path) -> None:
    """Run the first command of a finding on the board's folder. sudo runs its arguments, and reboot does nothing."""
    programs = folder / "programs"
    programs.mkdir()
    for name, text in {"sudo": 'exec "$@"', "reboot": "exit 0"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    command = finding.fixes[0].replace("/boot/", f"{machine.root}/boot/")
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-ec", command], check=True, env=environment, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("text", "check"),
    [
        (WITHOUT_OVERLAY, "config.txt"),
        (WITHOUT_OVERLAY + "[pi4]\ndtoverlay=vc4-kms-v3d\n", "config.txt"),
        (CONFIG.replace("vc4-kms-v3d", "vc4-fkms-v3d,cma-128"), "config.txt"),
        (CONFIG + "gpu_mem=256\n", "GPU memory"),
        (CONFIG + "start_x=1\n", "camera"),
        (CONFIG.replace("camera_auto_detect=1", "camera_auto_detect=0"), "camera"),
    ],
)
def test_the_fix_solves_the_problem(text: str, check: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    gpu = NO_GPU if "fkms" not in text and check == "config.txt" else {}
    before = finding_of(zero_w(root, {CONFIG_TXT: text, **gpu}), check)
    assert before.status is not Status.OK
    run_first_fix(zero_w(root, {CONFIG_TXT: text, **gpu}), before, tmp_path)
    (root / "dev/dri/renderD128").parent.mkdir(parents=True, exist_ok=True)
    (root / "dev/dri/renderD128").touch()
    after = finding_of(Machine(root, user=PI, environ={}, driver=VC4), check)
    assert after.status is Status.OK, after
    assert config_txt.read(Machine(root)).graphics == "vc4-kms-v3d"


def test_the_fix_shows_packages_of_apt_to_the_environment(tmp_path: Path) -> None:
    settings = tmp_path / "venv/pyvenv.cfg"
    settings.parent.mkdir()
    settings.write_text("home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\n")
    board = zero_w(tmp_path / "root", {**CSI, **PICAMERA2}, prefix=settings.parent)
    finding = finding_of(board, "camera")
    assert finding.status is Status.PROBLEM
    (command,) = finding.fixes
    subprocess.run(["sh", "-ec", command], check=True, env={**os.environ, "HOME": str(Path.home())})
    assert packages.sees_system_packages(board)
    assert finding_of(board, "camera").status is Status.OK
    pc = machine(tmp_path / "pc", PC, prefix=settings.parent)
    settings.write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    (command,) = packages.install(pc, "numpy", "python3-numpy", "NumPy")
    assert command.endswith("venv/bin/python -m pip install NumPy")


@pytest.mark.parametrize(
    ("module", "text", "words"),
    [
        ("numpy", "import os; os.kill(os.getpid(), 4)", "NumPy crashes when it is imported (signal 4)"),
        ("PIL", "raise ImportError('libjpeg.so.62: cannot open')", "Pillow cannot be imported (libjpeg"),
        ("OpenGL", "import no_such_module", "PyOpenGL cannot be imported (No module named 'no_such_module')"),
    ],
)
def test_packages_that_cannot_be_imported(
    module: str, text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    finding = finding_of(zero_w(tmp_path / "root"), "python")
    assert finding.status is Status.PROBLEM
    assert finding.message.startswith(words)
    assert list(finding.figures["broken"]) == [module]
    assert len([name for name in finding.figures["packages"] if name in packages.PACKAGES]) == 2
    assert finding.fixes


@pytest.mark.parametrize("damage", ["missing", "folder", "bytes"])
@pytest.mark.parametrize("board", [ZERO_W, PI_3_B_PLUS], ids=["zero w", "3 B+"])
def test_every_check_survives_missing_and_damaged_files(board: dict[str, str], damage: str, tmp_path: Path) -> None:
    usb, names = {**board, **USB, **CSI, **PICAMERA2}, [name for name in CHECKS if name != "python"]
    root = tmp_path / "all"
    sound = machine(root, usb)
    for name in usb:
        path, contents = root / name, (root / name).read_bytes()
        path.unlink()
        if damage == "folder":
            path.mkdir()
        elif damage == "bytes":
            path.write_bytes(bytes(range(256)))
            path.chmod(0o755)
        damaged = Machine(root, user=sound.user, environ={}, driver=VC4)
        for check in names:
            finding = run_check(check, damaged)
            assert finding is None or "cannot be checked" not in finding.message, (name, check, finding)
        if path.is_dir():
            path.rmdir()
        path.write_bytes(contents)
        path.chmod(0o755)


@pytest.mark.parametrize("answer", [{"failed": "no answer after 300 s"}, NO_CONTEXT, {}])
def test_an_empty_folder_is_checked_to_the_end(answer: dict[str, Any], tmp_path: Path) -> None:
    empty = Machine(tmp_path, user=User("", frozenset()), environ={}, driver=answer, model=tmp_path / "no.glslnn")
    findings = [finding for name in CHECKS if (finding := run_check(name, empty))]
    assert {"driver", "layers"} <= {finding.name for finding in findings}
    assert not [finding for finding in findings if "cannot be checked" in finding.message]
    assert "problem" in verdict(findings)


def test_a_file_that_is_not_a_model_is_a_problem(tmp_path: Path) -> None:
    """Its message has no rule of the format, which helps only maintainers."""
    keras = tmp_path / "mine.keras"
    keras.write_bytes(b"PK")
    finding = finding_of(Machine(tmp_path, environ={}, driver=LLVMPIPE, model=keras), "layers")
    assert finding.status is Status.PROBLEM
    expected = f"{keras}: a Keras model; convert it: glsl-infer export MODEL.keras -o MODEL.glslnn"
    assert finding.message == expected


def test_a_check_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHECKS, "memory", lambda machine: Finding(f"{1 / 0}"))
    finding = finding_of(zero_w(tmp_path), "memory")
    assert finding.status is Status.WARNING
    assert "ZeroDivisionError" in finding.message


@pytest.mark.parametrize("folder", ["file/cache", "off", "link"])
def test_an_unusable_cache_folder_is_reported(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("GLSL_INFER_CACHE", folder if folder == "off" else str(tmp_path / folder))
    finding = finding_of(zero_w(tmp_path / "root"), "cache")
    assert (finding.status is Status.OK) == (folder == "off")
    assert "every start compiles and checks again" in finding.message
    assert str(tmp_path) not in finding.message


def test_doctor_starts_without_numpy() -> None:
    program = "import sys, glsl_infer.cli.doctor, glsl_infer.tools.doctor; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

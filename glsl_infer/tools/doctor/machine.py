"""Description of a machine from its files and commands: board, memory, temperatures, users, devices."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from glsl_infer.support import memory
from glsl_infer.support.child_process import json_answer

_FIRMWARE = {
    "throttled": ("get_throttled",),
    "temperature": ("measure_temp",),
    "clock_v3d": ("measure_clock", "v3d"),
    "clock_arm": ("measure_clock", "arm"),
    "memory_gpu": ("get_mem", "gpu"),
}
"""Arguments of ``vcgencmd``, which queries the firmware of a Raspberry Pi."""

_SECONDS = 5.0
_DRIVER_SECONDS = 300.0

_VIDEOCORE_IV = re.compile(
    r"brcm,bcm(2708|2709|2710|283[567])\b"
    r"|^Raspberry Pi (Zero|[123] Model|Model|Compute Module( 3)?( Plus)? Rev)"
)
"""Part of the compatible entry of a board's device tree, or of its name if that entry is missing."""


@dataclass(frozen=True)
class User:
    """A user of the machine.

    Attributes:
        name: the login name.
        groups: names of the running session's groups; a new membership needs a new login.
        is_root: whether the user can open all files.
    """

    name: str
    groups: frozenset[str]
    is_root: bool = False

    @classmethod
    def current(cls) -> User:
        """Return the user of this process; without groups on systems that have none."""
        try:
            import grp
            import pwd
        except ImportError:  # Windows
            return cls(os.environ.get("USERNAME", ""), frozenset(), True)
        groups, uid = set(), os.geteuid()
        for group_id in {*os.getgroups(), os.getegid()}:
            try:
                groups.add(grp.getgrgid(group_id).gr_name)
            except KeyError:  # a group of the host of a container
                groups.add(str(group_id))
        try:
            name = pwd.getpwuid(uid).pw_name
        except KeyError:
            name = str(uid)
        return cls(name, frozenset(groups), uid == 0)


class Machine:
    """A machine to check. Missing values are an empty string, an empty list or None, never an exception.

    Args:
        root: the folder whose ``proc``, ``sys``, ``etc``, ``usr`` ... are read; ``/`` for this machine.
        user: the user whose rights are checked; by default this process's user.
        environ: environment variables; by default this process's.
        prefix: folder of the Python installation or virtual environment; by default this process's.
        context: method of creating an OpenGL context, as for ``Session``.
        driver: the output of ``glsl-infer info --json``; by default a child process runs it once.
        model: the bundle for the self-check; None omits it.

    Attributes:
        progress: called with a few words during long checks.
    """

    def __init__(
        self,
        root: Path = Path("/"),
        *,
        user: User | None = None,
        environ: Mapping[str, str] | None = None,
        prefix: Path | None = None,
        context: str = "auto",
        driver: Mapping[str, Any] | None = None,
        model: Path | None = None,
    ) -> None:
        self.root, self.context, self.model = root, context, model
        self.user = user or User.current()
        self.environ = os.environ if environ is None else environ
        self.prefix = Path(sys.prefix) if prefix is None else prefix
        self.progress: Callable[[str], object] = lambda words: None
        self._driver = driver

    @property
    def is_this(self) -> bool:
        """True for the running machine, false for a folder with the files of another machine."""
        return self.root == Path("/")

    # Files and commands

    def read(self, path: str) -> str | None:
        """Return the text of a file; None if it cannot be read."""
        try:
            return (self.root / path.lstrip("/")).read_text("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def text(self, path: str) -> str:
        """Return the text of a file without surrounding spaces and NULs; empty if it cannot be read."""
        return (self.read(path) or "").strip("\0 \t\r\n")

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        return os.path.lexists(self.root / path.lstrip("/"))

    def glob(self, pattern: str) -> list[Path]:
        """Return the paths that match a pattern, sorted."""
        try:
            return sorted(self.root.glob(pattern.lstrip("/")))
        except OSError:
            return []

    def command(self, name: str) -> Path | None:
        """Return the path of a program; None if it is not installed."""
        if self.is_this:
            program = shutil.which(name)
            return Path(program) if program else None
        paths = [self.root / folder / name for folder in ("usr/bin", "bin", "usr/local/bin")]
        return next((path for path in paths if path.is_file()), None)

    def ask(self, name: str, *arguments: str, seconds: float = _SECONDS) -> str:
        """Return the output of a command; empty if it is missing, fails or takes too long."""
        command = self.command(name)
        if command is None:
            return ""
        try:
            done = subprocess.run(
                [str(command), *arguments],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds,
                check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return "" if done.returncode else done.stdout.strip()

    # Board and system

    @cached_property
    def board(self) -> str:
        """The name in the device tree, such as "Raspberry Pi Zero W Rev 1.1"; empty on a PC."""
        return self.text("proc/device-tree/model") or self.text("sys/firmware/devicetree/base/model")

    @cached_property
    def _compatible(self) -> str:
        paths = ("proc/device-tree/compatible", "sys/firmware/devicetree/base/compatible")
        return next(filter(None, map(self.text, paths)), "")

    @property
    def has_apt(self) -> bool:
        """True if the system has apt."""
        return self.exists("usr/bin/apt-get")

    @property
    def is_raspberry_pi(self) -> bool:
        """True on a Raspberry Pi."""
        return self.board.startswith("Raspberry Pi") or self._compatible.startswith("raspberrypi,")

    @property
    def is_videocore4(self) -> bool:
        """True on the boards with a VideoCore IV: Pi Zero, Zero W, 1, 2, 3, Zero 2 W."""
        return self.is_raspberry_pi and bool(_VIDEOCORE_IV.search(self._compatible or self.board))

    def cpu_model(self) -> str:
        """Return the name of the board, if it has one, and of the CPU."""
        fields = dict(line.split(":", 1) for line in self.text("proc/cpuinfo").splitlines() if ":" in line)
        names = {key.strip(): value.strip() for key, value in fields.items()}
        model = names.get("model name") or platform.processor() or platform.machine()
        return f"{self.board}, {model}" if self.board else model

    def os_release(self) -> dict[str, str]:
        """Return the fields of /etc/os-release."""
        text = self.text("etc/os-release") or self.text("usr/lib/os-release")
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
        return {key.strip(): value.strip().strip("'\"") for key, _, value in pairs}

    def throttled(self) -> int | None:
        """Return the firmware's bits for low voltage and throttling; None if nothing reports them."""
        for path in self.glob("sys/devices/platform/soc*/soc*:firmware/get_throttled"):
            value = self.text(str(path.relative_to(self.root)))
            if re.fullmatch(r"(0x)?[0-9a-fA-F]{1,8}", value):
                return int(value, 16)
        answer = re.fullmatch(r"throttled=0x([0-9a-fA-F]{1,8})", self.ask("vcgencmd", *_FIRMWARE["throttled"]))
        if answer:
            return int(answer[1], 16)
        for path in self.glob("sys/class/hwmon/hwmon*/in0_lcrit_alarm"):
            folder = path.parent.relative_to(self.root)
            if self.text(f"{folder}/name") == "rpi_volt":
                return int(self.text(f"{folder}/in0_lcrit_alarm") == "1")
        return None

    def state(self) -> dict[str, Any]:
        """Return current temperatures in degrees Celsius, CPU clocks in MHz and the answers of the firmware."""
        answers = {name: self.ask("vcgencmd", *words) for name, words in _FIRMWARE.items()}
        return {
            "temperatures_c": self._temperatures(),
            "cpu_mhz": [
                int(text) / 1000.0
                for path in self.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
                if (text := self.text(str(path.relative_to(self.root)))).isdigit()
            ],
            "vcgencmd": {name: answer for name, answer in answers.items() if answer},
        }

    def _temperatures(self) -> dict[str, float]:
        readings: dict[str, float] = {}
        for zone in self.glob("sys/class/thermal/thermal_zone*"):
            folder = zone.relative_to(self.root)
            sensor, value = self.text(f"{folder}/type"), self.text(f"{folder}/temp")
            if value.lstrip("-").isdigit():
                readings[f"{zone.name} {sensor}".strip()] = int(value) / 1000.0
        return readings

    # Memory

    @cached_property
    def memory(self) -> dict[str, int]:
        """The fields of /proc/meminfo in bytes, such as ``MemAvailable`` and ``CmaTotal``; empty without that file."""
        return memory.meminfo(self.root / "proc/meminfo")

    def memory_total(self) -> int | None:
        """Return the bytes of memory; None if the system does not report them."""
        if not self.is_this:
            return self.memory.get("MemTotal")
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, OSError, ValueError):  # Windows; a system without this value
            return None

    def memory_available(self) -> int | None:
        """Return the bytes a process can allocate without swapping; None if the system does not report them."""
        return memory.available() if self.is_this else self.memory.get("MemAvailable")

    # Rights

    def may_open(self, path: Path, group: str) -> bool:
        """Return whether the user can read and write a device.

        Args:
            path: path of the device.
            group: its group on Debian; it decides for the files of another machine.
        """
        return os.access(path, os.R_OK | os.W_OK) if self.is_this else self.in_group(group)

    def group_of(self, path: Path, default: str) -> str:
        """Return the name of the group of a device.

        Args:
            path: path of the device.
            default: its group on Debian; the result for the files of another machine.
        """
        if not self.is_this:
            return default
        try:
            return path.group()
        except (OSError, KeyError, NotImplementedError):  # a group of the host of a container
            return default

    def in_group(self, group: str) -> bool:
        """Return whether the running session has a group."""
        return self.user.is_root or group in self.user.groups

    def members(self, group: str) -> list[str] | None:
        """Return the users that /etc/group lists for a group; None if the group does not exist."""
        for line in self.text("etc/group").splitlines():
            name, *fields = line.split(":")
            if name == group:
                return [user for user in (fields[-1] if fields else "").split(",") if user]
        return None

    # Graphics

    @cached_property
    def driver(self) -> dict[str, Any]:
        """The output of ``glsl-infer info --json``, or ``{"failed": reason}``.

        It comes from a child process, because a driver can crash.
        """
        if self._driver is not None:
            return dict(self._driver)
        self.progress("looking for an OpenGL driver")
        return json_answer("glsl_infer", "info", "--json", "--context", self.context, seconds=_DRIVER_SECONDS)

    @property
    def render_nodes(self) -> list[Path]:
        """The devices of the kernel's GPU drivers."""
        return self.glob("dev/dri/renderD*")

    def has_library(self, name: str) -> bool:
        """Return whether the dynamic linker finds a library, such as ``libEGL.so.1``."""
        if self.is_this:
            try:
                ctypes.CDLL(name)
            except OSError:
                return False
            return True
        return any(
            self.glob(f"{folder}/{name}") for folder in ("usr/lib", "usr/lib/*", "lib", "lib/*", "usr/local/lib")
        )


def shorten(path: Path) -> str:
    """Return a path with ``~`` for the home folder, to keep the name of the user out of reports."""
    try:
        return f"~/{path.absolute().relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return str(path)

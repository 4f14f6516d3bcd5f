"""Checks of the board, its power, its memory and the cache folder."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from glsl_infer.tools.doctor import config_txt
from glsl_infer.tools.doctor.findings import Finding, check, ok, problem, warning
from glsl_infer.tools.doctor.machine import Machine

OLDEST_DEBIAN = 12
"""Oldest supported release of Debian and Raspberry Pi OS."""

MIN_MEMORY = 80 << 20
"""Bytes needed for a classification: 60 MB for Python and NumPy, 5 MB for the largest shipped model, and an image."""

MIN_CMA = 32 << 20
"""Bytes of contiguous memory for the GPU: 11 MB for the textures of X22 at 385x385, 8 MB for a console of 1920x1080,
and 4 camera frames of 640x480."""

MAX_GPU_MEM = 76
"""Megabytes of the firmware's default ``gpu_mem``. The open driver does not use this memory."""

MIN_DISK = 16 << 20
"""Bytes for the compiled programs of a few models."""

_NOW = {0: "the supply voltage is too low", 1: "the CPU clock is capped", 2: "throttled", 3: "too hot"}
"""Meaning of the firmware's bits; 16 bits higher they mean "since the start"."""

_UNDERVOLTAGE = 1 << 0 | 1 << 16
_SLOWED = 1 << 1 | 1 << 2 | 1 << 17 | 1 << 18
_TOO_HOT = 1 << 3 | 1 << 19
"""The firmware's bits of low voltage, of a capped clock or throttling, and of heat, now or since the start."""

_SUPPLY = "use the power supply and cable of the board's maker (5.1 V, 2.5 A), and unplug USB devices"
_COOLING = "add a heat sink or a fan"


@check("board")
def board(machine: Machine) -> Finding:
    """Name the board and its CPU."""
    gpu = ", VideoCore IV" if machine.is_videocore4 else ""
    return ok(f"{machine.cpu_model()}{gpu}", {"board": machine.board or None, "cpu": machine.cpu_model()})


@check("system")
def system(machine: Machine) -> Finding:
    """Check that a Raspberry Pi's operating system is recent enough."""
    release = machine.os_release()
    name = release.get("PRETTY_NAME") or f"{platform.system()} {platform.release()}"
    figures = {"system": name, "kernel": f"{platform.system()} {platform.release()} {platform.machine()}"}
    release_number = release.get("VERSION_ID", "")
    is_debian = release.get("ID") in ("debian", "raspbian")
    if machine.is_raspberry_pi and is_debian and release_number.isdecimal() and int(release_number) < OLDEST_DEBIAN:
        return warning(
            f"{name} is older than Raspberry Pi OS Bookworm (Debian {OLDEST_DEBIAN})",
            figures,
            "write Raspberry Pi OS Bookworm or Trixie to the card with Raspberry Pi Imager",
        )
    return ok(f"{name}, {figures['kernel']}", figures)


@check("power")
def power(machine: Machine) -> Finding | None:
    """Report low voltage and throttling, which make a Raspberry Pi slow or restart it."""
    bits = machine.throttled() if machine.is_raspberry_pi else None
    if bits is None:
        return None
    now = [words for bit, words in _NOW.items() if bits >> bit & 1]
    before = [words for bit, words in _NOW.items() if bits >> bit + 16 & 1 and words not in now]
    figures = {"throttled": hex(bits), **machine.state()}
    if not now and not before:
        return ok("not throttled since the start, voltage is right", figures)
    parts = ([f"now: {', '.join(now)}"] if now else []) + (
        [f"earlier since the start: {', '.join(before)}"] if before else []
    )
    is_low = bool(bits & _UNDERVOLTAGE)
    is_hot = bool(bits & (_TOO_HOT if is_low else _TOO_HOT | _SLOWED))  # low voltage alone throttles, too
    fixes = (_SUPPLY,) * is_low + (_COOLING,) * is_hot
    return warning("; ".join(parts), figures, *fixes)


@check("memory")
def memory(machine: Machine) -> Finding | None:
    """Compare the available memory with the need of a classification."""
    total, available = machine.memory_total(), machine.memory_available()
    if available is None:
        return None
    swap = machine.memory.get("SwapFree", 0)
    figures = {"total": total, "available": available, "swap_free": swap}
    summary = f"{megabytes(available)} of {megabytes(total or 0)} available, {megabytes(swap)} of free swap"
    if available >= MIN_MEMORY:
        return ok(summary, figures)
    fixes = ["ps -eo rss,comm --sort=-rss | head    # the largest processes; end those that you do not need"]
    if machine.exists("usr/sbin/lightdm"):
        fixes.append("sudo systemctl set-default multi-user.target && sudo reboot    # start without the desktop")
    if swap < MIN_MEMORY - available:
        is_dphys = machine.exists("usr/sbin/dphys-swapfile") or machine.exists("sbin/dphys-swapfile")
        fixes.append(
            "sudo dphys-swapfile setup && sudo dphys-swapfile swapon" if is_dphys else "sudo apt install zram-tools"
        )
        return problem(f"{summary}; {megabytes(MIN_MEMORY)} are needed", figures, *fixes)
    return warning(f"{summary}; below {megabytes(MIN_MEMORY)} the system swaps", figures, *fixes)


@check("GPU memory")
def gpu_memory(machine: Machine) -> Finding | None:
    """Check the contiguous memory for textures of a VideoCore IV."""
    total, free = machine.memory.get("CmaTotal"), machine.memory.get("CmaFree", 0)
    if not machine.is_videocore4 or total is None:
        return None
    config = config_txt.read(machine)
    figures = {"cma_total": total, "cma_free": free, "gpu_mem": config.number("gpu_mem")}
    summary = f"{megabytes(free)} of {megabytes(total)} contiguous memory (CMA) free"
    if total < MIN_CMA:
        command_line = f"{(config.path or config_txt.PATHS[0]).rpartition('/')[0]}/cmdline.txt"
        is_set_on_command_line = " cma=" in f" {machine.text('proc/cmdline')}"
        fix = (
            f"sudo sed -i 's/ *cma=[^ ]*//' {command_line}"
            if is_set_on_command_line
            else set_overlay(config, "vc4-kms-v3d,cma-64")
        )
        report = problem if total < MIN_CMA // 2 else warning
        return report(f"{summary}; the GPU needs {megabytes(MIN_CMA)}", figures, f"{fix} && sudo reboot")
    reserved = config.number("gpu_mem") or 0
    if reserved > MAX_GPU_MEM:
        return warning(
            f"{summary}; gpu_mem={reserved} in {config.path} takes memory that the open driver does not use",
            figures,
            f"sudo sed -i 's/^gpu_mem=/#&/' {config.path} && sudo reboot",
        )
    return ok(summary, figures)


def set_overlay(config: config_txt.Config, overlay: str) -> str:
    """Return the command that makes an overlay the one for graphics."""
    path = config.path or config_txt.PATHS[0]
    if config.graphics is not None:
        return f"sudo sed -i 's/^ *dtoverlay={config.graphics} *$/dtoverlay={overlay}/' {path}"
    return f"printf '\\n[all]\\ndtoverlay={overlay}\\n' | sudo tee -a {path}"


@check("cache")
def cache(machine: Machine) -> Finding:
    """Check that the folder of compiled programs and passed self-checks can be written."""
    from glsl_infer.runtime.program_cache import VARIABLE, default_folder

    if os.environ.get(VARIABLE) == "off":
        return ok(f"{VARIABLE}=off: every start compiles and checks again", {"folder": None})
    folder = default_folder()
    if folder is None:
        return warning(
            "the cache folder is a symbolic link, or this user has no home; every start compiles and checks again",
            {"folder": None},
            f"export {VARIABLE}=FOLDER    # a folder of this user",
        )
    folder_text = _shortened(folder)
    figures: dict[str, object] = {"folder": folder_text, "free": None}
    existing = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        fix = (
            f'sudo install -d -o "$USER" {folder_text}'
            if existing.is_dir()
            else f"make {folder_text} and its parents folders"
        )
        return warning(
            f"{folder_text} cannot be written; every start compiles and checks again",
            figures,
            fix,
            f"export {VARIABLE}=FOLDER    # or another folder of this user",
        )
    free = shutil.disk_usage(existing).free
    figures = {"folder": folder_text, "free": free}
    if free < MIN_DISK:
        return warning(
            f"{folder_text}: only {megabytes(free)} of disk space are free",
            figures,
            "sudo apt clean && sudo journalctl --vacuum-size=20M",
        )
    return ok(f"{folder_text} can be written, {megabytes(free)} free", figures)


def _shortened(folder: Path) -> str:
    """Return the cache folder as an expression for a shell, because reports do not name the folders of a user."""
    from glsl_infer.runtime.program_cache import VARIABLE

    if os.environ.get(VARIABLE):
        return f"${VARIABLE}"
    base = "$XDG_CACHE_HOME" if Path(os.environ.get("XDG_CACHE_HOME", "")).is_absolute() else "~/.cache"
    return f"{base}/{folder.parent.name}/{folder.name}"


def megabytes(count: int) -> str:
    """Return a number of bytes in MB or GB."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"

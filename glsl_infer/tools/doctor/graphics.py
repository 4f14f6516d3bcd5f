"""Checks of config.txt, of the user's groups and of the OpenGL driver."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from glsl_infer.gl.limits import is_software
from glsl_infer.tools.doctor import config_txt
from glsl_infer.tools.doctor.findings import Finding, check, ok, problem, warning
from glsl_infer.tools.doctor.machine import Machine
from glsl_infer.tools.doctor.packages import MESA, apt_install, has_mesa
from glsl_infer.tools.doctor.system import set_overlay

OVERLAY = "vc4-kms-v3d"

_DEVICES = {"the camera": ("video", "dev/video*"), "the GPU": ("render", "dev/dri/renderD*")}
"""Devices, with their group on Debian."""

_UPGRADE = "sudo apt update && sudo apt full-upgrade"
_LOGIN = "log out and in again, or: sudo reboot"
_VARIABLES = {"LIBGL_ALWAYS_SOFTWARE": ("", "0", "false", "no", "n", "f", "off"), "GALLIUM_DRIVER": ("",)}
"""Variables that select a driver on the CPU, with the values that do not."""


@check("config.txt")
def boot_settings(machine: Machine) -> Finding | None:
    """Check that the firmware loads the open graphics driver of a Raspberry Pi."""
    if not machine.is_raspberry_pi:
        return None
    config = config_txt.read(machine)
    figures = {"file": config.path or None, "overlay": config.graphics}
    if config.graphics is None and machine.render_nodes:
        return ok("the kernel has loaded a GPU driver by itself", figures)
    unread = next((path for path in config_txt.PATHS if machine.exists(path)), None) if not config.path else None
    if unread is not None:
        return problem(
            f"{unread} cannot be read, and the graphics driver is not loaded",
            figures,
            f"sudo grep dtoverlay {unread}    # must have dtoverlay={OVERLAY}",
        )
    if config.graphics is None:
        subject = f"no line dtoverlay={OVERLAY} applies to this board in {config.path}" if config.path else (
            f"{config_txt.PATHS[0]} is missing, and the graphics driver is not loaded"
        )  # fmt: skip
        return problem(subject, figures, f"{set_overlay(config, OVERLAY)} && sudo reboot")
    if not machine.render_nodes:
        return problem(
            f"{config.path} has dtoverlay={config.graphics}, but the kernel has no /dev/dri/renderD*",
            figures,
            "sudo reboot    # if config.txt was changed since the start",
            "sudo dmesg | grep -iE 'vc4|v3d'    # else: the reason",
        )
    if config.is_firmware_kms:
        return warning(
            f"{config.path} loads {config.graphics}, which newer kernels do not have",
            figures,
            f"{set_overlay(config, OVERLAY)} && sudo reboot",
        )
    return ok(f"{config.path}: dtoverlay={config.graphics}", figures)


@check("groups")
def groups(machine: Machine) -> Finding | None:
    """Check that the user can open the GPU and, on a Raspberry Pi, the camera."""
    if not sys.platform.startswith("linux") or not (machine.is_raspberry_pi or machine.render_nodes):
        return None
    purposes = list(_DEVICES) if machine.is_raspberry_pi else ["the GPU"]
    closed = {purpose: group for purpose in purposes if (group := _closed(machine, purpose))}
    missing = list(dict.fromkeys(closed.values()))
    figures = {"missing": missing}
    if not missing:
        return ok(f"{' and '.join(purposes)}: open to {'root' if machine.user.is_root else 'this user'}", figures)
    finding = problem if machine.is_raspberry_pi and "the GPU" in closed else warning
    words = f"{' and '.join(missing)}, and cannot use {' and '.join(closed)}"
    if all(machine.user.name in (machine.members(group) or ()) for group in missing):
        return finding(f"this login began before the user was in {words}", figures, _LOGIN)
    fix = f'sudo usermod -aG {",".join(missing)} "$USER"'
    return finding(f"this user is not in {words}", figures, fix, _LOGIN)


def _closed(machine: Machine, purpose: str) -> str:
    """Return the group the user lacks for devices, including devices of a driver not loaded yet; else empty."""
    group, pattern = _DEVICES[purpose]
    nodes = machine.glob(pattern)
    for node in nodes:
        if not machine.may_open(node, group):
            return machine.group_of(node, group)
    is_lacking = not nodes and not machine.in_group(group) and machine.members(group) is not None
    return group if is_lacking else ""


@check("driver")
def driver(machine: Machine) -> Finding:
    """Report the OpenGL driver, and the reason if it is not the GPU's."""
    driver = machine.driver
    contexts = driver.get("contexts", {})
    figures: dict[str, Any] = {key: driver.get(key) for key in ("context", "vendor", "renderer", "version")}
    figures["contexts"] = {
        interface: context.get("renderer") or context.get("reason") for interface, context in contexts.items()
    }
    if "failed" in driver:
        is_crash = "signal" in driver["failed"]
        fix = apt_install(machine, f"--reinstall {MESA}") if is_crash else "glsl-infer info --debug    # the reason"
        return problem(f"the process that looks for it: {driver['failed']}", figures, fix)
    if driver.get("context") is None:
        return _no_context(machine, contexts, figures)
    renderer = str(driver["renderer"])
    words = f"{renderer}, {driver['version']} ({contexts.get(driver['context'], {}).get('how', driver['context'])})"
    if not is_software(renderer):
        return ok(words, figures)
    return _software(machine, words, figures)


def _no_context(machine: Machine, contexts: Mapping[str, Any], figures: Mapping[str, Any]) -> Finding:
    """Return the reasons why no context can be created, and their fixes."""
    tried = [
        context
        for interface, context in contexts.items()
        if machine.context in ("auto", interface) and interface != "glfw"
    ]
    failures = tried or list(contexts.values())
    reasons = dict.fromkeys(failure["reason"] for failure in failures)
    fixes = dict.fromkeys(map(_advice, failures))
    fixes.pop("", None)
    return problem(f"no OpenGL ES 2.0 context: {'; '.join(reasons)}", figures, *fixes)


def _software(machine: Machine, words: str, figures: Mapping[str, Any]) -> Finding:
    """Report a driver that draws on the CPU, described by ``words``: a problem if the board or machine has a GPU."""
    contexts = machine.driver.get("contexts", {})
    hardware = [
        interface
        for interface, context in contexts.items()
        if context.get("works") and not is_software(context["renderer"])
    ]
    causes = _why_software(machine)
    if machine.is_raspberry_pi:
        why = "".join(f"; {cause}" for cause, _ in causes)
        remedies = [fix for _, fix in causes] or ["EGL_LOG_LEVEL=debug glsl-infer info    # the reason"]
        return problem(f"the CPU draws instead of the GPU: {words}{why}", figures, *remedies)
    if hardware:
        return warning(
            f"the CPU draws: {words}; the GPU is reached by another way",
            figures,
            *(f"--context {interface}    # {contexts[interface]['renderer']}" for interface in hardware),
        )
    if machine.render_nodes and causes:
        return warning(
            f"the CPU draws: {words}: {'; '.join(why for why, _ in causes)}", figures, *(fix for _, fix in causes)
        )
    return ok(f"{words}; the CPU draws", figures)


def _advice(failure: Mapping[str, Any]) -> str:
    """Return the fix for a context that cannot be created; missing software has its own check."""
    if "Python package" in failure["reason"]:
        return "see python above"
    if failure["reason"].startswith("the library"):
        return "see libraries above"
    return str(failure["advice"]).rpartition("OS: ")[2]


def _why_software(machine: Machine) -> list[tuple[str, str]]:
    """Return each reason why Mesa does not use the GPU, with the command to fix it."""
    reasons = []
    for name, harmless in _VARIABLES.items():
        value = machine.environ.get(name, "")
        if value.lower() not in harmless:
            reasons.append((f"{name}={value} is set", f"unset {name}"))
    if not machine.render_nodes:
        reasons.append(("there is no /dev/dri/renderD*", "see config.txt above"))
    elif _closed(machine, "the GPU"):
        reasons.append(("the GPU is closed to this user", "see groups above"))
    if not has_mesa(machine):
        reasons.append(("Mesa's drivers are not installed", apt_install(machine, f"--reinstall {MESA}")))
    return reasons


@check("mesa")
def mesa(machine: Machine) -> Finding | None:
    """Look up the known faults of this version of Mesa's driver for the VideoCore IV."""
    version = re.search(r"Mesa ([0-9]+(\.[0-9]+)*)", str(machine.driver.get("version", "")))
    if version is None:
        return None
    from glsl_infer.runtime.drivers import faults_of, wants_ordered_fetches

    faults = faults_of(version[1]) if wants_ordered_fetches(str(machine.driver.get("renderer"))) else []
    figures = {"version": version[1], "faults": [fault.words for fault in faults]}
    if not faults:
        return ok(f"Mesa {version[1]}, without a known fault of this driver", figures)
    words = "; ".join(f"{fault.words} ({fault.answer})" for fault in faults)
    return warning(f"Mesa {version[1]}: {words}", figures, _UPGRADE)

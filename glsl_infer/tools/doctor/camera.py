"""Check of the cameras of a Raspberry Pi and of their software."""

from __future__ import annotations

import importlib.util
import re

from glsl_infer.tools.doctor import config_txt
from glsl_infer.tools.doctor.findings import Finding, check, ok, problem, warning
from glsl_infer.tools.doctor.machine import Machine
from glsl_infer.tools.doctor.packages import combined, install, sees_system_packages

_CSI = ("unicam", "rp1-cfe")
"""Beginnings of the names of V4L2 devices that exist while a camera is on the ribbon cable."""

_LISTERS = ("rpicam-hello", "libcamera-hello")
"""The program that lists cameras: since Debian 12, and before."""

_LIST_SECONDS = 20.0
_SENSORS = re.compile(r"(imx|ov|arducam|pivariety|irs)[0-9a-z-]*")


@check("camera")
def camera(machine: Machine) -> Finding | None:
    """Check that an attached camera can be read; a board without a camera passes."""
    if not machine.is_raspberry_pi:
        return None
    config, devices = config_txt.read(machine), _devices(machine)
    has_csi = any(name.startswith(_CSI) for name, _ in devices.values())
    usb = [f"/dev/{device}" for device, (_, driver) in devices.items() if driver == "uvcvideo"]
    figures: dict[str, object] = {"devices": {device: name for device, (name, _) in devices.items()}, "libcamera": None}
    if config.value("start_x") == "1":
        return (problem if not usb else warning)(
            f"start_x=1 in {config.path} loads the camera firmware of before Debian 12; picamera2 then finds no camera",
            figures,
            f"sudo sed -i 's/^start_x=1/camera_auto_detect=1/' {config.path} && sudo reboot",
        )
    if has_csi:
        return _of_ribbon(machine, figures)
    if usb:
        if _has(machine, "av"):
            return ok(f"USB camera: --source {usb[0]}", figures)
        return warning(
            f"a USB camera is {usb[0]}, but PyAV, which reads it, is not installed",
            figures,
            *combined(install(machine, "av", "python3-av", "av")),
        )
    is_looked_for = config.value("camera_auto_detect") == "1" or any(
        _SENSORS.fullmatch(overlay.partition(",")[0]) for overlay in config.overlays
    )
    if config.path and not is_looked_for:
        look = f"printf '\\n[all]\\ncamera_auto_detect=1\\n' | sudo tee -a {config.path} && sudo reboot"
        return warning(f"none, and {config.path} does not look for one", figures, f"{look}    # if you attach one")
    return ok("no camera is attached", figures)


def _devices(machine: Machine) -> dict[str, tuple[str, str]]:
    """Return the name and the kernel driver of every V4L2 device."""
    devices = {}
    for path in machine.glob("sys/class/video4linux/video*"):
        folder = path.relative_to(machine.root)
        driver = re.search(r"^DRIVER=(.*)$", machine.text(f"{folder}/device/uevent"), re.MULTILINE)
        devices[path.name] = (machine.text(f"{folder}/name"), driver[1].strip() if driver else "")
    return devices


def _of_ribbon(machine: Machine, figures: dict[str, object]) -> Finding:
    """Return the finding for a camera on the ribbon cable."""
    if not _has(machine, "picamera2"):
        return problem(
            "a camera is attached, but picamera2, which reads it, is not installed for this Python",
            figures,
            *combined(install(machine, "picamera2", "python3-picamera2", "picamera2")),
        )
    lister = next((name for name in _LISTERS if machine.command(name) is not None), None)
    if lister is None:
        return ok("a camera is attached; picamera2 is installed", figures)
    machine.progress("listing cameras")
    text = machine.ask(lister, "--list-cameras", seconds=_LIST_SECONDS)
    sensors = re.findall(r"^[0-9]+ : (\S+)", text, re.MULTILINE)
    figures = {**figures, "libcamera": sensors}
    if sensors:
        return ok(f"{', '.join(sensors)}: --source picamera2", figures)
    return warning(
        f"the kernel has a camera, but {lister} lists none",
        figures,
        f"{lister} --list-cameras    # the reason; end other programs that use the camera, check the ribbon cable",
    )


def _has(machine: Machine, module: str) -> bool:
    """Return whether a module can be imported."""
    if machine.is_this:
        return importlib.util.find_spec(module) is not None
    return sees_system_packages(machine) and machine.exists(f"usr/lib/python3/dist-packages/{module}")

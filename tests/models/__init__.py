"""Small models as a tutorial would have them: functions without arguments, in modules by what they return.

Reading a name does not import Keras, which cannot share a process with Mesa's LLVM.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

_MODULES = {
    name: path.stem
    for path in Path(__file__).parent.glob("*.py")
    for name in re.findall(r"^def (\w+)\(\) -> keras\.Model", path.read_text("utf-8"), re.MULTILINE)
}

NAMES = tuple(sorted(_MODULES))

RUN_EVERYWHERE = (
    "autoencoder",
    "espcn",
    "lenet5",
    "mobilenet_v3_block",
    "multi_task",
    "pose_heatmaps",
    "ssd_head",
    "two_inputs",
    "unet",
    "xception_block",
)
"""Models that run in Java and in Chromium, too: images and values, one and several, maps, rows and vectors."""


def build(name: str) -> Any:
    """Return a Keras model with its initial weights."""
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)()

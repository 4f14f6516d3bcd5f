"""Small models as a tutorial would have them, one a file, each with a function ``build()``.

``NOT_YET`` names those that cannot be exported, with the reason. The test fails when one of them can.
"""

from __future__ import annotations

from pathlib import Path

NAMES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__"))

NOT_YET: dict[str, str] = {}

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
"""What is run in Java and in Chromium as well: pictures and numbers, one and several, maps, rows and vectors."""

"""Image formats that Pillow decodes only with an optional library: AVIF and HEIC."""

from __future__ import annotations

import importlib
from pathlib import Path

from PIL import Image

from glsl_infer.errors import pip_install

_PLUGINS = {
    ".avif": ("pillow_avif", "pillow-avif-plugin"),
    ".heic": ("pillow_heif", "pillow-heif"),
    ".heif": ("pillow_heif", "pillow-heif"),
}
"""By suffix: the module of a plugin for Pillow, and its package."""


def missing_decoder(path: str | Path) -> str | None:
    """Return why files with the suffix of ``path`` cannot be decoded, with the command that helps; None if they can.

    If a plugin for the format is installed, it is registered with Pillow.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _PLUGINS or (suffix == ".avif" and _has_avif()):
        return None
    module, package = _PLUGINS[suffix]
    try:
        plugin = importlib.import_module(module)
    except ImportError:
        return f"Pillow cannot read {suffix} images without a plugin; install it: {pip_install(package)}"
    if suffix != ".avif" and "HEIF" not in Image.OPEN:
        plugin.register_heif_opener()
    return None


def _has_avif() -> bool:
    """Return whether Pillow itself decodes AVIF, as most of its wheels do since 11.3."""
    from PIL import features  # imported late: the import takes longer than the check, and few files need it

    return "avif" in features.modules and bool(features.check("avif"))

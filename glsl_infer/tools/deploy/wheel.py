"""Wheel of the running glsl-infer, so a Raspberry Pi gets the same version without a package index.

Nothing is built: the installed files are packed, or those of a checkout with an editable installation.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import zipfile
from collections.abc import Mapping
from pathlib import Path

from glsl_infer import __version__
from glsl_infer.support import resources

NAME = f"glsl_infer-{__version__}-py3-none-any.whl"

_DIST_INFO = f"glsl_infer-{__version__}.dist-info"
_WHEEL = "Wheel-Version: 1.0\nGenerator: glsl-infer deploy\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_SUFFIXES = (".py", ".typed", ".json", ".csv", ".jpg", ".npz")
_INSTALLERS = ("INSTALLER", "RECORD", "REQUESTED", "WHEEL", "direct_url.json")
"""Files that the installer, not the wheel, added to the metadata, or that are written again here."""

_DATE = (2020, 2, 2, 0, 0, 0)  # constant, so the same files result in the same wheel


_NOT_INSTALLED = {
    "METADATA": f"Metadata-Version: 2.1\nName: glsl-infer\nVersion: {__version__}\nRequires-Python: >=3.9\n",
    "entry_points.txt": (
        "[console_scripts]\nclassify = glsl_infer.cli:main_classify\nglsl-infer = glsl_infer.cli:main\n"
    ),
}
"""Metadata of a checkout on PYTHONPATH, which has no files for it."""


def write(folder: Path) -> str:
    """Write the wheel into a folder; return its name."""
    about = _metadata() or {f"{_DIST_INFO}/{name}": text.encode() for name, text in _NOT_INSTALLED.items()}
    members = {**_package(), **about, f"{_DIST_INFO}/WHEEL": _WHEEL.encode()}
    members[f"{_DIST_INFO}/RECORD"] = _record(members)
    with zipfile.ZipFile(folder / NAME, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.external_attr, info.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return NAME


def _package() -> dict[str, bytes]:
    """Return the package's files by their names in the wheel, with shaders and models from a checkout's own folders."""
    contents = {}
    for path in sorted(resources.PACKAGE.rglob("*")):
        if path.suffix in _SUFFIXES:
            contents[f"glsl_infer/{path.relative_to(resources.PACKAGE).as_posix()}"] = path.read_bytes()
    for name in resources.template_names():
        contents[f"glsl_infer/shaders/{name}"] = resources.template_source(name).encode("utf-8")
    for model in map(resources.model, resources.MODEL_NAMES):
        contents[f"glsl_infer/models/{model.name}"] = model.read_bytes()
    return contents


def _metadata() -> dict[str, bytes] | None:
    """Return the ``.dist-info`` files without those of installers; None if the folder is missing or incomplete."""
    try:
        distribution = importlib.metadata.distribution("glsl-infer")
    except importlib.metadata.PackageNotFoundError:
        return None
    if distribution.version != __version__:
        return None
    contents = {}
    for file in distribution.files or ():
        folder, _, name = file.as_posix().partition("/")
        if folder == _DIST_INFO and name not in _INSTALLERS:
            contents[f"{_DIST_INFO}/{name}"] = Path(str(file.locate())).read_bytes()
    needed = {f"{_DIST_INFO}/METADATA", f"{_DIST_INFO}/entry_points.txt"}
    return contents if needed <= set(contents) else None


def _record(members: Mapping[str, bytes]) -> bytes:
    """Return the list of a wheel's files with their SHA-256 and sizes.

    Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """
    lines = []
    for name, data in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{_DIST_INFO}/RECORD,,", ""]).encode()

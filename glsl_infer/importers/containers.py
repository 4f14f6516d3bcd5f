"""ZIP files of models, such as MediaPipe's ``.task`` files. A path leads into them as into a folder.

``hands.task/hand_detector.tflite`` is a member of ``hands.task``. Members can be ZIP files themselves.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from glsl_infer.errors import ModelError
from glsl_infer.importers.core import limits

SUFFIXES = (".task",)
MODEL = ".tflite"
_MOST_LEVELS = 3


def models_in(path: Path) -> tuple[str, ...]:
    """Return the names of the models in a container; in an inner container, like ``inner.task/model.tflite``.

    Raises:
        ModelError: the container is damaged, or is not a ZIP file.
    """
    try:
        return tuple(_models(path.read_bytes(), path, ""))
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None


def _models(data: bytes, path: Path, prefix: str) -> list[str]:
    names: list[str] = []
    with _opened(data, path) as archive:
        for member in archive.infolist():
            if member.filename.lower().endswith(MODEL):
                names.append(f"{prefix}{member.filename}")
            elif member.filename.lower().endswith(SUFFIXES) and prefix.count("/") < _MOST_LEVELS:
                names += _models(archive.read(member), path, f"{prefix}{member.filename}/")
    return names


def model_at(path: Path) -> tuple[Path, bytes] | None:
    """Return the path and the bytes of the model at a path inside a container, or of the container's only model.

    Returns:
        None if the path does not lead into a container.

    Raises:
        ModelError: the member does not exist, the path names none of several models, or the container is damaged.
    """
    container = next(
        (part for part in (path, *path.parents) if part.suffix.lower() in SUFFIXES and part.is_file()), None
    )
    if container is None:
        return None
    names, inside = models_in(container), path.relative_to(container).as_posix()
    if inside == "." and len(names) == 1:
        inside = names[0]
    if inside not in names:
        if not names:
            raise ModelError(f"{container}: contains no .tflite model ({_listed(container)})")
        given = "contains several models" if inside == "." else f"contains no '{inside}'"
        paths = ", ".join(str(container / name) for name in names)
        raise ModelError(f"{container}: {given}; give one of them: {paths}")
    data = container.read_bytes()
    rest = inside
    while True:
        with _opened(data, container) as archive:
            member = next(name for name in archive.namelist() if rest == name or rest.startswith(f"{name}/"))
            data = archive.read(member)
        if rest == member:
            return container / inside, data
        rest = rest[len(member) + 1 :]


def _listed(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    return ", ".join(f"{name:.60}" for name in names[:5]) or "it is empty"


def _opened(data: bytes, path: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise ModelError(f"{path}: not a ZIP file of models, or damaged ({error}); get it again") from None
    limits.check_zip(path, archive.infolist())
    return archive

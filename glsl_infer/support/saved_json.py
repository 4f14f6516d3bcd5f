"""Read JSON files saved by a command: results of ``benchmark``, reports of ``report``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError
from glsl_infer.support import json_text
from glsl_infer.support.files import not_a_file


@dataclass(frozen=True)
class FileFormat:
    """Description of a file format.

    Attributes:
        name: noun for messages, such as ``result``.
        format, version: values of the keys ``format`` and ``version``.
        max_bytes: largest size.
        advice: the command for writing such a file, for messages.
        wrong_part: function to describe the first fault of the data in a few words; None without a fault.
    """

    name: str
    format: str
    version: int
    max_bytes: int
    advice: str
    wrong_part: Callable[[dict[str, Any]], str | None]


def read(path: Path, spec: FileFormat) -> dict[str, Any]:
    """Read a saved file.

    Raises:
        InputError: the file is missing, has another format or version, or is damaged.
    """
    try:
        problem = not_a_file(path)
        if problem:
            raise InputError(f"{path}: is {problem}, not a saved {spec.name}; {spec.advice}")
        if path.stat().st_size > spec.max_bytes:
            raise InputError(
                f"{path}: has more than {spec.max_bytes >> 20} MiB, which no {spec.name} has; {spec.advice}"
            )
        data = json_text.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error}); {spec.advice}") from None
    if not isinstance(data, dict) or data.get("format") != spec.format:
        raise InputError(f"{path}: not a {spec.name} that glsl-infer wrote; {spec.advice}")
    if data.get("version") != spec.version:
        raise InputError(
            f"{path}: version {data.get('version')!r} of the format, where {spec.version} is known; {spec.advice}"
        )
    damage = spec.wrong_part(data)
    if damage:
        raise InputError(f"{path}: damaged: {damage}; {spec.advice}")
    return data

"""Files that a command saved as JSON, read again with care: results of ``benchmark``, reports of ``report``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError
from glsl_infer.support import json_text
from glsl_infer.support.files import not_a_file


@dataclass(frozen=True)
class Kind:
    """What a file must be.

    Attributes:
        name: what it is called in messages, such as ``result``.
        format, version: its first two keys.
        max_bytes: no such file has more.
        advice: how to get one.
        wrong_part: returns what is wrong with the data in a few words, or None.
    """

    name: str
    format: str
    version: int
    max_bytes: int
    advice: str
    wrong_part: Callable[[dict[str, Any]], str | None]


def read(path: Path, kind: Kind) -> dict[str, Any]:
    """Return what a saved file holds.

    Raises:
        InputError: the file is missing, of another kind or version, or damaged.
    """
    try:
        other = not_a_file(path)
        if other:
            raise InputError(f"{path}: is {other}, not a saved {kind.name}; {kind.advice}")
        if path.stat().st_size > kind.max_bytes:
            raise InputError(
                f"{path}: has more than {kind.max_bytes >> 20} MiB, which no {kind.name} has; {kind.advice}"
            )
        data = json_text.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error}); {kind.advice}") from None
    if not isinstance(data, dict) or data.get("format") != kind.format:
        raise InputError(f"{path}: not a {kind.name} that glsl-infer wrote; {kind.advice}")
    if data.get("version") != kind.version:
        raise InputError(
            f"{path}: version {data.get('version')!r} of the format, where {kind.version} is known; {kind.advice}"
        )
    wrong = kind.wrong_part(data)
    if wrong:
        raise InputError(f"{path}: damaged: {wrong}; {kind.advice}")
    return data

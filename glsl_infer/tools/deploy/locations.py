"""Locations of a deployment's files: a deployment file from an untrusted source cannot copy files from elsewhere."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from glsl_infer.errors import InputError
from glsl_infer.tasks import reading
from glsl_infer.tools.deploy import raspberry_pi
from glsl_infer.tools.deploy.description import Deployment


def check(deployment: Deployment, base: Path) -> None:
    """Check that all files are inside ``base``, after following symbolic links.

    Raises:
        InputError: files are outside; the message lists them all.
    """
    folder = base.resolve()
    outside = [f"{what} {path}" for what, path in _named(deployment, base) if not _within(base / path, folder)]
    if outside:
        raise InputError(
            f"{'; '.join(outside)}: outside the deployment file's folder; put it there, or give --allow-outside"
        )


def _within(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):  # a loop of links, or an invalid file name
        return False


def _named(deployment: Deployment, base: Path) -> Iterator[tuple[str, str]]:
    """Yield the purpose and the name of every file in the deployment."""
    for model in deployment.models:
        if not model.is_url:
            yield f"model '{model.name}': source", model.source
        for key in ("labels", "calibrate"):
            if getattr(model, key):
                yield f"model '{model.name}': {key}", getattr(model, key)
    service = deployment.service
    if service.task.lower().endswith(reading.SUFFIX):
        yield "service: task", service.task
    for command in (service.on_appear, *(reaction.command for reaction in service.on)):
        words = shlex.split(command)
        if raspberry_pi.program_of(words, base) is not None:
            yield "service: the program", words[0]

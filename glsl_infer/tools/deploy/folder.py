"""Build the folder of a deployment under a temporary name, then rename it, so it is never incomplete."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from glsl_infer import __version__
from glsl_infer import bundle as bundles
from glsl_infer.errors import InputError, RunError
from glsl_infer.runtime.none_of_these import NONE
from glsl_infer.support.child_process import error_of, module_command
from glsl_infer.support.files import put_folder
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.support.plain_text import escaped_characters, first_of, one_line
from glsl_infer.support.progress import ProgressCallback, no_progress
from glsl_infer.tasks import reading
from glsl_infer.tools.deploy import raspberry_pi, tasks, wheel
from glsl_infer.tools.deploy.description import Deployment, Model
from glsl_infer.tools.deploy.fetch import SECONDS, Sources, fetch, sha256_of

CONTENTS = "deployment.json"
"""File with the folder's contents as data. A folder is recognised as a deployment by it."""


def make(
    deployment: Deployment,
    base: Path,
    out: Path,
    progress: ProgressCallback = no_progress,
    *,
    seconds: float = SECONDS,
    key: str | None = None,
    outside: bool = False,
) -> dict[str, Any]:
    """Build the folder ``out`` in place of an older deployment; return the list of its files.

    Args:
        deployment: the deployment.
        base: folder that relative paths of the deployment file start from.
        out: the folder.
        progress: called with a message for each step.
        seconds: time limit of a download.
        key: minisign public key; every source must have its signature (``signatures``).
        outside: whether files outside ``base`` are allowed.

    Raises:
        InputError: a source cannot be used, or ``out`` exists and is not a deployment.
        RunError: a download or an export failed.
    """
    if not outside:
        check_locations(deployment, base)
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out.absolute().parent}: no such folder; make it, or name another")
    if out.exists() and not (out / CONTENTS).is_file():
        raise InputError(f"{out}: exists and is not a deployment of glsl-infer; name another folder, or remove it")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.absolute().parent) as name:
            new = Path(name) / "new"
            description = _fill(deployment, Sources(base, Path(name), seconds, key), new, progress)
            put_folder(new, out)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})") from None
    return description


def _fill(deployment: Deployment, sources: Sources, new: Path, progress: ProgressCallback) -> dict[str, Any]:
    """Write all files of a deployment into the folder ``new``; return its contents as data."""
    (new / "models").mkdir(parents=True)
    models = [_model(model, sources, new, progress) for model in deployment.models]
    files = {model["file"]: model["sha256"] for model in models}
    service = deployment.service
    description: dict[str, Any] = {"glsl_infer": __version__, "target": deployment.target, "models": models}
    if not service.task:
        _check_labels(deployment, new)
    if deployment.target == "raspberry-pi":
        names, packed = _fill_for_board(deployment, sources, new, progress)
        files.update({name: sha256_of(new / name) for name in names})
        description["wheel"] = packed
        description["service"] = {"unit": raspberry_pi.UNIT, **asdict(service), "model": deployment.served}
    for file in files:
        if escaped_characters().search(file):
            raise InputError(f"{one_line(file)}: the name has a character that is not shown; rename the file")
    sums = "".join(f"{digest}  {file}\n" for file, digest in files.items())
    (new / raspberry_pi.SUMS).write_text(sums, "utf-8")
    (new / CONTENTS).write_text(json.dumps(description, indent=1) + "\n", "utf-8")
    return description


def _fill_for_board(
    deployment: Deployment, sources: Sources, new: Path, progress: ProgressCallback
) -> tuple[list[str], str]:
    """Write the task, programs, wheel, unit and script for a Raspberry Pi.

    Returns:
        The names of the files to check on the board, relative to ``new``; the name of the wheel.
    """
    names: list[str] = []
    if deployment.service.task:
        progress(f"task {deployment.service.task}: copying")
        names += tasks.put(deployment.service.task, sources.base, new, sources.key)
    names += _programs(deployment, sources.base, new)
    progress("glsl-infer: packing the wheel")
    packed = wheel.write(new)
    for name, text, mode in (
        (raspberry_pi.UNIT, raspberry_pi.unit(deployment, base=sources.base), 0o644),
        (raspberry_pi.INSTALL, raspberry_pi.install(deployment, packed), 0o755),
    ):
        (new / name).write_text(text, "utf-8")
        (new / name).chmod(mode)
    return [*names, raspberry_pi.UNIT, packed], packed


def _check_labels(deployment: Deployment, new: Path) -> None:
    """Check that the service's model has the labels that the service reacts to."""
    service = deployment.service
    pinned = [service.gpio.rpartition("=")[0]] if service.gpio else []
    labels = bundles.read(new / "models" / f"{deployment.served}{bundles.SUFFIX}").labels
    for key, names in (("on", [reaction.label for reaction in service.on]), ("gpio", pinned)):
        for name in names:
            if name not in labels and name != NONE:
                advice = f"give one of {first_of(labels, 10)}" if labels else "it is not a classifier"
                raise InputError(
                    f"service.{key}: model '{deployment.served}' has no label '{name}'"
                    f"{did_you_mean(name, labels)}; {advice}"
                )


def _programs(deployment: Deployment, base: Path, new: Path) -> list[str]:
    """Copy the commands' programs from the deployment file's folder; return them, relative to ``new``."""
    files = []
    for program in raspberry_pi.programs(deployment, base):
        (new / raspberry_pi.PROGRAMS).mkdir(exist_ok=True)
        target = new / raspberry_pi.PROGRAMS / program.name
        shutil.copyfile(program, target)
        target.chmod(0o755)
        files.append(f"{raspberry_pi.PROGRAMS}/{program.name}")
    return files


def _model(model: Model, sources: Sources, new: Path, progress: ProgressCallback) -> dict[str, Any]:
    progress(f"{model.name}: {'downloading' if model.is_url else 'reading'} {model.shown}")
    source = fetch(model, sources)
    target = new / "models" / f"{model.name}{bundles.SUFFIX}"
    if model.is_bundle:
        shutil.copyfile(source, target)
    else:
        progress(f"{model.name}: exporting")
        _export(model, source, sources.base, target)
    bundle = bundles.read(target)
    size = bundle.manifest.input.size
    if model.input_size and size != model.input_size:
        raise InputError(f"model '{model.name}': reads images of {size}x{size}, not of input_size {model.input_size}")
    return {
        "name": model.name,
        "file": f"models/{target.name}",
        "sha256": sha256_of(target),
        "bytes": target.stat().st_size,
        "source": model.shown,
        "source_sha256": sha256_of(source),
        "input_size": size,
        "labels": len(bundle.labels),
        "passes": len(bundle.manifest.passes),
    }


def _export(model: Model, source: Path, base: Path, target: Path) -> None:
    """Export in a child process, so Keras is not loaded in this one."""
    options = ["--weights", model.weights, "--layout", model.layout]
    options += ["--labels", str(base / model.labels)] if model.labels else []
    options += ["--calibrate", str(base / model.calibrate)] if model.calibrate else []
    if model.input_range != (0.0, 0.0):
        options.append(f"--input-range={','.join(f'{end:.9g}' for end in model.input_range)}")
    command = module_command("glsl_infer", "export", source, "-o", target, *options, "--json")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        error_class = InputError if done.returncode == InputError.exit_code else RunError
        raise error_class(f"model '{model.name}': {error_of(done.stderr)}")


def check_locations(deployment: Deployment, base: Path) -> None:
    """Check that all files are inside ``base``, after following symbolic links.

    A deployment file from an untrusted source must not copy files from elsewhere.

    Raises:
        InputError: files are outside; the message lists them all.
    """
    folder = base.resolve()
    outside = [f"{subject} {path}" for subject, path in _named(deployment, base) if not _within(base / path, folder)]
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
    for words in raspberry_pi.commands(deployment):
        if raspberry_pi.program_of(words, base) is not None:
            yield "service: the program", words[0]

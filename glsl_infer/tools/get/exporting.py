"""Export of a fetched file to a bundle; file and licence are stored in the same folder."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from glsl_infer.errors import ForeignRangesError, InputError, MissingExtraError
from glsl_infer.graph import Graph
from glsl_infer.graph.picture import FITS
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.tflite import file as tflite
from glsl_infer.support.child_process import last_line, module_command
from glsl_infer.support.files import writing
from glsl_infer.support.plain_text import one_line
from glsl_infer.support.progress import ProgressCallback
from glsl_infer.support.resources import PACKAGE
from glsl_infer.tasks import models
from glsl_infer.tools.export import export
from glsl_infer.tools.get import efficientnet_lite, samples, torch_weights
from glsl_infer.tools.get.catalogue import FIT_NAMES, Model
from glsl_infer.tools.get.fetching import File, digest

RANGES = Path(__file__).with_name("ranges")
"""Ranges of the catalogue's networks, computed by ``scripts/bench/catalogue_ranges.py``."""


def bundle_of(model: Model) -> Path:
    """Return the path of a network's bundle, which can be missing."""
    return models.folder() / f"{model.name}{models.SUFFIX}"


def stored_file(model: Model) -> Path:
    """Return the path of a network's fetched file, which can be missing."""
    suffix = ".h5" if model.weights_of else ".pth" if model.network else ".tflite"
    return models.folder() / f"{model.name}{suffix}"


def labels_of(model: Model) -> Path:
    """Return the path of a classifier's labels, which can be missing."""
    return models.folder() / f"{model.name}.labels.txt"


def pin_of(model: Model) -> str:
    """Return the pinned sha256 of the first file provided for a network; empty before that."""
    try:
        return (models.folder() / f"{model.name}.sha256").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def ranges_of(model: Model) -> Path:
    """Return the path of a network's ranges in the catalogue, which can be missing."""
    return RANGES / f"{model.name}.json"


def licence_of(model: Model) -> Path:
    """Return the path of a network's licence, which can be missing."""
    return models.folder() / f"{model.name}.licence.txt"


def require(model: Model) -> None:
    """Check that the package needed to export a network is installed, before anything is fetched.

    Raises:
        MissingExtraError: it is not installed.
    """
    if model.weights_of:
        if importlib.util.find_spec("keras") is None:
            raise MissingExtraError.of("Keras", "tensorflow", f"exporting {model.name}")
    elif not model.network:
        tflite.schema()


def make(model: Model, file: File, progress: ProgressCallback, labels: Path | Sequence[str] | None = None) -> Path:
    """Write the file, licence and bundle of a network into the folder of models; return the bundle.

    Args:
        model: the network.
        file: the fetched file.
        progress: called with a message for each step.
        labels: labels of a classifier, or a file with one per line.

    Raises:
        InputError: the folder cannot be written to, labels are missing, or the network cannot be exported.
    """
    folder = models.folder()
    if _has_labels(model) and (labels is None or (isinstance(labels, Path) and not labels.is_file())):
        problem = "" if labels is None else f"{labels}: no such file; "
        raise InputError(f"{problem}{model.name}: give its labels, one per line, as well: --labels LABELS.txt")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        members = {stored_file(model): file.data, licence_of(model): _licence(model, file).encode("utf-8")}
        if labels is not None and _has_labels(model):
            text = (
                labels.read_bytes() if isinstance(labels, Path) else "".join(f"{label}\n" for label in labels).encode()
            )
            members[labels_of(model)] = text
        if model.weights_of:
            members[folder / f"{model.name}.sha256"] = f"{digest(file.data)}\n".encode("ascii")
        for path, data in members.items():
            with writing(path) as out:
                out.write(data)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written to ({error.strerror or error}); let {models.VARIABLE} name another folder"
        ) from None
    export_stored(model, progress)
    return bundle_of(model)


def export_stored(model: Model, progress: ProgressCallback) -> None:
    """Export the stored file of a network again, with the catalogue's ranges or else with calibration images."""
    io_options, stored = io_options_of(model), ranges_of(model)
    source, labels = source_of(model), labels_of(model) if _has_labels(model) else None
    if stored.is_file():
        try:
            export(source, bundle_of(model), labels, io_options=io_options, ranges=stored, progress=progress)
            return
        except ForeignRangesError:
            # The ranges come from an earlier importer. Learning them from images is as exact, but slower.
            progress("learning ranges")
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
        files = pictures_of(model, Path(folder))
        if model.weights_of and labels is not None:
            source = Path(folder) / f"{model.name}.keras"
            classes = sum(1 for line in labels.read_text("utf-8").splitlines() if line.strip())
            complete_network(stored_file(model), classes, source, progress)
        export(source, bundle_of(model), labels, io_options=io_options, calibration=files, progress=progress)


def _has_labels(model: Model) -> bool:
    return bool(model.weights_of) or model.labels is not None


def source_of(model: Model) -> Path | Graph:
    """Return the stored file, or the graph built from its weights.

    Raises:
        InputError: the file does not have the weights of the network.
    """
    if not model.network:
        return stored_file(model)
    weights = torch_weights.read(stored_file(model).read_bytes())
    return efficientnet_lite.graph(weights, _fit_of(model), model.name)


def _fit_of(model: Model) -> str:
    return FITS[FIT_NAMES.index(model.fit)]


def io_options_of(model: Model) -> IoOptions:
    """Return the options of a network's input."""
    return IoOptions(ranges={"": model.input_range}, fits={"": _fit_of(model)})


def pictures_of(model: Model, folder: Path) -> list[Path]:
    """Write the calibration images of a network into a folder, and return them."""
    files = []
    for index, pixels in enumerate(samples.pictures(model.samples)):
        path = folder / f"{index:02}.png"
        Image.fromarray(pixels).save(path, compress_level=1)
        files.append(path)
    return files


def complete_network(weights: Path, classes: int, out: Path, progress: ProgressCallback) -> None:
    """Load weights by layer name into the project's X22, in a child process, and write the complete network.

    Raises:
        InputError: the package is not in a checkout with ``training/``, or the weights are not of that network.
    """
    checkout = PACKAGE.parent
    if not (checkout / "training/named_weights.py").is_file():
        raise InputError(
            "these weights need training/models.py, which a checkout of glsl-infer has: install it from one"
        )
    progress("loading weights by the names of layers")
    arguments = (weights.absolute(), "-o", out, "--classes", classes)
    command = module_command("training.named_weights", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise InputError(one_line(last_line(done.stderr)))


def _licence(model: Model, file: File) -> str:
    lines = [
        f"{model.name}: {model.what}",
        f"Author: {model.author}",
        f"Licence: {model.licence}",
        f"From: {file.origin}",
        f"SHA-256: {model.sha256 or digest(file.data)}",
        "The bundle next to this file has the same weights, as glsl-infer stores them: a changed form of that file.",
        "",
    ]
    return "\n".join([*lines, file.licence or "The package has no text of its licence in it."])

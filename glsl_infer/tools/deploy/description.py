"""Fields of a deployment file; ``strict_yaml`` reads it and reports errors with their line."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from glsl_infer.errors import InputError
from glsl_infer.lowering.weights_plan import WEIGHTS_MODES
from glsl_infer.program.layout import LAYOUTS
from glsl_infer.support import strict_yaml
from glsl_infer.support.settings import Between, Settings, Text
from glsl_infer.tasks import reading
from glsl_infer.tools.camera.mqtt import PASSWORD, address_of

_NAME = Text("[A-Za-z0-9][A-Za-z0-9_-]{0,63}", "a name of letters, digits, - and _, at most 64")
_PATH = Text(".{1,1000}", "a path")
_MAYBE_PATH = Text(".{0,1000}", "a path")
_COMMAND = Text(r"[^\x00-\x1f]{0,1000}", "a command")


@dataclass(frozen=True)
class Model(Settings):
    """One model.

    Attributes:
        name: name of its file and service.
        source: a ``.keras`` or ``.glslnn`` file, relative to the deployment file, or a URL of one.
        sha256: hash of the source; required for a URL.
        labels: a text file, one label a line; for a ``.keras`` file of a classifier.
        input_size: side of its square input image, checked against the model; 0 skips the check.
        input_range: input values of bytes 0 and 255, for a ``.keras`` file; (0, 0) uses the model's.
        weights, layout, calibrate: options of ``glsl-infer export``, for a ``.keras`` file.
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
        """True if the source is to be downloaded."""
        return "://" in self.source

    @property
    def shown(self) -> str:
        """The source as displayed in messages and files; see the function ``shown``."""
        return shown(self.source)

    @property
    def is_bundle(self) -> bool:
        """True if the source is a bundle already."""
        return self._path.endswith(".glslnn")

    @property
    def _path(self) -> str:
        return self.source.partition("?")[0] if self.is_url else self.source

    def conflict(self) -> str | None:
        """Return the first conflict of its fields, or None."""
        if self.is_url and not self.source.startswith(("https://", "http://")):
            return f"source {self.shown}: only https:// and http:// URLs can be downloaded"
        if self.is_url and not self.sha256:
            return f"source {self.shown}: a URL needs sha256, which refuses a changed file"
        if not self._path.endswith((".keras", ".glslnn")):
            return f"source {self.shown}: it must end in .keras or .glslnn"
        if self.is_bundle:
            options = [
                key
                for key, default in (("labels", ""), ("weights", "auto"), ("layout", "atlas"), ("calibrate", ""))
                if getattr(self, key) != default
            ] + ["input_range"] * (self.input_range != (0.0, 0.0))
            if options:
                return f"{', '.join(options)}: {self.shown} is exported already; give these options to its export"
        return None


@dataclass(frozen=True)
class On(Settings):
    """A command that starts when a label appears.

    Attributes:
        label: label of the model.
        command: command, as ``service.on_appear``.
    """

    label: Annotated[str, Text(r"[^\x00-\x1f]{1,200}", "a label")] = ""
    command: Annotated[str, _COMMAND] = ""

    def conflict(self) -> str | None:
        """Return a message if a field is missing."""
        return None if self.label and self.command else "give label and command"


@dataclass(frozen=True)
class Service(Settings):
    """Service on the board: ``glsl-infer camera`` with one of the models, or with a task.

    Attributes:
        model: the name of the model; by default the first.
        task: as ``--task``: a name whose bundles ``glsl-infer get`` has fetched, or a file ``*.json``.
        on_appear: command to start when the task finds something; a program in the deployment file's folder is copied.
        on: commands for labels of the model.
        snapshots: with a task, whether to store an image of each appearance in /var/lib/glsl-infer/snapshots.
        mqtt: as ``--mqtt``, without a password.
        gpio: as ``--gpio``.
        threshold: as ``--threshold``.
        source: as ``--source`` of ``glsl-infer camera``.
        user: user that the service runs as; by default the user who installs it.
        every, top: as the options of the same name.
    """

    model: Annotated[str, Text("[A-Za-z0-9_-]{0,64}", "the name of a model")] = ""
    task: Annotated[str, Text(r"[A-Za-z0-9_./-]{0,200}", "a task's name, or a file *.json")] = ""
    on_appear: Annotated[str, _COMMAND] = ""
    on: tuple[On, ...] = ()
    snapshots: bool = False
    mqtt: Annotated[str, Text(r"\S{0,300}", "mqtt://[USER@]HOST[:PORT]/TOPIC")] = ""
    gpio: Annotated[str, Text(r"(([^\x00-\x1f=]{1,200}=)?[0-9]{1,2})?", "[LABEL=]PIN, in quotes")] = ""
    threshold: Annotated[float, Between(0.0, 1.0)] = 0.0
    source: Annotated[str, Text(r"picamera2|/dev/video[0-9]{1,3}", "picamera2 or /dev/videoN")] = "picamera2"
    user: Annotated[str, Text("([a-z_][a-z0-9_-]{0,31})?", "a user's name")] = ""
    every: Annotated[int, Between(1, 1000)] = 1
    top: Annotated[int, Between(1, 1000)] = 1

    def conflict(self) -> str | None:
        """Return the first conflict of its fields, or None."""
        if self.task and (self.model or self.on or self.threshold):
            return "task: model, on and threshold are for classifiers; leave out either these or the task"
        if not self.task and (self.on_appear or self.snapshots):
            return "on_appear and snapshots need a task; set task, or use on for labels"
        if self.task and not self.task.lower().endswith(reading.SUFFIX):
            try:
                reading.find(self.task)
            except InputError as error:
                return str(error)
        for command in (self.on_appear, *(reaction.command for reaction in self.on)):
            try:
                shlex.split(command)
            except ValueError as error:
                return f"the command {command!r} cannot be read ({error})"
        if self.mqtt:
            try:
                address_of(self.mqtt)
            except InputError as error:
                return str(error).replace("--mqtt", "mqtt", 1)
            if urlsplit(self.mqtt).password is not None:
                return f"mqtt: leave the password out, and put {PASSWORD}=... into /etc/glsl-infer.env on the board"
        if self.gpio and bool(self.task) == ("=" in self.gpio):
            return f"gpio {self.gpio}: give {'PIN alone with a task' if self.task else 'LABEL=PIN'}"
        return None


@dataclass(frozen=True)
class Deployment(Settings):
    """A deployment: models and their target.

    Attributes:
        models: at least one, unless the service has a task.
        target: ``raspberry-pi`` adds a service and an install script to the models; ``files`` does not.
        service: service of a ``raspberry-pi``.
    """

    models: tuple[Model, ...] = ()
    target: Literal["raspberry-pi", "files"] = "raspberry-pi"
    service: Service = Service()

    def conflict(self) -> str | None:
        """Return the first conflict of its fields, or None."""
        names = [model.name for model in self.models]
        if not names and not self.service.task:
            return "models is missing; give a list of models, or set service.task"
        twice = min((name for name, count in Counter(names).items() if count > 1), default=None)
        if twice is not None:
            return f"two models have the name '{twice}'; give each model its own name"
        if self.service.model and self.service.model not in names:
            return f"service.model is '{self.service.model}'; the models are {', '.join(names)}"
        return None

    @property
    def served(self) -> str:
        """Name of the service's task, or else of its model."""
        return self.service.task or self.service.model or self.models[0].name


def shown(source: str) -> str:
    """Return a path unchanged, and a URL without user, password and query, which can be secrets."""
    scheme, separator, address = source.partition("://")
    if not separator:
        return source
    host, slash, path = address.partition("/")
    path, question, _ = path.partition("?")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}{'?...' if question else ''}"


def read(path: Path) -> Deployment:
    """Read a deployment file.

    Raises:
        InputError: a field is invalid; the message has its line.
        MissingExtraError: PyYAML is not installed.
    """
    return strict_yaml.read(path, Deployment)

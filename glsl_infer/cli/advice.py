"""Suggestions for invalid arguments: similar names, models in the other accepted position, URLs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from glsl_infer.errors import InputError
from glsl_infer.support.near_names import nearest, nearest_file

MODEL = "--model"
_TASK = "--task"
SUFFIX = ".glslnn"

_MODEL_FIRST = (
    *("benchmark", "calibrate", "doctor", "export", "inspect", "labels", "report", "run", "selfcheck", "validate"),
    "vc4",
)
"""Commands whose first argument is a model."""

_MODEL_OPTION = ("camera", "classify", "detect", "landmarks", "segment")
"""Commands whose model is the option ``--model``."""

_CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)$")
_REQUIRED = "the following arguments are required: "
_NUMBER = re.compile(r"(argument .*): invalid (int|float) value: '(.*)'$")
_VALUE = re.compile(r"argument (?:-./)?(--\S+): (\S+; give .*)$")
_INCOMPLETE = re.compile(r"argument ([^:]+): expected .*arguments?$")
_MISSING = re.compile(r"([^\n]+?): no such file(?: or folder)?(?=;|$)")
_NO_MODEL = re.compile(r"([^\n]+?): not a (?:glsl-infer model, or cut off|model file that glsl-infer can read)")
_URL = re.compile(r"(https?|ftp|file):/+")


def models_anywhere(words: Sequence[str]) -> list[str]:
    """Return the arguments with the model in its command's form: ``--model`` or first argument. Both are accepted.

    The first argument can also be the name of a published network or, except for ``classify``, of a task.
    """
    arguments = list(words)
    if not arguments:
        return arguments
    command, options = arguments[0], arguments[1:]
    if command == "vc4":  # --csv did not have a value in old versions
        options = [
            "--csv=-" if word == "--csv" and (*options, "-")[index + 1].endswith((SUFFIX, "-")) else word
            for index, word in enumerate(options)
        ]
        arguments = [command, *options]
    if command in _MODEL_FIRST:
        for index, word in enumerate(options):
            if word.startswith(f"{MODEL}="):
                return [command, word.partition("=")[2], *options[:index], *options[index + 1 :]]
            if word == MODEL and index + 1 < len(options):
                return [command, options[index + 1], *options[:index], *options[index + 2 :]]
    elif command in _MODEL_OPTION and not any(word.partition("=")[0] == MODEL for word in options):
        models = [word for word in options if word.endswith(SUFFIX) and not word.startswith("-")]
        if len(models) == 1:
            options.remove(models[0])
            return [command, MODEL, models[0], *options]
        if options and not models and not any(word.partition("=")[0] == _TASK for word in options):
            return [command, *_option_of_name(options[0], command), *options]
    return arguments


_SHIPPED = Path("models")
"""Folder of models in a clone of the repository."""

_BUNDLE_COMMANDS = (*_MODEL_OPTION, "benchmark", "doctor", "labels", "report", "run", "selfcheck", "vc4")
"""Commands for ``*.glslnn`` files only. They accept the name of a fetched model instead of a file, as inspect does."""


def _option_of_name(word: str, command: str) -> list[str]:
    """Return the option whose value is a word, if that is the name of a task or a published network, else nothing."""
    if word.startswith("-") or not word.replace("-", "").isalnum() or Path(word).exists():
        return []
    from glsl_infer.tasks import reading
    from glsl_infer.tools.get import catalogue

    if command != "classify" and reading.known(word):
        return [_TASK]
    return [MODEL] if word in catalogue.read() else []


def fetched_models(args: argparse.Namespace) -> None:
    """Replace names of fetched models, and of tasks that use them, by their files.

    Raises:
        InputError: the network of this name is not fetched yet, or the name is unknown.
    """
    command = getattr(args, "command", None)
    if command not in (*_BUNDLE_COMMANDS, "inspect"):
        return
    if isinstance(getattr(args, "model", None), Path):
        args.model = _fetched(args.model, command)
    if getattr(args, "models", None):
        args.models = [_fetched(model, command) for model in args.models]


def _fetched(model: Path, command: str) -> Path:
    """Return the file of a fetched model; a path that cannot be a name is returned as it is."""
    if model.suffix or model.exists():
        return model
    if len(model.parts) != 1:
        written = model.with_suffix(SUFFIX)
        if written.is_file():
            raise InputError(f"{model}: no such file (did you mean {written}?)")
        return model
    from glsl_infer.tasks import models, reading
    from glsl_infer.tools.get import catalogue

    name, networks = str(model), catalogue.read()
    fetched = models.folder() / f"{name}{SUFFIX}"
    if fetched.is_file():
        return fetched
    if name in networks:
        raise InputError(f"the model '{name}' has not been fetched yet; fetch it: glsl-infer get {name}")
    if reading.known(name):
        task = reading.find(name)
        return models.find(task.model, task.source)
    if command == "inspect":  # it also reads other files, and has a message about them
        return model
    candidates = [Path(f"{name}{SUFFIX}"), _SHIPPED / f"{name}{SUFFIX}"]
    suggested = nearest(name, [*networks, *reading.names()])
    files = [file for file in candidates if file.is_file()] or [file for file in map(nearest_file, candidates) if file]
    if files and (suggested is None or files[0] in candidates):
        suggested = str(files[0])
    suggestion = "" if suggested is None else f" (did you mean {suggested}?)"
    raise InputError(
        f"{name}: no such file or model{suggestion}; give a file *{SUFFIX}, or a name that 'glsl-infer get' lists"
    )


def improved(message: str, options: Mapping[str, str], usage: str, forms: Mapping[str, str]) -> str:
    """Return a message of argparse with a suggestion.

    Args:
        message: the message of argparse.
        options: every accepted spelling of an option, with the spelling to suggest.
        usage: the arguments of the command, in one line.
        forms: each option as argparse names it in messages, with its form such as ``--on LABEL COMMAND``.
    """
    number = _NUMBER.search(message)
    if number:
        kind = "a whole number" if number[2] == "int" else "a number"
        return f"{number[1]}: '{number[3]}' is not {kind}"
    value = _VALUE.match(message)
    if value:
        return f"{value[1]} {value[2]}"
    incomplete = _INCOMPLETE.match(message)
    if incomplete and incomplete[1] in forms:
        return f"{message}; give {forms[incomplete[1]]}"
    choice = _CHOICE.search(message)
    if choice and message.startswith("argument COMMAND: "):
        names = re.findall(r"[^\s,']+", choice[2])
        return f"no command '{choice[1]}'{_suggestion(choice[1], names)}"
    if choice:
        return message + _suggestion(choice[1], re.findall(r"[^\s,']+", choice[2]))
    if message.startswith(_REQUIRED):
        return f"missing: {message.removeprefix(_REQUIRED)}; {usage}"
    if message.startswith("unrecognized arguments: "):
        unknown = [word.partition("=")[0] for word in message.split()[2:] if word.startswith("-")]
        if not unknown:
            return f"{message}; {usage}"
        # The dashes are left out, because they would make short names similar.
        suggestions = {spelling.lstrip("-"): option for spelling, option in options.items()}
        spelling = nearest(unknown[0].lstrip("-"), suggestions)
        return message if spelling is None else f"{message}; did you mean {suggestions[spelling]}?"
    return message


def _suggestion(word: str, names: Iterable[str]) -> str:
    name = nearest(word, names)
    return "" if name is None else f"; did you mean {name}?"


def with_file_name(message: str) -> str:
    """Return the message of an error. For a missing file, a file with a similar name is suggested.

    An image in place of a model is called an image.
    """
    from glsl_infer.runtime.pictures.paths import is_image

    no_model = _NO_MODEL.match(message)
    if no_model is not None and is_image(Path(no_model[1])):
        return f"{no_model[1]}: an image, not a model; give a *{SUFFIX} file, or one to convert: .keras, .onnx, .tflite"
    match = _MISSING.match(message)
    suggested = nearest_file(Path(match[1])) if match else None
    return (
        message
        if match is None or suggested is None
        else f"{match[0]} (did you mean {suggested}?){message[match.end() :]}"
    )


def refuse_urls(args: argparse.Namespace) -> None:
    """Refuse a URL in place of a file.

    Raises:
        InputError: an argument is a URL. The message has the download command.
    """
    for value in vars(args).values():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, Path) and _URL.match(str(item)):
                raise InputError(
                    "a URL cannot be read; download it and give the file: curl --location --output FILE URL"
                )

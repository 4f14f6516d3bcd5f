"""Well-known model formats without a reader here, how to convert each, and files inside of archives."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

from glsl_infer.errors import ModelError
from glsl_infer.importers.core import limits
from glsl_infer.support.plain_text import first_of

SUFFIXES = (".task",)
"""File name extensions of containers: ZIP files of models."""

MODEL = ".tflite"
"""File name extension of the models in a container."""

_MOST_LEVELS = 3
"""Largest depth of containers inside a container."""


def models_in(path: Path) -> tuple[str, ...]:
    """Return the names of the models in a container; in an inner container, like ``inner.task/model.tflite``.

    Raises:
        ModelError: the container is damaged, or is not a ZIP file.
    """
    try:
        return tuple(_models(path.read_bytes(), path, ""))
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None


def _models(data: bytes, path: Path, prefix: str) -> list[str]:
    names: list[str] = []
    with _opened(data, path) as archive:
        for member in archive.infolist():
            if member.filename.lower().endswith(MODEL):
                names.append(f"{prefix}{member.filename}")
            elif member.filename.lower().endswith(SUFFIXES) and prefix.count("/") < _MOST_LEVELS:
                names += _models(archive.read(member), path, f"{prefix}{member.filename}/")
    return names


def model_at(path: Path) -> tuple[Path, bytes] | None:
    """Return the path and the bytes of the model at a path inside a container, or of the container's only model.

    Returns:
        None if the path does not lead into a container.

    Raises:
        ModelError: the member does not exist, the path names none of several models, or the container is damaged.
    """
    container = next(
        (part for part in (path, *path.parents) if part.suffix.lower() in SUFFIXES and part.is_file()), None
    )
    if container is None:
        return None
    names, inside = models_in(container), path.relative_to(container).as_posix()
    if inside == "." and len(names) == 1:
        inside = names[0]
    if inside not in names:
        if not names:
            raise ModelError(f"{container}: contains no .tflite model ({_listed(container)})")
        problem = "contains several models" if inside == "." else f"contains no '{inside}'"
        paths = ", ".join(str(container / name) for name in names)
        raise ModelError(f"{container}: {problem}; give one of them: {paths}")
    data = container.read_bytes()
    remaining = inside
    while True:  # opens one level of nested containers at a time
        with _opened(data, container) as archive:
            member = next(name for name in archive.namelist() if remaining == name or remaining.startswith(f"{name}/"))
            data = archive.read(member)
        if remaining == member:
            return container / inside, data
        remaining = remaining[len(member) + 1 :]


def _listed(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    return ", ".join(f"{name:.60}" for name in names[:5]) or "it is empty"


def _opened(data: bytes, path: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise ModelError(f"{path}: not a ZIP file of models, or damaged ({error}); get it again") from None
    limits.check_zip(path, archive.infolist())
    return archive


_PYTORCH = (
    "a PyTorch file, which contains Python objects; export it in PyTorch: "
    "torch.onnx.export(model, (example,), 'model.onnx')"
)
_WEIGHTS = (
    "weights without a network; load them into their model in PyTorch, and export that: "
    "torch.onnx.export(model, (example,), 'model.onnx')"
)
_CHECKPOINT = (
    "a part of a TensorFlow checkpoint, without a network; load it into its model, and model.save('model.keras')"
)
_FROZEN = (
    "a frozen graph of TensorFlow; convert it: pip install tf2onnx, and python -m tf2onnx.convert --graphdef {name} "
    "--inputs INPUT:0 --outputs OUTPUT:0 --output {stem}.onnx"
)
_ORT = (
    "a model in ONNX Runtime's own format; give the .onnx file that it was made from, or convert it: python -c "
    "\"import onnxruntime as o; s = o.SessionOptions(); s.optimized_model_filepath = '{stem}.onnx'; "
    "s.graph_optimization_level = o.GraphOptimizationLevel.ORT_DISABLE_ALL; "
    "s.add_session_config_entry('session.save_model_format', 'ONNX'); o.InferenceSession('{name}', s)\""
)
_COREML = "a Core ML model, which has no converter to another format; export the model that it was made from to ONNX"
_LANGUAGE = "a language model for llama.cpp; glsl-infer runs networks on images and arrays"
_CAFFE = "a Caffe model; convert it: pip install caffe2onnx, and python -m caffe2onnx.convert"
_PADDLE = (
    "a PaddlePaddle model; convert it: pip install paddle2onnx, and paddle2onnx --model_dir . --model_filename "
    "{stem}.pdmodel --params_filename {stem}.pdiparams --save_file {stem}.onnx"
)
_DARKNET = "a Darknet model; convert it to ONNX where it was trained"
_GIVE_SOURCE = "give the file that it was made from, such as .onnx"
_COMPILED = f"a model compiled for one kind of chip; {_GIVE_SOURCE}"
_PICKLED = "a file of Python objects; convert a scikit-learn model with skl2onnx, others by their own library"
_ARCHIVE = "an archive; unpack it, and give the model inside"

_KINDS = {
    **dict.fromkeys((".pt", ".pth", ".pt2", ".ckpt", ".bin", ".torchscript", ".ptl", ".mar"), _PYTORCH),
    ".safetensors": _WEIGHTS,
    **dict.fromkeys((".index", ".meta", ".data-00000-of-00001"), _CHECKPOINT),
    **dict.fromkeys((".pb", ".pbtxt"), _FROZEN),
    ".ort": _ORT,
    **dict.fromkeys((".mlmodel", ".mlpackage", ".mlmodelc"), _COREML),
    **dict.fromkeys((".gguf", ".ggml", ".litertlm"), _LANGUAGE),
    **dict.fromkeys((".caffemodel", ".prototxt"), _CAFFE),
    **dict.fromkeys((".pdmodel", ".pdiparams"), _PADDLE),
    **dict.fromkeys((".weights", ".cfg"), _DARKNET),
    ".param": f"an ncnn model; {_GIVE_SOURCE}",
    **dict.fromkeys((".engine", ".plan", ".trt", ".hef", ".kmodel", ".rknn", ".dlc", ".nb", ".blob"), _COMPILED),
    ".mnn": f"an MNN model; {_GIVE_SOURCE}",
    ".xml": f"an OpenVINO model; {_GIVE_SOURCE}",
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), _PICKLED),
    **dict.fromkeys((".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar"), _ARCHIVE),
    ".glslnn": "exported already; use it with glsl-infer classify, run or inspect",
}
"""Description of a file and how to convert it, by the file name extension. ``described`` fills in {name} and {stem}."""


def is_known(path: Path) -> bool:
    """Return whether the file name extension belongs to a format with advice of its own."""
    return path.suffix.lower() in _KINDS


def described(path: Path, supported: Iterable[str]) -> str:
    """Return the description of a file in an unsupported format and the advice; for an archive, list its files.

    Args:
        path: the file.
        supported: the file name extensions to give for a file of an unknown kind.
    """
    if path.suffix.lower() == ".zip" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
        members = first_of([f"{name:.60}" for name in names])
        return f"an archive of {members}; unpack it, and give the model inside: unzip {path.name}"
    if path.name == "saved_model.pb":
        return "a part of a SavedModel; give its folder, with the folder 'variables' in it"
    unknown = f"not a model file that glsl-infer can read; give a SavedModel folder, or one of: {', '.join(supported)}"
    description = _KINDS.get(path.suffix.lower(), unknown)
    return description.replace("{name}", path.name).replace("{stem}", path.stem)

"""Neural networks as OpenGL ES 2.0 fragment shaders.

    with glsl_infer.Classifier("model.glslnn") as classifier:
        for prediction in classifier.classify("photo.jpg"):
            print(prediction.label, prediction.probability)

``glsl_infer.tasks`` finds faces, hands and people in pictures. ``Session`` is the layer below: pictures and numbers
in, every output and every layer's output on request.
"""

import importlib
import importlib.machinery
import sys

TYPE_CHECKING = False  # checkers know the name: the module typing takes longer than all else here
if TYPE_CHECKING:
    import types
    import typing

    from glsl_infer import errors, tasks
    from glsl_infer.errors import GlslInferError
    from glsl_infer.gl.dma_buf import DmaBuf, DmaBufPlane
    from glsl_infer.graph import reference
    from glsl_infer.runtime import images
    from glsl_infer.runtime.classifier import Classifier, Prediction
    from glsl_infer.runtime.pictures import preprocess
    from glsl_infer.runtime.pictures.picture_input import TexturePicture
    from glsl_infer.runtime.session import Session
    from glsl_infer.runtime.statistics import Statistics
del TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "Classifier",
    "DmaBuf",
    "DmaBufPlane",
    "GlslInferError",
    "Prediction",
    "Session",
    "Statistics",
    "TexturePicture",
    "errors",
    "images",
    "preprocess",
    "reference",
    "tasks",
]

_HOMES = {
    "Classifier": "runtime.classifier",
    "DmaBuf": "gl.dma_buf",
    "DmaBufPlane": "gl.dma_buf",
    "GlslInferError": "errors",
    "Prediction": "runtime.classifier",
    "Session": "runtime.session",
    "Statistics": "runtime.statistics",
    "TexturePicture": "runtime.pictures.picture_input",
}
"""Where a public name is: NumPy, Pillow and OpenGL are imported when one is used, not before."""

_MODULES = {
    "classifier": "runtime.classifier",
    "errors": "errors",
    "images": "runtime.images",
    "preprocess": "runtime.pictures.preprocess",
    "reference": "graph.reference",
    "session": "runtime.session",
    "tasks": "tasks",
}
"""The public modules, which keep the import paths that they had at the top of the package."""

_ROOMS = ("bundle", "cpu", "gl", "graph", "program", "runtime", "support")
"""What a session imports, and so was always there as an attribute."""


def __getattr__(name: str) -> "typing.Any":
    if name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES or name in _ROOMS:
        value = importlib.import_module(f"{__name__}.{_MODULES.get(name, name)}")
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Alias:
    """Finds and loads ``glsl_infer.session`` as the module ``glsl_infer.runtime.session`` itself, and others so."""

    @staticmethod
    def find_spec(name: str, path: object, target: object = None) -> "importlib.machinery.ModuleSpec | None":
        package, _, last = name.rpartition(".")
        is_alias = package == __name__ and _MODULES.get(last, last) != last
        return importlib.machinery.ModuleSpec(name, _Alias()) if is_alias else None  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> "types.ModuleType":
        module = importlib.import_module(f"{__name__}.{_MODULES[spec.name.rpartition('.')[2]]}")
        self._spec = module.__spec__
        return module

    def exec_module(self, module: "types.ModuleType") -> None:
        module.__spec__ = self._spec  # the import system has put the alias there


sys.meta_path.append(_Alias)

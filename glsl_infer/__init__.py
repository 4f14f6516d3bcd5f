"""Neural networks as OpenGL ES 2.0 fragment shaders.

    with glsl_infer.Classifier("model.glslnn") as classifier:
        for prediction in classifier.classify("photo.jpg"):
            print(prediction.label, prediction.probability)

``glsl_infer.tasks`` finds faces, hands and people. ``Session`` is the layer below: pictures and numbers in, every output and every layer's output on request.
"""

import importlib
import sys
from types import ModuleType

from glsl_infer import errors
from glsl_infer.errors import GlslInferError
from glsl_infer.gl.dma_buf import DmaBuf, DmaBufPlane
from glsl_infer.graph import reference
from glsl_infer.runtime import classifier, images, session
from glsl_infer.runtime.classifier import Classifier, Prediction
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.picture_input import TexturePicture
from glsl_infer.runtime.session import Session
from glsl_infer.runtime.statistics import Statistics

__version__ = "0.1.0"

# The public modules keep the import paths that they had at the top of the package.
for _module in (classifier, images, preprocess, reference, session):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module


def __getattr__(name: str) -> ModuleType:
    """Import ``glsl_infer.tasks`` where it is asked for: on a Pi Zero each import counts."""
    if name != "tasks":
        raise AttributeError(f"module 'glsl_infer' has no attribute '{name}'")
    return importlib.import_module("glsl_infer.tasks")


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
]

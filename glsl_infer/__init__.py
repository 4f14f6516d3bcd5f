"""Neural networks as OpenGL ES 2.0 fragment shaders.

    with glsl_infer.Classifier("model.glslnn") as classifier:
        for prediction in classifier.classify("photo.jpg"):
            print(prediction.label, prediction.probability)

``Session`` is the layer below: uint8 pictures in, logits out, and every layer's output on request.
"""

from glsl_infer import errors, images, preprocess, reference
from glsl_infer.classifier import Classifier, Prediction
from glsl_infer.dma_buf import DmaBuf, DmaBufPlane
from glsl_infer.errors import GlslInferError
from glsl_infer.picture_input import TexturePicture
from glsl_infer.session import Session, Statistics

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
]

"""The bundle file: write, read, check."""

from glsl_infer.bundle.bundle import Bundle, classes_of, split_labels
from glsl_infer.bundle.container import MANIFEST, SUFFIX
from glsl_infer.bundle.file import read, write

__all__ = ["MANIFEST", "SUFFIX", "Bundle", "classes_of", "read", "split_labels", "write"]

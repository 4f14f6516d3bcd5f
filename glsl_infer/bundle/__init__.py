"""The bundle file: write, read, check."""

from glsl_infer.bundle.bundle import MANIFEST, SUFFIX, Bundle, classes_of, read, split_labels, write

__all__ = ["MANIFEST", "SUFFIX", "Bundle", "classes_of", "read", "split_labels", "write"]

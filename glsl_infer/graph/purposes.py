"""Purposes of an output: class scores, an image, a mask of classes, or other values."""

CLASSES, IMAGE, MASK, VALUES = PURPOSES = ("classes", "image", "mask", "values")

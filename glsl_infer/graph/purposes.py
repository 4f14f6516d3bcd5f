"""What an output of a network is for."""

CLASSES, IMAGE, MASK, VALUES = PURPOSES = ("classes", "image", "mask", "values")

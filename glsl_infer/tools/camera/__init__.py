"""Frames of a camera, a film or a folder, one after the other, for a loop that ends cleanly.

``sources`` opens them, ``importing`` chooses between dma-bufs and copies, ``latest`` keeps a live one from queueing
behind a slow consumer, ``stopping`` turns signals into an end of the loop; ``glsl-infer camera`` is that loop.
"""

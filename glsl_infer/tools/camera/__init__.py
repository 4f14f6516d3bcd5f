"""Frames of a camera, a film or a folder for a loop that ends cleanly.

``sources`` opens them, ``importing`` chooses between dma-bufs and copies, ``latest`` drops frames of a live source if
the consumer is slow, and ``stop_signals`` turns signals into an end of the loop. ``glsl-infer camera`` is such a loop.
"""

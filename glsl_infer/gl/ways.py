"""Names of the methods of context creation. The command line lists them without loading a driver."""

from __future__ import annotations

SURFACELESS, DEVICE, GLFW = WAYS = ("surfaceless", "device", "glfw")
"""In the order tried by ``auto``."""

CHOICES = ("auto", *WAYS)

"""Names of the ways to create a context, for the command line, which offers them before a driver is loaded."""

from __future__ import annotations

SURFACELESS, DEVICE, GLFW = WAYS = ("surfaceless", "device", "glfw")
"""In the order in which ``auto`` tries them."""

CHOICES = ("auto", *WAYS)

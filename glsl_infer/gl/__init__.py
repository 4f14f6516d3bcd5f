"""OpenGL ES 2.0: contexts, API calls, limits of the driver, GL objects."""

SURFACELESS, DEVICE, GLFW = WAYS = ("surfaceless", "device", "glfw")
"""In the order tried by ``auto``."""

CHOICES = ("auto", *WAYS)
"""Names of the methods of context creation. The command line lists them without loading a driver."""

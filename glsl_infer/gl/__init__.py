"""OpenGL ES 2.0: contexts, API calls, limits of the driver, GL objects."""

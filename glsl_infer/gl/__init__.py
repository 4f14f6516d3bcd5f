"""OpenGL ES 2.0: contexts, the calls that are used, the driver's limits, GL objects."""

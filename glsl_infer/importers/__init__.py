"""A model file of another framework -> a graph: one folder for each kind of file."""

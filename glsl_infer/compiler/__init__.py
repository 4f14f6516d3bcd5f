"""The compiler: it simplifies a graph, chooses ranges of its values, and lowers it to a program."""

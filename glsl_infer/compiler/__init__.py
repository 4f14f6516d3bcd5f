"""Graph -> simpler graph -> ranges -> program."""

"""Compiler: simplifies a graph, chooses its ranges, and generates its program."""

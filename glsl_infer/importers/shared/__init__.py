"""Helpers of all importers: names, padding, inputs and outputs."""

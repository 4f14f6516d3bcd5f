"""Executes a bundle: numbers, pictures, labels."""

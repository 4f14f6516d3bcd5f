"""Executes a bundle: a picture in, numbers, pictures or labels out."""

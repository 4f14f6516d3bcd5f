"""Importers: one module for each kind of source model."""

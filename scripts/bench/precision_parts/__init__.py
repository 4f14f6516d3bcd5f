"""The measurements of scripts/precision.py."""

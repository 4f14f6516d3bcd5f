"""The measurements of scripts/bench/precision.py."""

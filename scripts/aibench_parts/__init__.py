"""The measurements of scripts/aibench.py, and the tables it writes."""

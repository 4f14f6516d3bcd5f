"""The measurements of scripts/bench/aibench.py, and the tables it writes."""

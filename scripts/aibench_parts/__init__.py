"""What scripts/aibench.py measures, and the tables that it writes."""

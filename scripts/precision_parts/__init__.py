"""What scripts/precision.py measures, and how."""

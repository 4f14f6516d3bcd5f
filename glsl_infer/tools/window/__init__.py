"""A window that shows pictures and labels."""

"""The sections of accuracy.md: their measurements, and the text written from the stored results."""

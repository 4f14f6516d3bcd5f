"""The sections of accuracy.md: what measures each, and how the page is written from the stored numbers."""

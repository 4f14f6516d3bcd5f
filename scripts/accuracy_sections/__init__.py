"""The sections of docs/accuracy.md: what measures each, and how the page is written from the stored numbers."""

"""Developer tools: export, calibrate, measure, compare, inspect and deploy networks."""

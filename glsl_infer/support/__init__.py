"""Files, settings, child processes: nothing of networks."""

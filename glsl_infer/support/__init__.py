"""Helpers without knowledge of networks: files, settings, child processes, memory, threads."""

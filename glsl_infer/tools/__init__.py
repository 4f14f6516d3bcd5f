"""What a developer uses."""

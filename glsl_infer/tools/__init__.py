"""What a developer uses: export, measure, compare, look, deploy."""

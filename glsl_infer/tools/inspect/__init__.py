"""Contents of bundles and model files, as data and as pages for users."""

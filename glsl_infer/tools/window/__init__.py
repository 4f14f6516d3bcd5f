"""Window that shows images with labels or masks."""

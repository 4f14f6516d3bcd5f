"""What operators draw with: bindings, GLSL from templates, weights, folded ranges."""

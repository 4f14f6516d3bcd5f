"""Generation of passes: bindings, GLSL from templates, encoded weights, folded ranges."""

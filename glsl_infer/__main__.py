"""``python -m glsl_infer`` is ``glsl-infer``."""

import sys

from glsl_infer.cli import main

if __name__ == "__main__":
    sys.exit(main())

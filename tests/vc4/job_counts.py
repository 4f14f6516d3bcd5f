"""Draw a frame of each bundle in the arguments and print the counters of its jobs, as JSON.

It runs in a process on the virtual VideoCore IV.
"""

from __future__ import annotations

import json
import sys

from glsl_infer import bundle as bundles
from glsl_infer.bundle import probe
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session
from glsl_infer.tools.videocore.executor import Controls
from glsl_infer.tools.videocore.simulation import jobs_of


def main() -> None:
    """Print the counters of each job, by bundle."""
    controls, results = Controls(), {}
    with Context("surfaceless") as context:
        for path in sys.argv[1:]:
            bundle = bundles.read(path)
            results[path] = []
            with Session(bundle, context=context) as session:
                session.run(probe.inputs(bundle.manifest.inputs))  # exclude compilation and uploads
                context.gl.Finish()
                for calls in jobs_of(session.frame):
                    before = controls.counters()
                    for function, arguments in calls:
                        function(*arguments)
                    context.gl.Finish()
                    after = controls.counters()
                    results[path].append({name: after[name] - before[name] for name in after})
    print(json.dumps(results))


if __name__ == "__main__":
    main()

/**
 * Runs {@code .glslnn} bundles on OpenGL ES 2.0: plain Java 8, without Android and without lambdas.
 *
 * <p>The classes are those of the Python package {@code glsl_infer}, by the same names:
 *
 * <pre>
 *   Bundle          bundle.py           the file: container, hashes, labels
 *   ManifestReader  manifest_json.py    manifest.json, strictly
 *   ManifestCheck   manifest_check.py   whether its parts fit together (with PassCheck, Operators)
 *   Manifest, Program, Layout           manifest.py, program.py, layout.py: plain data
 *   Gl, GlObjects   gl/api.py, gl/objects.py
 *   Device          gl/context.py       what is known of a context: how stores round, who set its state
 *   DriverLimits    gl/limits.py
 *   Rounding, LateFetch                 gl/rounding.py, drivers/videocore.py
 *   Frame           frame.py            a frame as a list of GL calls
 *   Session         session.py          executes passes
 *   Linker, Transfers, SelfCheck        linking.py, transfers.py, selfcheck.py: its parts
 *   Pace            (the app's)         a network over several frames of a screen
 *   Probe, Texels, Preprocess, Classifier, Errors, Fields (json_fields.py)
 * </pre>
 *
 * <pre>
 *   Bundle bundle = Bundle.read(stream, "x22.glslnn");
 *   Session session = new Session(new Device(gl), bundle);        // in the thread of a current ES 2.0 context
 *   float[] logits = session.run(Preprocess.toSquare(argb, width, height, bundle.manifest.input.size));
 *   for (Classifier.Prediction one : Classifier.rank(bundle.labels, logits, 3)) ...
 * </pre>
 */
package glslinfer.runner;

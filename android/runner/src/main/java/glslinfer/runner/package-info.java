/**
 * Runs {@code .glslnn} bundles on OpenGL ES 2.0: plain Java 8, without Android and without lambdas.
 *
 * <p>The classes are those of the Python package {@code glsl_infer}, by the same names:
 *
 * <pre>
 *   Bundle, Container                   bundle.py, container.py: the file, its hashes, its labels
 *   ManifestReader, EndReader, ValueReader, PartReader
 *                                       manifest_json.py and its parts: manifest.json, strictly
 *   PassReader                          pass_table.py: passes.bin, strictly
 *   ManifestCheck, PassCheck, EndCheck, UniformCheck, VertexShader, Caps
 *                                       manifest_check.py, ends_check.py, uniforms.py ...: whether its parts fit
 *   Rule, FormatConstants               rules.py, format_constants.py
 *   Manifest, Input, Output, Program, Layout
 *                                       manifest.py, program.py, layout.py: plain data
 *   Gl, GlObjects                       gl/api.py, gl/objects.py
 *   Device                              gl/context.py: what is known of a context: how stores round, who set its state
 *   DriverLimits                        runtime/limits.py
 *   Rounding, LateFetch, RolledFetches  gl/rounding.py, drivers/
 *   Frame, Recordings                   frame.py, prepared.py: a frame as a list of GL calls
 *   Session                             session.py: executes passes
 *   Stored, Transfers, HostStep, Result inputs.py, transfers.py, host_steps.py: what goes in and comes out
 *   Linker, SelfCheck                   linking.py, selfcheck.py
 *   Pace                                (the app's) a network over several frames of a screen
 *   Picture, Fit, Preprocess, Resample  pictures/: any picture as a model reads it
 *   Probe, Texels, Classifier, Images, Errors, Fields (json_fields.py)
 * </pre>
 *
 * <pre>
 *   Bundle bundle = Bundle.read(stream, "x22.glslnn");
 *   Session session = new Session(new Device(gl), bundle);        // in the thread of a current ES 2.0 context
 *   float[] logits = session.run(new Picture(argb, width, height));
 *   for (Classifier.Prediction best : Classifier.rank(bundle, logits, 3)) ...
 * </pre>
 */
package glslinfer.runner;

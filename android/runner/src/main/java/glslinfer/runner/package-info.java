/**
 * Runs {@code .glslnn} bundles on OpenGL ES 2.0: plain Java 8, without Android and without lambdas.
 *
 * <p>The classes correspond to modules of the Python package {@code glsl_infer}:
 *
 * <pre>
 *   Bundle, Container                   bundle.py, container.py: the file, its hashes, its labels
 *   Described, ManifestReader           described.py, manifest_json.py: manifest.json, strictly
 *   PassReader                          pass_table.py: passes.bin, strictly
 *   ManifestCheck, ProgramCheck         manifest_check.py, program_check.py: consistency
 *   Rule, FormatConstants               rules.py, format_constants.py
 *   Manifest, Input, Output, Program, Layout
 *                                       manifest.py, program.py, layout.py: plain data
 *   Gl, GlObjects                       gl/api.py, gl/objects.py
 *   Device                              gl/context.py, drivers/: state of a context, and needs of its driver
 *   DriverLimits                        gl/limits.py
 *   Rounding                            gl/rounding.py
 *   Frame, Recordings                   frame.py, prepared.py: a frame as a list of GL calls
 *   Session                             session.py: executes passes
 *   Stored, Transfers, HostStep, Result inputs.py, transfers.py, host_steps.py: inputs and outputs
 *   Linker, SelfCheck                   linking.py, selfcheck.py
 *   Pace                                (for the app) spreads a network over several screen frames
 *   Picture, Fit, Preprocess, Resample  pictures/: fitting of images to inputs
 *   Probe, Texels, Classifier, Images, Errors
 * </pre>
 *
 * <pre>
 *   Bundle bundle = Bundle.read(stream, "x22.glslnn");
 *   Session session = new Session(new Device(gl), bundle);        // on the thread of a current ES 2.0 context
 *   float[] logits = session.run(new Picture(argb, width, height));
 *   for (Classifier.Prediction best : Classifier.rank(bundle, logits, 3)) ...
 * </pre>
 */
package glslinfer.runner;

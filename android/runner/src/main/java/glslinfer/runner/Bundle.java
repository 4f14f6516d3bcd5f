package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * A {@code .glslnn} file in memory, read and verified: manifest, passes, shaders, weights, labels.
 *
 * <p>docs/reference/bundle-format.md specifies it. The only executable content is GLSL, executed by the driver.
 */
public final class Bundle {
    /** Content of manifest.json. */
    public final Manifest manifest;

    /** Passes of a frame, in order. */
    public final List<Program.Pass> passes;

    /** Names of the classes, in the order of the logits; empty if the result is an image. */
    public final List<String> labels;

    /** Name of the file in messages. */
    public final String file;

    /** Rule of the answer "none of these" for a model without a class for it; null if none was measured. */
    final NoneRule noneRule;

    private final Map<String, byte[]> members;

    private Bundle(
            Manifest manifest,
            List<Program.Pass> passes,
            List<String> labels,
            String file,
            NoneRule noneRule,
            Map<String, byte[]> members) {
        this.manifest = manifest;
        this.passes = passes;
        this.labels = labels;
        this.file = file;
        this.noneRule = noneRule;
        this.members = members;
    }

    /**
     * Reads and verifies a bundle: all hashes, all fields, and their consistency.
     *
     * @param stream a file, asset or resource; read to its end, and not closed
     * @param file its name in messages
     * @throws BundleError the file is truncated, damaged, of another format or of a newer version
     * @throws IOException the stream cannot be read
     */
    public static Bundle read(InputStream stream, String file) throws IOException {
        Rule.Cursor at = new Rule.Cursor();
        try {
            return read(stream, file, at);
        } catch (BundleError error) {
            throw error.of(file, at.rule);
        } catch (OutOfMemoryError error) {
            throw new BundleError(file + ": needs more memory than this program has; use a smaller model");
        }
    }

    private static Bundle read(InputStream stream, String file, Rule.Cursor at) throws IOException {
        at.rule = Rule.CONTAINER;
        Map<String, byte[]> members = Container.unpack(stream);
        byte[] text = members.remove(Container.MANIFEST);
        if (text == null) {
            throw new BundleError(
                    members.isEmpty()
                            ? "not a glsl-infer model, or cut off before its end; " + Container.AGAIN
                            : "a zip file, but not a glsl-infer model (it has no manifest.json);"
                                    + " give a *.glslnn file");
        }
        at.rule = Rule.KEYS;
        Object data = Json.parse(text);
        ManifestReader.checkVersion(data, at); // first: in a newer version the rest may look different
        at.rule = Rule.CONTAINER;
        Container.checkNames(members.keySet());
        at.rule = Rule.MEMBERS;
        for (String name : new String[] {PassReader.MEMBER, ManifestCheck.GRAPH, ManifestCheck.LABELS}) {
            if (!members.containsKey(name)) {
                throw new BundleError("member '" + name + "' is missing; " + Container.AGAIN);
            }
        }
        Manifest manifest = ManifestReader.read(data, at);
        at.rule = Rule.CONTAINER;
        Container.checkHashes(manifest.members, members);
        List<Program.Pass> passes = new ManifestCheck(manifest, members, at).check();
        members.remove(PassReader.MEMBER);
        members.remove(ManifestCheck.GRAPH); // the runner checks only its hash
        at.rule = Rule.LABELS;
        List<String> labels = splitLabels(Json.text(members.get(ManifestCheck.LABELS)));
        if (labels.size() != manifest.classes()) {
            throw new BundleError(
                    labels.size() + " labels for " + manifest.classes() + " classes; give a line for each class");
        }
        NoneRule noneRule = FormatConstants.NONE_RULES.get(Container.sha256(text));
        return new Bundle(manifest, passes, labels, file, noneRule, members);
    }

    /** Returns the bytes of an existing member. */
    byte[] member(String name) {
        return members.get(name);
    }

    /** Returns the lines of a labels file. Only a line feed (or CR LF) ends a line, and the last one can lack it. */
    static List<String> splitLabels(String text) {
        List<String> lines = new ArrayList<String>();
        for (int start = 0; start < text.length(); ) {
            int end = text.indexOf('\n', start);
            String line = text.substring(start, end < 0 ? text.length() : end);
            lines.add(line.endsWith("\r") ? line.substring(0, line.length() - 1) : line);
            start += end < 0 ? text.length() : end - start + 1;
        }
        return Collections.unmodifiableList(lines);
    }
}

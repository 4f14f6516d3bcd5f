package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipInputStream;

/**
 * A {@code .glslnn} file in memory, read and verified: manifest, passes, shaders, weights, labels.
 *
 * <p>docs/bundle-format.md specifies it. Nothing in a bundle is executed but GLSL, by the driver.
 */
public final class Bundle {
    private static final String MANIFEST = "manifest.json";
    private static final String AGAIN = "export or copy the file again";
    private static final Pattern NAME =
            Pattern.compile(
                    "(manifest|graph)\\.json|passes\\.bin|labels\\.txt"
                            + "|(shaders|weights)/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*");

    /** Everything that manifest.json says. */
    public final Manifest manifest;

    /** The draws of a frame, in order. */
    public final List<Program.Pass> passes;

    /** The names of the classes, in the order of the logits; empty where the result is an image. */
    public final List<String> labels;

    /** What messages call the file. */
    public final String file;

    private final Map<String, byte[]> members;

    private Bundle(
            Manifest manifest,
            List<Program.Pass> passes,
            List<String> labels,
            String file,
            Map<String, byte[]> members) {
        this.manifest = manifest;
        this.passes = passes;
        this.labels = labels;
        this.file = file;
        this.members = members;
    }

    /**
     * Reads and verifies a bundle: every hash, every field, and that the parts fit together.
     *
     * @param stream a file, an asset, a resource; read to its end, and left open
     * @param file what messages call it
     * @throws BundleError the file is truncated, foreign, damaged or of a newer version; the message names it
     * @throws IOException the stream cannot be read
     */
    public static Bundle read(InputStream stream, String file) throws IOException {
        try {
            Map<String, byte[]> members = unpack(stream);
            byte[] text = members.remove(MANIFEST);
            if (text == null) {
                throw new BundleError(
                        members.isEmpty()
                                ? "not a glsl-infer model, or cut off before its end; " + AGAIN
                                : "a zip file, but not a glsl-infer model (it has no manifest.json);"
                                        + " give a *.glslnn file");
            }
            if (text.length > FormatConstants.MAX_MANIFEST_BYTES) {
                throw new BundleError("manifest.json unpacks to more than 16 MiB");
            }
            Object data = Json.parse(text);
            ManifestReader.checkVersion(data); // first of all: in a newer version the rest may look different
            for (String name : members.keySet()) {
                if (!NAME.matcher(name).matches()) {
                    throw new BundleError("not allowed in a model: member '" + Fields.shown(name) + "'");
                }
            }
            Manifest manifest = ManifestReader.read(data);
            checkHashes(manifest, members);
            List<Program.Pass> passes = ManifestCheck.check(manifest, members);
            members.remove(PassReader.MEMBER);
            members.remove(ManifestCheck.GRAPH); // its hash is right, and that is all that a runner wants to know
            List<String> labels = splitLabels(Json.text(members.get(ManifestCheck.LABELS)));
            if (labels.size() != manifest.classes()) {
                throw new BundleError(labels.size() + " labels for " + manifest.classes() + " classes");
            }
            return new Bundle(manifest, passes, labels, file, members);
        } catch (BundleError error) {
            throw new BundleError(file + ": " + error.getMessage());
        } catch (OutOfMemoryError error) {
            throw new BundleError(file + ": needs more memory than this program has; use a smaller model");
        }
    }

    /** Returns the bytes of a member, which is there. */
    byte[] member(String name) {
        return members.get(name);
    }

    /** Returns the lines of a labels file; only a line feed (or CR LF) ends one, and the last may lack it. */
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

    private static Map<String, byte[]> unpack(InputStream stream) throws IOException {
        Map<String, byte[]> members = new LinkedHashMap<String, byte[]>();
        long left = FormatConstants.MAX_BYTES;
        long directory = 0; // a stream comes to it last; what stands in it of each member is this at least
        byte[] chunk = new byte[1 << 16];
        ZipInputStream zip = new ZipInputStream(stream); // not closed: the stream is the caller's
        String name = "its first member";
        try {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                name = "member '" + Fields.shown(entry.getName()) + "'";
                directory += 46 + entry.getName().length();
                if (directory > FormatConstants.MAX_DIRECTORY_BYTES) {
                    throw new BundleError("the directory of the zip is larger than 16 MiB; " + AGAIN);
                }
                if (members.containsKey(entry.getName())) {
                    throw new BundleError("not allowed in a model: " + name + " twice");
                }
                // What a file from a seekable disk declares; -1 where the size follows the data.
                long declared = entry.getSize();
                long allowed = declared < 0 ? left : Math.min(declared, left);
                if (declared > left) {
                    throw new BundleError("unpacks to more than " + (FormatConstants.MAX_BYTES >> 20) + " MiB");
                }
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                for (int count = zip.read(chunk); count >= 0; count = zip.read(chunk)) {
                    if (out.size() + count > allowed) {
                        throw new BundleError(name + " unpacks to more than is allowed or declared; " + AGAIN);
                    }
                    out.write(chunk, 0, count);
                }
                left -= out.size();
                members.put(entry.getName(), out.toByteArray());
            }
        } catch (ZipException error) {
            throw new BundleError("damaged in " + name + " (" + error.getMessage() + "); " + AGAIN);
        } catch (java.io.EOFException error) {
            throw new BundleError("cut off before its end, in " + name + "; " + AGAIN);
        } catch (IllegalArgumentException error) { // what Java makes of names that are no text
            throw new BundleError("a member's name is no text; " + AGAIN);
        }
        return members;
    }

    private static void checkHashes(Manifest manifest, Map<String, byte[]> members) {
        Set<String> missing = new TreeSet<String>(manifest.members.keySet());
        missing.removeAll(members.keySet());
        Set<String> extra = new TreeSet<String>(new HashSet<String>(members.keySet()));
        extra.removeAll(manifest.members.keySet());
        if (!missing.isEmpty() || !extra.isEmpty()) {
            String what = missing.isEmpty() ? "not in the manifest" : "missing";
            throw new BundleError(
                    "member '" + (missing.isEmpty() ? extra : missing).iterator().next() + "' is " + what + "; "
                            + AGAIN);
        }
        MessageDigest sha256;
        try {
            sha256 = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error); // every Java and every Android has it
        }
        for (Map.Entry<String, String> one : manifest.members.entrySet()) {
            StringBuilder digest = new StringBuilder();
            for (byte part : sha256.digest(members.get(one.getKey()))) {
                digest.append(Character.forDigit(part >> 4 & 15, 16)).append(Character.forDigit(part & 15, 16));
            }
            if (!digest.toString().equals(one.getValue())) {
                throw new BundleError("member '" + one.getKey() + "' is damaged (its sha256 differs); " + AGAIN);
            }
        }
    }
}

package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** The zip container of a bundle: its members, their allowed names and sizes, and their hashes. */
final class Container {
    static final String MANIFEST = "manifest.json";
    static final String AGAIN = "export or copy the file again";

    private static final Pattern NAME = Pattern.compile(FormatConstants.FILE_PATTERN);

    private Container() {}

    /**
     * Returns all members by name.
     *
     * @param stream read to its end, and not closed
     * @throws BundleError it is not a zip, is damaged or truncated, has a duplicate name, or unpacks to too many bytes
     */
    static Map<String, byte[]> unpack(InputStream stream) throws IOException {
        byte[] file = read(stream);
        List<ZipDirectory.Entry> entries = ZipDirectory.read(file);
        Map<String, byte[]> members = new LinkedHashMap<String, byte[]>();
        long totalBytes = 0;
        for (ZipDirectory.Entry entry : entries) {
            String name = "member '" + Json.shown(entry.name) + "'";
            if (members.put(entry.name, new byte[0]) != null) {
                throw new BundleError("not allowed in a model: " + name + " twice");
            }
            if (entry.method != 8 && (entry.method != 0 || entry.packed != entry.size)) {
                throw new BundleError(name + " is compressed in a way that is not supported");
            }
            int maxBytes = maxBytesOf(entry.name);
            if (entry.size > maxBytes) {
                throw new BundleError(entry.name + " unpacks to more than " + (maxBytes >> 20) + " MiB");
            }
            totalBytes += entry.size;
        }
        if (totalBytes > FormatConstants.MAX_BYTES) {
            throw new BundleError("unpacks to more than " + (FormatConstants.MAX_BYTES >> 20) + " MiB");
        }
        ZipDirectory.check(file, entries);
        for (ZipDirectory.Entry entry : entries) {
            members.put(entry.name, ZipDirectory.unpack(file, entry));
        }
        return members;
    }

    /** Returns all bytes of a file, up to twice the largest size of members and directory. */
    private static byte[] read(InputStream stream) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] chunk = new byte[1 << 16];
        for (int count = stream.read(chunk); count >= 0; count = stream.read(chunk)) {
            out.write(chunk, 0, count);
            if (out.size() > FormatConstants.MAX_BYTES + 2 * FormatConstants.MAX_DIRECTORY_BYTES) {
                throw new BundleError("is larger than any model; " + AGAIN);
            }
        }
        return out.toByteArray();
    }

    private static int maxBytesOf(String member) {
        if (member.equals(MANIFEST)) {
            return FormatConstants.MAX_MANIFEST_BYTES;
        }
        if (member.equals(ManifestCheck.GRAPH)) {
            return FormatConstants.MAX_GRAPH_BYTES;
        }
        if (member.equals(ManifestCheck.LABELS)) {
            return FormatConstants.MAX_LABELS_BYTES;
        }
        return member.equals(PassReader.MEMBER) ? FormatConstants.MAX_TABLE_BYTES : FormatConstants.MAX_BYTES;
    }

    /** Refuses members that are not allowed in a bundle. */
    static void checkNames(Set<String> names) {
        for (String name : names) {
            if (!NAME.matcher(name).matches()) {
                throw new BundleError("not allowed in a model: member '" + Json.shown(name) + "'");
            }
        }
    }

    /**
     * Compares members with the list in the manifest.
     *
     * @param digests SHA-256 of each member, by name
     * @throws BundleError with the first member that is missing, not listed or damaged
     */
    static void checkHashes(Map<String, String> digests, Map<String, byte[]> members) {
        Set<String> missing = new TreeSet<String>(digests.keySet());
        missing.removeAll(members.keySet());
        Set<String> extra = new TreeSet<String>(members.keySet());
        extra.removeAll(digests.keySet());
        if (!missing.isEmpty() || !extra.isEmpty()) {
            String fault = missing.isEmpty() ? "not in the manifest" : "missing";
            throw new BundleError(
                    "member '" + (missing.isEmpty() ? extra : missing).iterator().next() + "' is " + fault + "; "
                            + AGAIN);
        }
        for (Map.Entry<String, String> entry : digests.entrySet()) {
            if (!sha256(members.get(entry.getKey())).equals(entry.getValue())) {
                throw new BundleError("member '" + entry.getKey() + "' is damaged (its sha256 differs); " + AGAIN);
            }
        }
    }

    /** Returns the SHA-256 of bytes in hexadecimal digits. */
    static String sha256(byte[] bytes) {
        try {
            StringBuilder digest = new StringBuilder();
            for (byte part : MessageDigest.getInstance("SHA-256").digest(bytes)) {
                digest.append(Character.forDigit(part >> 4 & 15, 16)).append(Character.forDigit(part & 15, 16));
            }
            return digest.toString();
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error); // every Java and every Android has it
        }
    }
}

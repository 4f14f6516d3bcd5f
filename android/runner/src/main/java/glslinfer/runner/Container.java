package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipInputStream;

/** The zip that a bundle is: its members, what they may be called, how large they may be, and their hashes. */
final class Container {
    static final String MANIFEST = "manifest.json";
    static final String AGAIN = "export or copy the file again";

    private static final Pattern NAME = Pattern.compile(FormatConstants.FILE_PATTERN);

    private Container() {}

    /**
     * Returns all members by name.
     *
     * @param stream read to its end, and left open
     * @throws BundleError it is no zip, is damaged or cut off, has a name twice, or unpacks to too much
     */
    static Map<String, byte[]> unpack(InputStream stream) throws IOException {
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
                int most = mostBytes(entry.getName());
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                for (int count = zip.read(chunk); count >= 0; count = zip.read(chunk)) {
                    if (out.size() + count > most) {
                        throw new BundleError(entry.getName() + " unpacks to more than " + (most >> 20) + " MiB");
                    }
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

    private static int mostBytes(String member) {
        if (member.equals(MANIFEST)) {
            return FormatConstants.MAX_MANIFEST_BYTES;
        }
        if (member.equals(ManifestCheck.GRAPH)) {
            return FormatConstants.MAX_GRAPH_BYTES;
        }
        return member.equals(PassReader.MEMBER) ? FormatConstants.MAX_TABLE_BYTES : FormatConstants.MAX_BYTES;
    }

    /** Refuses members that no bundle has. */
    static void checkNames(Set<String> names) {
        for (String name : names) {
            if (!NAME.matcher(name).matches()) {
                throw new BundleError("not allowed in a model: member '" + Fields.shown(name) + "'");
            }
        }
    }

    /**
     * Compares members with the list of the manifest.
     *
     * @param digests the SHA-256 of each, by name
     * @throws BundleError naming the first member that is missing, not listed or damaged
     */
    static void checkHashes(Map<String, String> digests, Map<String, byte[]> members) {
        Set<String> missing = new TreeSet<String>(digests.keySet());
        missing.removeAll(members.keySet());
        Set<String> extra = new TreeSet<String>(members.keySet());
        extra.removeAll(digests.keySet());
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
        for (Map.Entry<String, String> entry : digests.entrySet()) {
            StringBuilder digest = new StringBuilder();
            for (byte part : sha256.digest(members.get(entry.getKey()))) {
                digest.append(Character.forDigit(part >> 4 & 15, 16)).append(Character.forDigit(part & 15, 16));
            }
            if (!digest.toString().equals(entry.getValue())) {
                throw new BundleError("member '" + entry.getKey() + "' is damaged (its sha256 differs); " + AGAIN);
            }
        }
    }
}

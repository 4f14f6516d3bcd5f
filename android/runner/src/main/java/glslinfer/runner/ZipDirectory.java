package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Reader of a bundle's zip file, whose directory and members must be unambiguous.
 *
 * <p>Members follow each other from the first byte on, then comes the directory, then its end record, and nothing else.
 * A member's own header agrees with the directory.
 */
final class ZipDirectory {
    private static final long END = 0x06054b50;
    private static final int END_LENGTH = 22;
    private static final long ENTRY = 0x02014b50;
    private static final int ENTRY_LENGTH = 46;
    private static final long LOCAL = 0x04034b50;
    private static final int LOCAL_LENGTH = 30;
    private static final int FLAGS = 0x0806; // compression level, and the flag of UTF-8 names

    private ZipDirectory() {}

    /** A member, as described by the directory. */
    static final class Entry {
        String name;
        int flags;
        int method;
        long crc;
        long packed;
        long size;

        /** Position of its header. */
        long offset;

        /** Position of its directory entry. */
        int directoryOffset;
    }

    /** Returns the members, in the order of the directory; throws BundleError. */
    static List<Entry> read(byte[] file) {
        int end = file.length - END_LENGTH;
        if (end < 0 || u32(file, end) != END) {
            throw noZip();
        }
        if (u32(file, end + 12) > FormatConstants.MAX_DIRECTORY_BYTES) {
            throw new BundleError("the directory of the zip is larger than 16 MiB; " + Container.AGAIN);
        }
        int count = u16(file, end + 10);
        boolean plain = u32(file, end + 4) == 0 && u16(file, end + 8) == count && u16(file, end + 20) == 0;
        if (!plain || u32(file, end + 16) + u32(file, end + 12) != end) {
            throw noZip();
        }
        List<Entry> entries = new ArrayList<Entry>();
        int offset = (int) u32(file, end + 16);
        for (int k = 0; k < count; k++) {
            if (offset + ENTRY_LENGTH > end || u32(file, offset) != ENTRY) {
                throw noZip();
            }
            int length = u16(file, offset + 28);
            if (u32(file, offset + 30) != 0 || offset + ENTRY_LENGTH + length > end) {
                throw new BundleError("the directory of the zip has more than a model's: extra fields or comments");
            }
            Entry entry = new Entry();
            entry.name = new String(file, offset + ENTRY_LENGTH, length, Charset.forName("ISO-8859-1"));
            entry.flags = u16(file, offset + 8);
            entry.method = u16(file, offset + 10);
            entry.crc = u32(file, offset + 16);
            entry.packed = u32(file, offset + 20);
            entry.size = u32(file, offset + 24);
            entry.offset = u32(file, offset + 42);
            entry.directoryOffset = offset;
            entries.add(entry);
            offset += ENTRY_LENGTH + length;
        }
        if (offset != end) {
            throw noZip();
        }
        return entries;
    }

    /** Refuses a file with data before, between or after members, or with contradictory descriptions of a member. */
    static void check(byte[] file, List<Entry> entries) {
        long offset = 0;
        for (Entry entry : entries) {
            if ((entry.flags & ~FLAGS) != 0) {
                throw new BundleError(
                        "member '" + Json.shown(entry.name) + "' is encrypted, or its size is after it");
            }
            int length = LOCAL_LENGTH + entry.name.length();
            boolean same = entry.offset == offset && offset + length <= file.length && u32(file, (int) offset) == LOCAL;
            for (int k = 4; same && k < length; k++) {
                int described = entry.directoryOffset + k + (k < LOCAL_LENGTH ? 2 : ENTRY_LENGTH - LOCAL_LENGTH);
                same = file[(int) offset + k] == file[described];
            }
            if (!same) {
                throw new BundleError(
                        "member '" + Json.shown(entry.name)
                                + "' differs from the directory in place or description");
            }
            offset += length + entry.packed;
        }
        if (u32(file, file.length - 6) != offset) {
            throw new BundleError("there are bytes between the members and the directory of the zip");
        }
    }

    /** Returns the bytes of a member of a checked file; unpacking ends at the declared size. */
    static byte[] unpack(byte[] file, Entry entry) {
        int begin = (int) entry.offset + LOCAL_LENGTH + entry.name.length();
        byte[] data = new byte[(int) entry.size];
        boolean complete = true;
        if (entry.method == 0) {
            System.arraycopy(file, begin, data, 0, data.length);
        } else {
            Inflater inflater = new Inflater(true);
            try {
                inflater.setInput(file, begin, (int) entry.packed);
                int size = 0;
                byte[] more = new byte[1]; // the stream can have an end marker without data
                while (!inflater.finished()) {
                    boolean full = size == data.length;
                    int count = full ? inflater.inflate(more) : inflater.inflate(data, size, data.length - size);
                    size += count;
                    if (full && count > 0 || count == 0 && !inflater.finished()) {
                        break;
                    }
                }
                complete = inflater.finished() && inflater.getRemaining() == 0 && size == data.length;
            } catch (DataFormatException error) {
                complete = false;
            } finally {
                inflater.end();
            }
        }
        CRC32 crc = new CRC32();
        crc.update(data, 0, data.length);
        if (!complete || crc.getValue() != entry.crc) {
            throw new BundleError(
                    "damaged or not readable: member '" + Json.shown(entry.name)
                            + "', or it is not as large as is declared; " + Container.AGAIN);
        }
        return data;
    }

    private static BundleError noZip() {
        return new BundleError("not a glsl-infer model, or cut off before its end; " + Container.AGAIN);
    }

    private static int u16(byte[] file, int offset) {
        return file[offset] & 255 | (file[offset + 1] & 255) << 8;
    }

    private static long u32(byte[] file, int offset) {
        return u16(file, offset) | (long) u16(file, offset + 2) << 16;
    }
}

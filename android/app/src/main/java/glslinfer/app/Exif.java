package glslinfer.app;

/** The Exif orientation of a JPEG photograph, and the rotation of its pixels. */
final class Exif {
    private static final int APP1 = 0xE1;
    private static final int ORIENTATION = 0x0112;
    private static final int START_OF_SCAN = 0xDA;

    private Exif() {}

    /** Returns 1 to 8; 1 (upright) if the file has no orientation, is damaged, or is not a JPEG. */
    static int orientation(byte[] file) {
        int at = 2;
        while (at + 4 <= file.length && (file[at] & 255) == 0xFF) {
            int marker = file[at + 1] & 255;
            int length = number(file, at + 2, 2, false);
            if (marker == START_OF_SCAN || length < 2) {
                return 1;
            }
            if (marker == APP1 && at + 10 <= file.length && number(file, at + 4, 4, false) == 0x45786966) { // Exif
                return orientation(file, at + 10, Math.min(file.length, at + 2 + length));
            }
            at += 2 + length;
        }
        return 1;
    }

    private static int orientation(byte[] file, int start, int end) {
        if (start + 8 > end) {
            return 1;
        }
        boolean little = file[start] == 'I';
        int offset = number(file, start + 4, 4, little);
        if (offset < 8 || offset > end - start - 2) {
            return 1;
        }
        int at = start + offset;
        int entries = number(file, at, 2, little);
        for (int i = 0; i < entries && at + 14 + 12 * i <= end; i++) {
            int entry = at + 2 + 12 * i;
            if (number(file, entry, 2, little) == ORIENTATION) {
                int value = number(file, entry + 8, 2, little);
                return value >= 1 && value <= 8 ? value : 1;
            }
        }
        return 1;
    }

    private static int number(byte[] bytes, int at, int length, boolean little) {
        int value = 0;
        for (int i = 0; i < length; i++) {
            value = value << 8 | bytes[at + (little ? length - 1 - i : i)] & 255;
        }
        return value;
    }

    /** Returns whether width and height are exchanged. */
    static boolean swapsSides(int orientation) {
        return orientation >= 5;
    }

    /** Returns pixels (height, width), rotated and mirrored to be upright. */
    static int[] upright(int[] pixels, int width, int height, int orientation) {
        if (orientation == 1) {
            return pixels;
        }
        int[] out = new int[pixels.length];
        boolean swapped = swapsSides(orientation);
        int outWidth = swapped ? height : width;
        int outHeight = swapped ? width : height;
        // 2 is mirrored, 3 rotated by 180 degrees, 4 both; 5 to 8 the same for the transposed image, by these two bits:
        boolean right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
        boolean below = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
        for (int y = 0; y < outHeight; y++) {
            for (int x = 0; x < outWidth; x++) {
                int column = right ? outWidth - 1 - x : x;
                int row = below ? outHeight - 1 - y : y;
                out[y * outWidth + x] = swapped ? pixels[column * width + row] : pixels[row * width + column];
            }
        }
        return out;
    }
}

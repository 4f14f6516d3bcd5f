package glslinfer.runner;

/** Preprocessing, from a decoded image to the bytes of an input: exactly as in bundle-format.md, "Preprocessing". */
public final class Preprocess {
    private Preprocess() {}

    /**
     * Returns the image for an input: the region of its fit, scaled.
     *
     * @param input an image input
     * @return the channels of each pixel, top row first: height * width * channels bytes
     * @throws Errors.InputError the input is not an image
     */
    public static byte[] fit(Picture picture, Input input) {
        input.requireImage();
        return fit(picture, input.fit, input.width(), input.height(), input.channels());
    }

    /** The same for an input of {@code width} x {@code height} pixels with 1 (grey), 3 or 4 {@code channels}. */
    public static byte[] fit(Picture picture, Fit fit, int width, int height, int channels) {
        Fit.Place place = fit.place(picture.width, picture.height, width, height);
        byte[] cropped = new byte[channels * place.width * place.height];
        for (int y = 0; y < place.height; y++) {
            for (int x = 0; x < place.width; x++) {
                int pixel = picture.argb[(place.top + y) * picture.width + place.left + x];
                components(pixel, channels, cropped, channels * (y * place.width + x));
            }
        }
        byte[] scaled = Resample.scale(cropped, place.width, place.height, place.toWidth, place.toHeight, channels);
        byte[] out = new byte[channels * width * height];
        if (channels == 4 && (place.toWidth < width || place.toHeight < height)) {
            for (int i = 3; i < out.length; i += 4) {
                out[i] = (byte) 255; // the borders of a letterbox are black, not transparent
            }
        }
        for (int y = 0; y < place.toHeight; y++) {
            int row = channels * place.toWidth;
            System.arraycopy(scaled, row * y, out, channels * ((place.toTop + y) * width + place.toLeft), row);
        }
        return out;
    }

    /** Writes the components of a pixel. Without an alpha channel in the input, it is composited over white. */
    private static void components(int pixel, int channels, byte[] out, int offset) {
        int alpha = pixel >>> 24;
        if (channels == 4) {
            out[offset] = (byte) (pixel >> 16);
            out[offset + 1] = (byte) (pixel >> 8);
            out[offset + 2] = (byte) pixel;
            out[offset + 3] = (byte) alpha;
            return;
        }
        int red = overWhite(pixel >> 16 & 255, alpha);
        int green = overWhite(pixel >> 8 & 255, alpha);
        int blue = overWhite(pixel & 255, alpha);
        if (channels == 1) { // luma of BT.601 in 16-bit fixed point
            out[offset] = (byte) ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
            return;
        }
        out[offset] = (byte) red;
        out[offset + 1] = (byte) green;
        out[offset + 2] = (byte) blue;
    }

    private static int overWhite(int value, int alpha) {
        return (2 * (value * alpha + 255 * (255 - alpha)) + 255) / 510;
    }
}

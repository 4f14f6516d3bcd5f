package glslinfer.runner;

import glslinfer.runner.Layout.FeatureMap;

/** Conversion of image outputs to images. */
public final class Images {
    private Images() {}

    /**
     * Returns an image as bytes (height, width, channels), in row-major order.
     *
     * <p>A value becomes the byte that has this value in the model's first image input with as many channels, or the
     * range [0, 1] is used without one; rounded (halves upwards) and clipped.
     *
     * @param result result of an output of {@code manifest}, (height, width, 1) or (height, width, 3)
     * @throws Errors.InputError it has another shape
     */
    public static byte[] toBytes(Manifest manifest, Result result) {
        int[] shape = result.shape();
        int channels = shape.length == 3 ? shape[2] : 0;
        if (channels != 1 && channels != 3) {
            throw new Errors.InputError("output '" + result.name
                    + "' is not an image; give (height, width, 1) or (height, width, 3)");
        }
        FeatureMap range = rangeOf(manifest, channels);
        byte[] bytes = new byte[result.data.length];
        for (int i = 0; i < bytes.length; i++) {
            double scale = range == null ? 1 : range.scale(i % channels);
            double zero = range == null ? 0 : range.zero(i % channels);
            double rounded = Math.floor((double) result.data[i] * 255.0 / scale + zero + 0.5);
            bytes[i] = (byte) Math.max(0, Math.min(255, rounded));
        }
        return bytes;
    }

    private static FeatureMap rangeOf(Manifest manifest, int channels) {
        for (Input input : manifest.inputs) {
            if (input.isPicture() && input.channels() == channels) {
                return (FeatureMap) input.value;
            }
        }
        return null;
    }
}

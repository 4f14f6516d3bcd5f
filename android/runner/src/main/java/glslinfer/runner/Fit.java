package glslinfer.runner;

/** Fitting of an image of any size to a model's input: the used region, and its region in the input. */
public enum Fit {
    /** The centred square, with each axis scaled to the input separately. */
    CENTER_SQUARE("center-square/area-average"),
    /** The largest centred region with the input's aspect ratio. */
    CENTER_CROP("center-crop/area-average"),
    /** The entire image with its aspect ratio, and black borders. */
    LETTERBOX("letterbox/area-average"),
    /** The entire image, with each axis scaled separately. */
    STRETCH("stretch/area-average");

    /** Name in a manifest. */
    public final String key;

    Fit(String key) {
        this.key = key;
    }

    /** Returns the fit with a name in manifests; null for unknown names. */
    public static Fit of(String key) {
        for (Fit fit : values()) {
            if (fit.key.equals(key)) {
                return fit;
            }
        }
        return null;
    }

    /** The used region of the image, and the filled region of the input, in pixels. */
    public static final class Place {
        public final int left;
        public final int top;
        public final int width;
        public final int height;
        public final int toLeft;
        public final int toTop;
        public final int toWidth;
        public final int toHeight;

        private Place(int[] from, int[] to) {
            left = from[0];
            top = from[1];
            width = from[2];
            height = from[3];
            toLeft = to[0];
            toTop = to[1];
            toWidth = to[2];
            toHeight = to[3];
        }
    }

    /**
     * Returns the two regions.
     *
     * @param width width of the image
     * @param height height of the image
     * @param toWidth width of the input
     * @param toHeight height of the input
     */
    public Place place(int width, int height, int toWidth, int toHeight) {
        int[] from = {0, 0, width, height};
        int[] to = {0, 0, toWidth, toHeight};
        boolean isWider = (long) width * toHeight > (long) height * toWidth;
        if (this == CENTER_SQUARE) {
            int side = Math.min(width, height);
            from = centred(width, height, side, side);
        } else if (this == CENTER_CROP && isWider) {
            from = centred(width, height, scaled(width, height, toWidth, toHeight), height);
        } else if (this == CENTER_CROP) {
            from = centred(width, height, width, scaled(height, width, toHeight, toWidth));
        } else if (this == LETTERBOX && isWider) {
            to = centred(toWidth, toHeight, toWidth, scaled(toHeight, toWidth, height, width));
        } else if (this == LETTERBOX) {
            to = centred(toWidth, toHeight, scaled(toWidth, toHeight, width, height), toHeight);
        }
        return new Place(from, to);
    }

    /** Returns {@code length * numerator / denominator}, rounded half up: at least 1, at most {@code maximum}. */
    private static int scaled(int maximum, int length, int numerator, int denominator) {
        long rounded = (2L * length * numerator + denominator) / (2L * denominator);
        return (int) Math.min(maximum, Math.max(1, rounded));
    }

    private static int[] centred(int width, int height, int partWidth, int partHeight) {
        return new int[] {(width - partWidth) / 2, (height - partHeight) / 2, partWidth, partHeight};
    }
}

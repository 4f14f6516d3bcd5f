package glslinfer.runner;

/** How a picture of any size becomes that of a model: which part of it is taken, and where that goes. */
public enum Fit {
    /** The centred square, scaled to the model's picture, each axis on its own. */
    CENTER_SQUARE("center-square/area-average"),
    /** The largest centred part that has the shape of the model's picture. */
    CENTER_CROP("center-crop/area-average"),
    /** The whole picture with its shape kept, and black beside it. */
    LETTERBOX("letterbox/area-average"),
    /** The whole picture, each axis scaled on its own. */
    STRETCH("stretch/area-average");

    /** What a manifest calls it. */
    public final String key;

    Fit(String key) {
        this.key = key;
    }

    /** Returns the fit that a manifest calls {@code key}; null where there is none. */
    public static Fit of(String key) {
        for (Fit fit : values()) {
            if (fit.key.equals(key)) {
                return fit;
            }
        }
        return null;
    }

    /** The part of the given picture that is taken, and the part of the model's picture that it fills; in pixels. */
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
     * Returns the two parts.
     *
     * @param width of the given picture
     * @param height of the given picture
     * @param toWidth of the model's picture
     * @param toHeight of the model's picture
     */
    public Place place(int width, int height, int toWidth, int toHeight) {
        int[] from = {0, 0, width, height};
        int[] to = {0, 0, toWidth, toHeight};
        boolean wide = (long) width * toHeight > (long) height * toWidth;
        if (this == CENTER_SQUARE) {
            int side = Math.min(width, height);
            from = centred(width, height, side, side);
        } else if (this == CENTER_CROP && wide) {
            from = centred(width, height, scaled(width, height, toWidth, toHeight), height);
        } else if (this == CENTER_CROP) {
            from = centred(width, height, width, scaled(height, width, toHeight, toWidth));
        } else if (this == LETTERBOX && wide) {
            to = centred(toWidth, toHeight, toWidth, scaled(toHeight, toWidth, height, width));
        } else if (this == LETTERBOX) {
            to = centred(toWidth, toHeight, scaled(toWidth, toHeight, width, height), toHeight);
        }
        return new Place(from, to);
    }

    /** Returns {@code length * numerator / denominator}, rounded half up: at least 1, at most {@code most}. */
    private static int scaled(int most, int length, int numerator, int denominator) {
        long rounded = (2L * length * numerator + denominator) / (2L * denominator);
        return (int) Math.min(most, Math.max(1, rounded));
    }

    private static int[] centred(int width, int height, int partWidth, int partHeight) {
        return new int[] {(width - partWidth) / 2, (height - partHeight) / 2, partWidth, partHeight};
    }
}

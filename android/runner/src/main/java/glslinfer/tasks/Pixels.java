package glslinfer.tasks;

import glslinfer.runner.Fit;
import glslinfer.runner.Picture;
import glslinfer.runner.Preprocess;

/** An image as red, green and blue, and the content of its cuts. */
final class Pixels {
    final int width;
    final int height;

    /** Three bytes for each pixel, top row first. */
    final byte[] rgb;

    Pixels(byte[] rgb, int width, int height) {
        this.rgb = rgb;
        this.width = width;
        this.height = height;
    }

    /** Returns the pixels of an image, composited over white. */
    static Pixels of(Picture picture) {
        byte[] rgb = Preprocess.fit(picture, Fit.STRETCH, picture.width, picture.height, 3);
        return new Pixels(rgb, picture.width, picture.height);
    }

    /** Returns the pixels as an image. */
    Picture picture() {
        int[] argb = new int[width * height];
        for (int i = 0; i < argb.length; i++) {
            argb[i] = 0xFF000000 | (rgb[3 * i] & 255) << 16 | (rgb[3 * i + 1] & 255) << 8 | rgb[3 * i + 2] & 255;
        }
        return new Picture(argb, width, height);
    }

    /**
     * Returns the content of a cut. If it shrinks pixels by two or more, they are averaged in integers first; then the
     * rotated rectangle is read bilinearly. Edge pixels extend beyond the image.
     */
    Pixels cut(Cut cut, int toWidth, int toHeight) {
        int shrink = Math.max(1, (int) Math.floor(Math.min(cut.width / toWidth, cut.height / toHeight)));
        double[] low = {Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY};
        double[] high = {Double.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY};
        Cut.bounds(cut.corners(), low, high);
        int left = clip((int) Math.floor(low[0]) - 2 * shrink, 0, width - 1);
        int top = clip((int) Math.floor(low[1]) - 2 * shrink, 0, height - 1);
        int right = clip((int) Math.ceil(high[0]) + 2 * shrink, left + 1, width);
        int bottom = clip((int) Math.ceil(high[1]) + 2 * shrink, top + 1, height);
        Pixels region = region(left, top, right - left, bottom - top).reduced(shrink);
        double[] origin = cut.toPicture(0, 0);
        double[] across = cut.toPicture(1.0 / toWidth, 0);
        double[] down = cut.toPicture(0, 1.0 / toHeight);
        double[] start = {(origin[0] - left) / shrink, (origin[1] - top) / shrink};
        byte[] out = new byte[3 * toWidth * toHeight];
        for (int j = 0; j < toHeight; j++) {
            for (int i = 0; i < toWidth; i++) {
                double x = start[0] + (i + 0.5) * ((across[0] - origin[0]) / shrink)
                        + (j + 0.5) * ((down[0] - origin[0]) / shrink) - 0.5;
                double y = start[1] + (i + 0.5) * ((across[1] - origin[1]) / shrink)
                        + (j + 0.5) * ((down[1] - origin[1]) / shrink) - 0.5;
                region.bilinear(x, y, out, 3 * (j * toWidth + i));
            }
        }
        return new Pixels(out, toWidth, toHeight);
    }

    private static int clip(int number, int low, int high) {
        return Math.max(low, Math.min(high, number));
    }

    private Pixels region(int left, int top, int regionWidth, int regionHeight) {
        byte[] out = new byte[3 * regionWidth * regionHeight];
        for (int y = 0; y < regionHeight; y++) {
            System.arraycopy(rgb, 3 * ((top + y) * width + left), out, 3 * y * regionWidth, 3 * regionWidth);
        }
        return new Pixels(out, regionWidth, regionHeight);
    }

    /** Returns the means of squares of {@code shrink} pixels; those at the right and lower edge can be narrower. */
    private Pixels reduced(int shrink) {
        if (shrink == 1) {
            return this;
        }
        int reducedWidth = (width + shrink - 1) / shrink;
        int reducedHeight = (height + shrink - 1) / shrink;
        byte[] out = new byte[3 * reducedWidth * reducedHeight];
        for (int j = 0; j < reducedHeight; j++) {
            int below = Math.min(height, (j + 1) * shrink);
            for (int i = 0; i < reducedWidth; i++) {
                int beyond = Math.min(width, (i + 1) * shrink);
                int count = (below - j * shrink) * (beyond - i * shrink);
                long[] sum = {count / 2, count / 2, count / 2};
                for (int y = j * shrink; y < below; y++) {
                    for (int x = i * shrink; x < beyond; x++) {
                        for (int c = 0; c < 3; c++) {
                            sum[c] += rgb[3 * (y * width + x) + c] & 255;
                        }
                    }
                }
                for (int c = 0; c < 3; c++) {
                    out[3 * (j * reducedWidth + i) + c] = (byte) (sum[c] / count);
                }
            }
        }
        return new Pixels(out, reducedWidth, reducedHeight);
    }

    private void bilinear(double atX, double atY, byte[] out, int to) {
        float x = (float) Math.max(0, Math.min(width - 1.0, atX));
        float y = (float) Math.max(0, Math.min(height - 1.0, atY));
        int left = (int) x;
        int top = (int) y;
        int right = Math.min(left + 1, width - 1);
        int bottom = Math.min(top + 1, height - 1);
        double across = (double) x - left;
        double down = (double) y - top;
        for (int c = 0; c < 3; c++) {
            double upper = (rgb[3 * (top * width + left) + c] & 255) * (1 - across)
                    + (rgb[3 * (top * width + right) + c] & 255) * across;
            double lower = (rgb[3 * (bottom * width + left) + c] & 255) * (1 - across)
                    + (rgb[3 * (bottom * width + right) + c] & 255) * across;
            out[to + c] = (byte) (int) (upper * (1 - down) + lower * down + 0.5);
        }
    }
}

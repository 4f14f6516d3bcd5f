package glslinfer.tasks;

import glslinfer.tasks.Description.Region;

/** A rotated rectangle of an image, and the conversion of its points to the image and back. */
public final class Cut {
    private static final double MIN_SIDE = 1;

    /** Centre, in pixels of the image. */
    public final double x;

    public final double y;

    /** Sides, in pixels of the image. */
    public final double width;

    public final double height;

    /** Angle between its horizontal axis and the image's, clockwise in radians. */
    public final double angle;

    private final double cosine;
    private final double sine;

    Cut(double x, double y, double width, double height, double angle) {
        this.x = x;
        this.y = y;
        this.width = width;
        this.height = height;
        this.angle = angle;
        cosine = Math.cos(angle);
        sine = Math.sin(angle);
    }

    /** Returns whether it is valid: finite, and of at least a pixel. */
    boolean usable() {
        double sum = x + y + width + height + angle;
        return !Double.isNaN(sum) && !Double.isInfinite(sum) && Math.min(width, height) >= MIN_SIDE;
    }

    /** Converts a point relative to the cut to pixels of the image. */
    public double[] toPicture(double across, double down) {
        double right = (across - 0.5) * width;
        double below = (down - 0.5) * height;
        return new double[] {right * cosine - below * sine + x, right * sine + below * cosine + y};
    }

    /** Returns the corners in pixels, clockwise from its top left corner. */
    public double[][] corners() {
        return new double[][] {toPicture(0, 0), toPicture(1, 0), toPicture(1, 1), toPicture(0, 1)};
    }

    /** Returns the intersection over union of two cuts, computed as if both were upright. */
    double overlap(Cut other) {
        double sharedWidth = Math.min(x + width / 2, other.x + other.width / 2)
                - Math.max(x - width / 2, other.x - other.width / 2);
        double sharedHeight = Math.min(y + height / 2, other.y + other.height / 2)
                - Math.max(y - height / 2, other.y - other.height / 2);
        double shared = Math.max(0, sharedWidth) * Math.max(0, sharedHeight);
        return shared / (width * height + other.width * other.height - shared);
    }

    /** Returns whether it overlaps an image, because a follower can drift away. */
    boolean reaches(int pictureWidth, int pictureHeight) {
        if (!usable() || Math.max(width, height) > 16.0 * Math.max(pictureWidth, pictureHeight)) {
            return false;
        }
        double[] low = {Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY};
        double[] high = {Double.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY};
        bounds(corners(), low, high);
        return high[0] > 0 && high[1] > 0 && low[0] < pictureWidth && low[1] < pictureHeight;
    }

    static void bounds(double[][] points, double[] low, double[] high) {
        for (double[] point : points) {
            for (int axis = 0; axis < 2; axis++) {
                low[axis] = Math.min(low[axis], point[axis]);
                high[axis] = Math.max(high[axis], point[axis]);
            }
        }
    }

    /** Returns the cut of a region around points. */
    static Cut around(Region region, double[][] allPoints) {
        double angle = angle(region, allPoints);
        double[][] points = allPoints;
        if (region.points.length > 0) {
            points = new double[region.points.length][];
            for (int i = 0; i < points.length; i++) {
                points[i] = allPoints[region.points[i]];
            }
        }
        Cut upright = new Cut(0, 0, 1, 1, angle);
        double[] low = {Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY};
        double[] high = {Double.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY};
        double[][] turned = new double[points.length][];
        for (int i = 0; i < points.length; i++) {
            double[] point = points[i];
            turned[i] = new double[] {
                point[0] * upright.cosine + point[1] * upright.sine + 0.5,
                -point[0] * upright.sine + point[1] * upright.cosine + 0.5
            };
        }
        bounds(turned, low, high);
        double[] size = {high[0] - low[0], high[1] - low[1]};
        double[] middle = upright.toPicture(
                (low[0] + high[0]) / 2 + region.shift[0] * size[0], (low[1] + high[1]) / 2 + region.shift[1] * size[1]);
        double width = region.square ? Math.max(size[0], size[1]) : size[0];
        double height = region.square ? Math.max(size[0], size[1]) : size[1];
        return new Cut(middle[0], middle[1], width * region.scale, height * region.scale, angle);
    }

    /** Returns the cut in which an object is upright, around its box or points. */
    static Cut of(Region region, Detection detection) {
        if (region.points.length > 0) {
            return around(region, detection.points);
        }
        double angle = angle(region, detection.points);
        double width = detection.right - detection.left;
        double height = detection.bottom - detection.top;
        double x = (detection.left + detection.right) / 2;
        double y = (detection.top + detection.bottom) / 2;
        Cut upright = new Cut(x, y, width, height, angle);
        double[] middle = upright.toPicture(region.shift[0] + 0.5, region.shift[1] + 0.5);
        if (region.square) {
            width = Math.max(width, height);
            height = width;
        }
        return new Cut(middle[0], middle[1], width * region.scale, height * region.scale, angle);
    }

    private static double angle(Region region, double[][] points) {
        if (region.begin.length == 0) {
            return 0;
        }
        double[] begin = mean(points, region.begin);
        double[] end = mean(points, region.end);
        double angle = Math.toRadians(region.direction) + Math.atan2(end[1] - begin[1], end[0] - begin[0]);
        return Math.IEEEremainder(angle, 2 * Math.PI);
    }

    private static double[] mean(double[][] points, int[] indices) {
        double[] sum = new double[2];
        for (int index : indices) {
            sum[0] += points[index][0];
            sum[1] += points[index][1];
        }
        return new double[] {sum[0] / indices.length, sum[1] / indices.length};
    }
}

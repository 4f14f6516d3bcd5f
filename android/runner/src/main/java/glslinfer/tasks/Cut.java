package glslinfer.tasks;

import glslinfer.tasks.Description.Region;

/** A turned rectangle of a picture: where it lies, and the way between its points and the picture's. */
public final class Cut {
    private static final double LEAST = 1;

    /** Of the middle, in the picture's pixels. */
    public final double x;

    public final double y;

    /** Along its own horizontal, in the picture's pixels. */
    public final double width;

    public final double height;

    /** Of its horizontal to the picture's, in radians, clockwise as one sees it. */
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

    /** Returns whether it is a rectangle at all: finite, and of a pixel or more. */
    boolean usable() {
        double sum = x + y + width + height + angle;
        return !Double.isNaN(sum) && !Double.isInfinite(sum) && Math.min(width, height) >= LEAST;
    }

    /** Returns the pixel of the picture that a point in parts of the cut is. */
    public double[] toPicture(double across, double down) {
        double right = (across - 0.5) * width;
        double below = (down - 0.5) * height;
        return new double[] {right * cosine - below * sine + x, right * sine + below * cosine + y};
    }

    /** Returns the corners in pixels: from its own top left one clockwise. */
    public double[][] corners() {
        return new double[][] {toPicture(0, 0), toPicture(1, 0), toPicture(1, 1), toPicture(0, 1)};
    }

    /** Returns how much of the area that two cuts cover they share, as if both stood upright. */
    double overlap(Cut other) {
        double wide = Math.min(x + width / 2, other.x + other.width / 2)
                - Math.max(x - width / 2, other.x - other.width / 2);
        double high = Math.min(y + height / 2, other.y + other.height / 2)
                - Math.max(y - height / 2, other.y - other.height / 2);
        double shared = Math.max(0, wide) * Math.max(0, high);
        return shared / (width * height + other.width * other.height - shared);
    }

    /** Returns whether it shows any of a picture: a follower may be led far away. */
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

    /** Returns the cut around points, turned as its region says. */
    static Cut around(Region region, double[][] known) {
        double angle = angle(region, known);
        double[][] points = known;
        if (region.points.length > 0) {
            points = new double[region.points.length][];
            for (int i = 0; i < points.length; i++) {
                points[i] = known[region.points[i]];
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
        double wide = region.square ? Math.max(size[0], size[1]) : size[0];
        double tall = region.square ? Math.max(size[0], size[1]) : size[1];
        return new Cut(middle[0], middle[1], wide * region.scale, tall * region.scale, angle);
    }

    /** Returns the cut that shows a thing upright: around its box, or around points of it. */
    static Cut of(Region region, Detection thing) {
        if (region.points.length > 0) {
            return around(region, thing.points);
        }
        double angle = angle(region, thing.points);
        double wide = thing.right - thing.left;
        double high = thing.bottom - thing.top;
        Cut upright = new Cut((thing.left + thing.right) / 2, (thing.top + thing.bottom) / 2, wide, high, angle);
        double[] middle = upright.toPicture(region.shift[0] + 0.5, region.shift[1] + 0.5);
        if (region.square) {
            wide = Math.max(wide, high);
            high = wide;
        }
        return new Cut(middle[0], middle[1], wide * region.scale, high * region.scale, angle);
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

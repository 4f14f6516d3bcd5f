package glslinfer.app;

import android.graphics.Bitmap;
import android.graphics.Canvas;
import android.graphics.Paint;
import android.graphics.Path;
import android.graphics.RectF;
import glslinfer.tasks.Description;
import glslinfer.tasks.Detection;
import glslinfer.tasks.Found;
import glslinfer.tasks.Landmarks;

/** Draws a task's results over the image: boxes, points, lines, and on a photograph the mask. */
final class Overlay {
    /** Colours of classes or objects, repeated: those of glsl_infer/tasks/drawing.py. */
    private static final int[] COLOURS = {0xFFFFC400, 0xFF00C8FF, 0xFFFF6090, 0xFF78E664, 0xFFBE8CFF, 0xFFFF8C3C};

    /** Colour of the thin lines between landmarks. */
    private static final int THIN = 0xBFBEE1EB;

    /** Colour of a mask, without alpha. */
    private static final int TINT = 0x0000C8FF;

    /** Number of points from which only lines are drawn. */
    private static final int MANY_POINTS = 100;

    private final Ink ink;
    private final Path path = new Path();

    private Canvas canvas;
    private RectF imageArea;
    private float scale;
    private boolean mirrored;

    Overlay(Ink ink) {
        this.ink = ink;
    }

    /** Returns a mask as a tint of the image, for a photograph; null if nothing was segmented. */
    static Bitmap tint(Found result) {
        if (result.mask == null) {
            return null;
        }
        byte[] alpha = result.mask.alpha(result.width, result.height);
        int[] argb = new int[alpha.length];
        for (int i = 0; i < argb.length; i++) {
            argb[i] = (alpha[i] & 255) / 2 << 24 | TINT;
        }
        return Bitmap.createBitmap(argb, result.width, result.height, Bitmap.Config.ARGB_8888);
    }

    /** Returns a short description of the results. */
    static String words(Found result) {
        String name = Models.title(result.description.name);
        if (result.mask != null) {
            double share = result.mask.share(result.mask.columns, result.mask.rows);
            return name + ": " + Math.round(100 * share) + " % of the image";
        }
        return name + ": " + (result.count() == 0 ? "none" : result.count() + " found");
    }

    /**
     * Draws the results.
     *
     * @param area region of the image on the screen
     * @param mirror whether left and right are exchanged there
     */
    void draw(Canvas canvas, Found result, RectF area, boolean mirror) {
        this.canvas = canvas;
        imageArea = area;
        mirrored = mirror;
        scale = (area.right - area.left) / result.width;
        Description task = result.description;
        for (int i = result.detections.size() - 1; i >= 0; i--) { // the best object is drawn last, on top
            Detection detection = result.detections.get(i);
            int colour = colour(detection.label.isEmpty() ? i : detection.index);
            double left = clip(detection.left, result.width), right = clip(detection.right, result.width);
            double top = clip(detection.top, result.height), bottom = clip(detection.bottom, result.height);
            double[][] corners = {{left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}};
            path.rewind();
            append(corners, null);
            for (int[] line : task.detection.lines) {
                append(detection.points, line);
            }
            stroke(colour, 2.5f);
            dots(detection.points, colour);
            ink.begin().append(detection.label).append(detection.label.isEmpty() ? "" : " ");
            ink.line.append(Math.round(100 * detection.score)).append(" %");
            write(x(mirrored ? right : left), y(top), colour);
        }
        for (int i = result.landmarks.size() - 1; i >= 0; i--) {
            Landmarks landmarks = result.landmarks.get(i);
            path.rewind();
            for (int[] pair : task.landmarks.fine) {
                append(landmarks.points, pair);
            }
            stroke(THIN, 0.8f);
            path.rewind();
            for (int[] line : task.landmarks.lines) {
                append(landmarks.points, line);
            }
            stroke(colour(i), 2.5f);
            if (landmarks.points.length < MANY_POINTS || task.landmarks.lines.length == 0) {
                dots(landmarks.points, colour(i));
            }
        }
    }

    private static int colour(int index) {
        return COLOURS[index % COLOURS.length];
    }

    /** Clips a coordinate; a box can extend beyond the image. */
    private static double clip(double side, int length) {
        return Math.min(Math.max(side, 0), length);
    }

    private float x(double pixel) {
        float along = (float) (pixel * scale);
        return mirrored ? imageArea.right - along : imageArea.left + along;
    }

    private float y(double pixel) {
        return imageArea.top + (float) (pixel * scale);
    }

    /** Appends a line through points with these indices; null for all points. */
    private void append(double[][] points, int[] line) {
        int count = line == null ? points.length : line.length;
        for (int i = 0; i < count; i++) {
            double[] point = points[line == null ? i : line[i]];
            if (i == 0) {
                path.moveTo(x(point[0]), y(point[1]));
            } else {
                path.lineTo(x(point[0]), y(point[1]));
            }
        }
    }

    private void stroke(int colour, float width) {
        ink.paint.setStyle(Paint.Style.STROKE);
        ink.paint.setStrokeWidth(width * ink.unit);
        ink.paint.setStrokeJoin(Paint.Join.ROUND);
        ink.paint.setStrokeCap(Paint.Cap.ROUND);
        ink.paint.setColor(colour);
        canvas.drawPath(path, ink.paint);
        ink.paint.setStyle(Paint.Style.FILL);
    }

    private void dots(double[][] points, int colour) {
        ink.paint.setColor(colour);
        for (double[] point : points) {
            canvas.drawCircle(x(point[0]), y(point[1]), 3 * ink.unit, ink.paint);
        }
    }

    /** Draws the text above a position, if the screen has space for it. */
    private void write(float left, float top, int colour) {
        float size = 14 * ink.text;
        float width = Math.min(ink.width(size, true), imageArea.right - imageArea.left);
        float from = Math.max(Math.max(imageArea.left, 0), Math.min(left, imageArea.right - width));
        float base = Math.max(Math.max(imageArea.top, 0) + size, Math.min(top - 4 * ink.unit, imageArea.bottom));
        ink.write(canvas, from, base, width + 1, size, true, colour);
    }
}

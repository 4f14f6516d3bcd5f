package glslinfer.app;

import android.content.res.Resources;
import android.graphics.Canvas;
import android.graphics.Paint;
import android.graphics.RectF;
import android.util.DisplayMetrics;

/** Drawing tools shared by all views: a paint, the colours, and units of length and text. Allocates nothing. */
final class Ink {
    /** Smallest length of a tablet's short side, in density-independent pixels. */
    private static final float MIN_TABLET_SIDE = 600;

    /** Largest ratio of text size to the unit of length, regardless of system settings, so that text fits its card. */
    private static final float MAX_TEXT_RATIO = 1.4f;

    /** Smallest readable text size, in units of text. */
    private static final float MIN_TEXT = 8;

    final Paint paint = new Paint(Paint.ANTI_ALIAS_FLAG);

    /** The current line of text. */
    final StringBuilder line = new StringBuilder(256);

    /** Unit of length in pixels. */
    final float unit;

    /** Unit of text in pixels, which includes the user's text size. */
    final float text;

    Palette palette;

    private final RectF box = new RectF();

    Ink(Resources resources) {
        DisplayMetrics metrics = resources.getDisplayMetrics();
        float side = Math.min(metrics.widthPixels, metrics.heightPixels) / metrics.density;
        unit = metrics.density * (side >= MIN_TABLET_SIDE ? 1.25f : 1);
        text = unit * Math.min(MAX_TEXT_RATIO, Math.max(0.8f, metrics.scaledDensity / metrics.density));
        palette = Palette.of(resources.getConfiguration());
    }

    /** Draws a rounded rectangle. */
    void round(Canvas canvas, float left, float top, float right, float bottom, float radius, int colour) {
        paint.setStyle(Paint.Style.FILL);
        paint.setColor(colour);
        box.left = left;
        box.top = top;
        box.right = right;
        box.bottom = bottom;
        canvas.drawRoundRect(box, radius, radius, paint);
    }

    /** Starts a new line of text. */
    StringBuilder begin() {
        line.setLength(0);
        return line;
    }

    /** Returns the width of the line at a size, {@code bold} or not. */
    float width(float size, boolean bold) {
        paint.setTextSize(size);
        paint.setFakeBoldText(bold);
        return paint.measureText(line, 0, line.length());
    }

    /**
     * Draws the line, smaller if it is too wide, and shortened if it would be unreadably small.
     *
     * @param y of the base line
     * @param maxWidth largest width of the text
     */
    void write(Canvas canvas, float x, float y, float maxWidth, float size, boolean bold, int colour) {
        paint.setStyle(Paint.Style.FILL);
        float width = width(size, bold);
        if (width > maxWidth) {
            width = width(Math.max(size * maxWidth / width, Math.min(size, MIN_TEXT * text)), bold);
            while (width > maxWidth && line.length() > 2) {
                line.setLength(line.length() - 2);
                line.append('\u2026');
                width = paint.measureText(line, 0, line.length());
            }
        }
        paint.setColor(colour);
        canvas.drawText(line, 0, line.length(), x, y, paint);
    }

    /** Appends a number with one decimal; String.format would allocate. */
    StringBuilder tenths(double number) {
        long scaled = Math.round(10 * number);
        return line.append(scaled / 10).append('.').append(Math.abs(scaled % 10));
    }
}

package glslinfer.app;

import android.content.res.Resources;
import android.graphics.Canvas;
import android.graphics.Paint;
import android.graphics.RectF;
import android.util.DisplayMetrics;

/** What all views draw with: a paint, the colours, and the two units: of lengths and of text. Allocates nothing. */
final class Ink {
    /** Density-independent pixels from which on a screen is a tablet's, on its short side. */
    private static final float TABLET = 600;

    /** No system setting makes text larger than so many times the unit of lengths: it has to stay on its card. */
    private static final float LARGEST_TEXT = 1.4f;

    /** Units of text below which nobody reads. */
    private static final float SMALLEST = 8;

    final Paint paint = new Paint(Paint.ANTI_ALIAS_FLAG);

    /** A line of text under construction. */
    final StringBuilder line = new StringBuilder(256);

    /** Pixels. */
    final float unit;

    /** Pixels, by the size of text that the user has set. */
    final float text;

    Palette palette;

    private final RectF box = new RectF();

    Ink(Resources resources) {
        DisplayMetrics metrics = resources.getDisplayMetrics();
        float side = Math.min(metrics.widthPixels, metrics.heightPixels) / metrics.density;
        unit = metrics.density * (side >= TABLET ? 1.25f : 1);
        text = unit * Math.min(LARGEST_TEXT, Math.max(0.8f, metrics.scaledDensity / metrics.density));
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

    /** Begins a new line of text. */
    StringBuilder begin() {
        line.setLength(0);
        return line;
    }

    /** Returns how wide the line is at a size, {@code bold} or not. */
    float wide(float size, boolean bold) {
        paint.setTextSize(size);
        paint.setFakeBoldText(bold);
        return paint.measureText(line, 0, line.length());
    }

    /**
     * Draws the line, smaller where it is too wide, and shortened where that would be too small to read.
     *
     * @param y of the base line
     * @param most how wide it may be
     */
    void write(Canvas canvas, float x, float y, float most, float size, boolean bold, int colour) {
        paint.setStyle(Paint.Style.FILL);
        float wide = wide(size, bold);
        if (wide > most) {
            wide = wide(Math.max(size * most / wide, Math.min(size, SMALLEST * text)), bold);
            while (wide > most && line.length() > 2) {
                line.setLength(line.length() - 2);
                line.append('\u2026');
                wide = paint.measureText(line, 0, line.length());
            }
        }
        paint.setColor(colour);
        canvas.drawText(line, 0, line.length(), x, y, paint);
    }

    /** Appends a number with one digit after the point; String.format would allocate. */
    StringBuilder tenths(double number) {
        long scaled = Math.round(10 * number);
        return line.append(scaled / 10).append('.').append(Math.abs(scaled % 10));
    }
}

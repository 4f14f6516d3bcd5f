package android.graphics;

import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.util.ArrayList;
import java.util.List;

/** Draws with AWT, remembers the texts, and lets none run off the screen. */
public class Canvas {
    public final List<String> texts = new ArrayList<>();
    private final Graphics2D graphics;
    private final int width;

    public Canvas(BufferedImage image) {
        graphics = image.createGraphics();
        width = image.getWidth();
        graphics.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        graphics.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
    }

    public void drawRect(float left, float top, float right, float bottom, Paint paint) {
        graphics.setColor(paint.color);
        graphics.fill(new Rectangle2D.Float(left, top, right - left, bottom - top));
    }

    public void drawText(CharSequence text, int start, int end, float x, float y, Paint paint) {
        if (x < 0 || x + paint.measureText(text, start, end) > width) {
            throw new IllegalStateException("off the screen: " + text.subSequence(start, end));
        }
        texts.add(text.subSequence(start, end).toString());
        graphics.setColor(paint.color);
        graphics.setFont(paint.font);
        graphics.drawString(text.subSequence(start, end).toString(), x, y);
    }
}

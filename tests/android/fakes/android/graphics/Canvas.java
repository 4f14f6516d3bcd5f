package android.graphics;

import java.awt.AlphaComposite;
import java.awt.BasicStroke;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.AffineTransform;
import java.awt.geom.Rectangle2D;
import java.awt.geom.RoundRectangle2D;
import java.awt.image.BufferedImage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** Draws with AWT, remembers the texts and their sizes, and lets none run off the screen. */
public class Canvas {
    public final List<String> texts = new ArrayList<>();

    /** Of the texts, in pixels. */
    public final List<Float> sizes = new ArrayList<>();

    private final Graphics2D graphics;
    private final int width;
    private final int height;
    private final Deque<AffineTransform> saved = new ArrayDeque<>();

    public Canvas(BufferedImage image) {
        graphics = image.createGraphics();
        width = image.getWidth();
        height = image.getHeight();
        graphics.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        graphics.setRenderingHint(RenderingHints.KEY_STROKE_CONTROL, RenderingHints.VALUE_STROKE_PURE);
        graphics.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        graphics.setRenderingHint(RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
    }

    public int save() {
        saved.push(graphics.getTransform());
        return saved.size();
    }

    public void restore() {
        graphics.setTransform(saved.pop());
    }

    public void translate(float x, float y) {
        graphics.translate(x, y);
    }

    public void scale(float x, float y) {
        graphics.scale(x, y);
    }

    /** What is drawn from now on is so opaque. */
    public void fade(float alpha) {
        graphics.setComposite(AlphaComposite.getInstance(AlphaComposite.SRC_OVER, alpha));
    }

    public void drawRect(float left, float top, float right, float bottom, Paint paint) {
        shape(new Rectangle2D.Float(left, top, right - left, bottom - top), paint);
    }

    public void drawRoundRect(RectF box, float rx, float ry, Paint paint) {
        shape(new RoundRectangle2D.Float(box.left, box.top, box.right - box.left, box.bottom - box.top, 2 * rx, 2 * ry),
                paint);
    }

    public void drawPath(Path path, Paint paint) {
        shape(path.shape, paint);
    }

    public void drawLine(float x, float y, float toX, float toY, Paint paint) {
        graphics.setColor(paint.color);
        graphics.setStroke(stroke(paint));
        graphics.draw(new java.awt.geom.Line2D.Float(x, y, toX, toY));
    }

    public void drawCircle(float x, float y, float radius, Paint paint) {
        shape(new java.awt.geom.Ellipse2D.Float(x - radius, y - radius, 2 * radius, 2 * radius), paint);
    }

    public void drawBitmap(Bitmap bitmap, Rect from, RectF to, Paint paint) {
        AffineTransform transform = AffineTransform.getTranslateInstance(to.left, to.top);
        transform.scale(
                (to.right - to.left) / bitmap.image.getWidth(), (to.bottom - to.top) / bitmap.image.getHeight());
        graphics.drawImage(bitmap.image, transform, null);
    }

    private void shape(java.awt.Shape shape, Paint paint) {
        graphics.setColor(paint.color);
        if (paint.style == Paint.Style.STROKE) {
            graphics.setStroke(stroke(paint));
            graphics.draw(shape);
        } else {
            graphics.fill(shape);
        }
    }

    private static BasicStroke stroke(Paint paint) {
        return new BasicStroke(paint.strokeWidth, BasicStroke.CAP_ROUND, BasicStroke.JOIN_ROUND);
    }

    public void drawText(CharSequence text, int start, int end, float x, float y, Paint paint) {
        String shown = text.subSequence(start, end).toString();
        AffineTransform at = graphics.getTransform();
        double left = at.getTranslateX() + x;
        if (left < 0 || left + paint.measureText(text, start, end) > width + 1 || at.getTranslateY() + y > height) {
            throw new IllegalStateException("off the screen: " + shown);
        }
        texts.add(shown);
        sizes.add(paint.drawn().getSize2D());
        graphics.setColor(paint.color);
        graphics.setFont(paint.drawn());
        graphics.drawString(shown, x, y);
    }
}

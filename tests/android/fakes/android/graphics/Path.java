package android.graphics;

import java.awt.geom.Arc2D;
import java.awt.geom.Path2D;

public class Path {
    final Path2D.Float shape = new Path2D.Float();

    public void moveTo(float x, float y) {
        shape.moveTo(x, y);
    }

    public void lineTo(float x, float y) {
        shape.lineTo(x, y);
    }

    public void close() {
        shape.closePath();
    }

    /** Android's degrees go clockwise, AWT's the other way. */
    public void addArc(RectF box, float start, float sweep) {
        shape.append(
                new Arc2D.Float(box.left, box.top, box.right - box.left, box.bottom - box.top, -start, -sweep,
                        Arc2D.OPEN),
                false);
    }

    public void rewind() {
        shape.reset();
    }
}

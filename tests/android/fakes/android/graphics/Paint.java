package android.graphics;

import java.awt.Color;
import java.awt.Font;
import java.awt.font.FontRenderContext;

/** Fake paint: colour, style, line width and font for Java's 2D graphics. Joins, caps and filters have no effect. */
public class Paint {
    public static final int ANTI_ALIAS_FLAG = 1;

    public enum Style {
        FILL,
        STROKE
    }

    public enum Join {
        ROUND
    }

    public enum Cap {
        ROUND
    }

    Color color = Color.BLACK;
    Style style = Style.FILL;
    float strokeWidth = 1;
    private Font font = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
    private Font bold = font.deriveFont(Font.BOLD);
    private boolean isBold;

    public Paint(int flags) {}

    public void setColor(int argb) {
        color = new Color(argb, true);
    }

    public void setStyle(Style style) {
        this.style = style;
    }

    public void setStrokeWidth(float width) {
        strokeWidth = width;
    }

    public void setStrokeJoin(Join join) {}

    public void setStrokeCap(Cap cap) {}

    public void setFilterBitmap(boolean filter) {}

    public void setFakeBoldText(boolean bold) {
        isBold = bold;
    }

    public void setTextSize(float size) {
        font = font.deriveFont(size);
        bold = bold.deriveFont(size);
    }

    Font drawn() {
        return isBold ? bold : font;
    }

    public float measureText(CharSequence text, int start, int end) {
        FontRenderContext context = new FontRenderContext(null, true, true);
        return (float) drawn().getStringBounds(text.subSequence(start, end).toString(), context).getWidth();
    }
}

package android.graphics;

import java.awt.Color;
import java.awt.Font;
import java.awt.font.FontRenderContext;

public class Paint {
    public static final int ANTI_ALIAS_FLAG = 1;

    Color color = Color.BLACK;
    Font font = new Font(Font.SANS_SERIF, Font.PLAIN, 12);

    public Paint(int flags) {}

    public void setColor(int argb) {
        color = new Color(argb, true);
    }

    public void setTextSize(float size) {
        font = font.deriveFont(size);
    }

    public float measureText(CharSequence text, int start, int end) {
        FontRenderContext context = new FontRenderContext(null, true, true);
        return (float) font.getStringBounds(text.subSequence(start, end).toString(), context).getWidth();
    }
}

package glslinfer.app;

import android.content.Context;
import android.graphics.Canvas;
import android.view.View;

/** A button with an icon above a word. {@link Screen} draws its panel; screen readers recognise it as a button. */
final class ControlButton extends View {
    private static final float DISABLED = 0.35f;

    private final Ink ink;
    private Icon icon;
    private String word;
    private boolean wordShown = true;
    private boolean on;

    ControlButton(Context context, Ink ink, Icon icon, String word) {
        super(context);
        this.ink = ink;
        setFocusable(true);
        setClickable(true);
        set(icon, word, false);
    }

    /** Sets its icon and word; {@code on}: highlighted. */
    void set(Icon icon, String word, boolean on) {
        this.icon = icon;
        this.word = word;
        this.on = on;
        setContentDescription(word);
        invalidate();
    }

    /** Shows the icon only; screen readers still read the word. */
    void hideWord() {
        wordShown = false;
    }

    @Override
    public CharSequence getAccessibilityClassName() {
        return "android.widget.Button";
    }

    @Override
    protected void drawableStateChanged() {
        super.drawableStateChanged();
        setAlpha(isEnabled() ? 1 : DISABLED);
        invalidate();
    }

    @Override
    protected void onDraw(Canvas canvas) {
        float width = getWidth();
        float height = getHeight();
        float edge = 3 * ink.unit;
        Palette colours = ink.palette;
        if (on || isPressed() || isFocused()) {
            int ground = on ? colours.accent : colours.track;
            float radius = wordShown ? 14 * ink.unit : height / 2 - edge;
            ink.round(canvas, edge, edge, width - edge, height - edge, radius, ground);
        }
        int colour = on ? colours.onAccent : colours.text;
        float side = 26 * ink.unit;
        if (!wordShown) {
            icon.draw(canvas, ink.paint, width / 2, height / 2, side, colour);
            return;
        }
        icon.draw(canvas, ink.paint, width / 2, height / 2 - 9 * ink.unit, side, colour);
        ink.begin().append(word);
        float size = 13 * ink.text;
        float wide = Math.min(ink.width(size, false), width);
        ink.write(canvas, (width - wide) / 2, height / 2 + 21 * ink.unit, width, size, false, colour);
    }
}

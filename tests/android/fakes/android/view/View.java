package android.view;

import android.content.Context;
import android.graphics.Canvas;

public class View {
    public interface OnClickListener {
        void onClick(View view);
    }

    public static class MeasureSpec {
        public static final int EXACTLY = 1 << 30;

        public static int makeMeasureSpec(int size, int mode) {
            return size | mode;
        }

        public static int getSize(int spec) {
            return spec & ~EXACTLY;
        }
    }

    public OnClickListener listener;
    public CharSequence description = "";
    private boolean enabled = true;
    private float alpha = 1;
    private int left;
    private int top;
    private int right;
    private int bottom;

    public View(Context context) {}

    public void setOnClickListener(OnClickListener listener) {
        this.listener = listener;
    }

    public void setContentDescription(CharSequence text) {
        description = text;
    }

    public CharSequence getAccessibilityClassName() {
        return "android.view.View";
    }

    public void setFocusable(boolean focusable) {}

    public void setClickable(boolean clickable) {}

    public void setEnabled(boolean enabled) {
        if (this.enabled != enabled) {
            this.enabled = enabled;
            drawableStateChanged();
        }
    }

    public boolean isEnabled() {
        return enabled;
    }

    public boolean isPressed() {
        return false;
    }

    public boolean isFocused() {
        return false;
    }

    protected void drawableStateChanged() {}

    public void setAlpha(float alpha) {
        this.alpha = alpha;
    }

    public void setWillNotDraw(boolean not) {}

    public void postInvalidate() {}

    public void invalidate() {}

    public final void measure(int wide, int high) {
        onMeasure(wide, high);
    }

    protected void onMeasure(int wide, int high) {}

    protected final void setMeasuredDimension(int width, int height) {}

    public void layout(int left, int top, int right, int bottom) {
        this.left = left;
        this.top = top;
        this.right = right;
        this.bottom = bottom;
        onLayout(true, left, top, right, bottom);
    }

    protected void onLayout(boolean changed, int left, int top, int right, int bottom) {}

    public final int getLeft() {
        return left;
    }

    public final int getTop() {
        return top;
    }

    public final int getRight() {
        return right;
    }

    public final int getBottom() {
        return bottom;
    }

    public final int getWidth() {
        return right - left;
    }

    public final int getHeight() {
        return bottom - top;
    }

    public long getDrawingTime() {
        return 0;
    }

    protected void onDraw(Canvas canvas) {}

    protected void dispatchDraw(Canvas canvas) {}

    /** A finger on it. */
    public void press() {
        if (!enabled) {
            throw new IllegalStateException(description + " is disabled");
        }
        listener.onClick(this);
    }

    /** What the system does, which the harness calls. */
    public void draw(Canvas canvas) {
        canvas.save();
        canvas.translate(left, top);
        canvas.fade(alpha);
        onDraw(canvas);
        dispatchDraw(canvas);
        canvas.fade(1);
        canvas.restore();
    }
}

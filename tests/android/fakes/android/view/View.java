package android.view;

import android.content.Context;
import android.graphics.Canvas;
import glslinfer.fake.Phone;

public class View {
    public interface OnClickListener {
        void onClick(View view);
    }

    public OnClickListener listener;
    public boolean enabled = true;

    public View(Context context) {}

    public void setOnClickListener(OnClickListener listener) {
        this.listener = listener;
    }

    public void setEnabled(boolean enabled) {
        this.enabled = enabled;
    }

    public void postInvalidate() {}

    public final int getWidth() {
        return Phone.width;
    }

    public final int getHeight() {
        return Phone.height;
    }

    protected void onDraw(Canvas canvas) {}

    /** A finger on it. */
    public void press() {
        listener.onClick(this);
    }

    /** What the system does, which the harness calls. */
    public void draw(Canvas canvas) {
        onDraw(canvas);
    }
}

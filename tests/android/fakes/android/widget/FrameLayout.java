package android.widget;

import android.content.Context;
import android.view.View;
import android.view.ViewGroup;

/** Every child as large as itself. */
public class FrameLayout extends ViewGroup {
    public FrameLayout(Context context) {
        super(context);
    }

    @Override
    protected void onLayout(boolean changed, int left, int top, int right, int bottom) {
        for (View child : children) {
            child.layout(0, 0, right - left, bottom - top);
        }
    }
}

package android.view;

import android.content.Context;
import android.graphics.Canvas;
import java.util.ArrayList;
import java.util.List;

/** Fake group of views: draws its children in order. */
public abstract class ViewGroup extends View {
    public static class LayoutParams {}

    public final List<View> children = new ArrayList<>();

    public ViewGroup(Context context) {
        super(context);
    }

    public void addView(View child) {
        children.add(child);
    }

    protected boolean drawChild(Canvas canvas, View child, long time) {
        child.draw(canvas);
        return false;
    }

    @Override
    protected void dispatchDraw(Canvas canvas) {
        for (View child : children) {
            drawChild(canvas, child, 0);
        }
    }
}

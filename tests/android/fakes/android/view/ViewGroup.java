package android.view;

import android.content.Context;
import android.graphics.Canvas;
import java.util.ArrayList;
import java.util.List;

public class ViewGroup extends View {
    public static class LayoutParams {}

    public final List<View> children = new ArrayList<>();

    public ViewGroup(Context context) {
        super(context);
    }

    public void addView(View child) {
        children.add(child);
    }

    public void addView(View child, LayoutParams where) {
        children.add(child);
    }

    @Override
    public void draw(Canvas canvas) {
        for (View child : children) {
            child.draw(canvas);
        }
    }
}

package android.widget;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.Paint;
import android.view.View;
import android.view.ViewGroup;

/** A row of buttons along the lower edge, in equal parts. */
public class LinearLayout extends ViewGroup {
    public LinearLayout(Context context) {
        super(context);
    }

    public void setOrientation(int orientation) {}

    public void setGravity(int gravity) {}

    @Override
    public void draw(Canvas canvas) {
        float unit = glslinfer.fake.Phone.density;
        float each = (float) getWidth() / children.size();
        Paint paint = new Paint(0);
        paint.setTextSize(14 * unit);
        for (int i = 0; i < children.size(); i++) {
            View child = children.get(i);
            paint.setColor(0xFFD6D7D7);
            canvas.drawRect(i * each + 4 * unit, getHeight() - 44 * unit, (i + 1) * each - 4 * unit,
                    getHeight() - 6 * unit, paint);
            paint.setColor(child.enabled ? 0xFF202020 : 0xFF909090);
            String text = ((TextView) child).text.toUpperCase();
            float x = (i + 0.5f) * each - paint.measureText(text, 0, text.length()) / 2;
            canvas.drawText(text, 0, text.length(), x, getHeight() - 20 * unit, paint);
        }
    }
}

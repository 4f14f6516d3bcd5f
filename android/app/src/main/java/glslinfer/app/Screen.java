package glslinfer.app;

import android.content.Context;
import android.graphics.Canvas;
import android.view.View;
import android.view.ViewGroup;

/**
 * Layout: the camera image on the full screen, results over it, and a bar of buttons, at the bottom of a tall screen or
 * at the right of a wide one.
 */
final class Screen extends ViewGroup implements View.OnClickListener {
    /** Receives pressed buttons on the main thread. */
    interface Listener {
        void onModelButton();

        void onPhotoButton();

        void onTurnButton();

        void onLightButton();

        void onPauseButton();

        void onTimesButton();
    }

    private static final float BAR = 78;
    private static final float WIDEST = 104;

    final ControlButton model;
    final ControlButton photo;
    final ControlButton turn;
    final ControlButton light;
    final ControlButton pause;
    final ControlButton times;

    private final View picture;
    private final ResultsView results;
    private final Ink ink;
    private final Listener listener;
    private final ControlButton[] row;

    /** @param picture draws the camera image */
    Screen(Context context, Ink ink, View picture, ResultsView results, Listener listener) {
        super(context);
        this.ink = ink;
        this.picture = picture;
        this.results = results;
        this.listener = listener;
        setWillNotDraw(false);
        addView(picture);
        addView(results);
        model = button(context, Icon.MODEL, "Model");
        photo = button(context, Icon.PHOTO, "Photo");
        turn = button(context, Icon.TURN, "Turn");
        light = button(context, Icon.LIGHT, "Light");
        pause = button(context, Icon.PAUSE, "Pause");
        times = button(context, Icon.TIMES, "Times");
        times.hideWord();
        row = new ControlButton[] {model, photo, turn, light, pause};
    }

    private ControlButton button(Context context, Icon icon, String word) {
        ControlButton button = new ControlButton(context, ink, icon, word);
        button.setOnClickListener(this);
        addView(button);
        return button;
    }

    /** Sets the state: camera image, paused or not, or photograph; and the features of the camera. */
    void setState(boolean photograph, boolean paused, boolean hasLight, boolean lit) {
        photo.set(photograph ? Icon.CAMERA : Icon.PHOTO, photograph ? "Camera" : "Photo", photograph);
        pause.set(paused ? Icon.PLAY : Icon.PAUSE, paused ? "Go on" : "Pause", paused);
        light.set(Icon.LIGHT, "Light", lit);
        light.setEnabled(hasLight && !photograph);
        turn.setEnabled(!photograph);
        pause.setEnabled(!photograph);
    }

    @Override
    protected void onMeasure(int wide, int high) {
        int width = MeasureSpec.getSize(wide);
        int height = MeasureSpec.getSize(high);
        setMeasuredDimension(width, height);
        place(width, height, true);
    }

    @Override
    protected void onLayout(boolean changed, int left, int top, int right, int bottom) {
        place(right - left, bottom - top, false);
    }

    private void place(int width, int height, boolean measured) {
        boolean wide = width > height;
        float bar = BAR * ink.unit;
        float gap = 8 * ink.unit;
        put(picture, 0, 0, width, height, measured);
        put(results, 0, 0, width, height, measured);
        results.setBar(wide ? width - bar - gap : width, wide ? height : height - bar - gap);
        float along = wide ? height : width;
        float each = Math.min((along - 2 * gap) / row.length, WIDEST * ink.unit);
        float first = (along - each * row.length) / 2;
        for (int i = 0; i < row.length; i++) {
            float at = first + i * each;
            if (wide) {
                put(row[i], width - bar, at, width - gap, at + each, measured);
            } else {
                put(row[i], at, height - bar, at + each, height - gap, measured);
            }
        }
        float side = 48 * ink.unit;
        float right = wide ? width - bar - 2 * gap : width - gap;
        put(times, right - side, gap, right, gap + side, measured);
    }

    private static void put(View view, float left, float top, float right, float bottom, boolean measured) {
        int wide = Math.round(right) - Math.round(left);
        int high = Math.round(bottom) - Math.round(top);
        if (measured) {
            view.measure(
                    MeasureSpec.makeMeasureSpec(wide, MeasureSpec.EXACTLY),
                    MeasureSpec.makeMeasureSpec(high, MeasureSpec.EXACTLY));
        } else {
            view.layout(Math.round(left), Math.round(top), Math.round(right), Math.round(bottom));
        }
    }

    @Override
    protected void dispatchDraw(Canvas canvas) {
        float gap = 8 * ink.unit;
        float bar = BAR * ink.unit;
        drawChild(canvas, picture, getDrawingTime());
        drawChild(canvas, results, getDrawingTime());
        float radius = 22 * ink.unit;
        if (getWidth() > getHeight()) {
            ink.round(canvas, getWidth() - bar, gap, getWidth() - gap, getHeight() - gap, radius, ink.palette.panel);
        } else {
            ink.round(canvas, gap, getHeight() - bar, getWidth() - gap, getHeight() - gap, radius, ink.palette.panel);
        }
        ink.round(canvas, times.getLeft(), times.getTop(), times.getRight(), times.getBottom(), 24 * ink.unit,
                ink.palette.panel);
        for (ControlButton button : row) {
            drawChild(canvas, button, getDrawingTime());
        }
        drawChild(canvas, times, getDrawingTime());
    }

    @Override
    public void onClick(View pressed) {
        if (pressed == model) {
            listener.onModelButton();
        } else if (pressed == photo) {
            listener.onPhotoButton();
        } else if (pressed == turn) {
            listener.onTurnButton();
        } else if (pressed == light) {
            listener.onLightButton();
        } else if (pressed == pause) {
            listener.onPauseButton();
        } else {
            listener.onTimesButton();
        }
    }
}

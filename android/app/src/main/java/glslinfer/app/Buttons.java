package glslinfer.app;

import android.content.Context;
import android.view.Gravity;
import android.view.View;
import android.widget.Button;
import android.widget.LinearLayout;

/** The row of buttons along the lower edge. */
final class Buttons implements View.OnClickListener {
    /** Told, in the main thread, what was pressed. */
    interface Listener {
        void onModelButton();

        void onTurnButton();

        void onLightButton();

        void onPauseButton();
    }

    /** To be added to the screen. */
    final LinearLayout row;

    private final Listener listener;
    private final Button model;
    private final Button turn;
    private final Button light;
    private final Button pause;

    Buttons(Context context, Listener listener) {
        this.listener = listener;
        row = new LinearLayout(context);
        row.setOrientation(LinearLayout.HORIZONTAL);
        row.setGravity(Gravity.CENTER);
        model = add(context, "Model");
        turn = add(context, "Turn");
        light = add(context, "Light");
        pause = add(context, "Pause");
    }

    private Button add(Context context, String text) {
        Button button = new Button(context);
        button.setText(text);
        button.setOnClickListener(this);
        row.addView(button);
        return button;
    }

    /** Says whether the camera has a light. */
    void setLight(boolean there) {
        light.setEnabled(there);
    }

    /** Says whether the picture is kept. */
    void setPaused(boolean paused) {
        pause.setText(paused ? "Go on" : "Pause");
    }

    @Override
    public void onClick(View pressed) {
        if (pressed == model) {
            listener.onModelButton();
        } else if (pressed == turn) {
            listener.onTurnButton();
        } else if (pressed == light) {
            listener.onLightButton();
        } else {
            listener.onPauseButton();
        }
    }
}

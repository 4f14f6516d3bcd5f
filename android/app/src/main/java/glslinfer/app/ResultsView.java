package glslinfer.app;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.Paint;
import android.view.View;
import glslinfer.runner.Fit;
import glslinfer.runner.Input;
import java.util.Collections;
import java.util.List;

/**
 * What lies over the camera's picture: a frame around what the network sees, the best labels with bars, messages.
 *
 * <p>{@link #show} comes from the GL thread for every result and allocates nothing.
 */
final class ResultsView extends View {
    static final int TOP = 3;

    private static final int SHADE = 0xA0101418;
    private static final int BAR = 0xFF4AA8FF;
    private static final int FRAME = 0x90FFFFFF;
    private static final int TEXT = 0xFFFFFFFF;

    private final Paint paint = new Paint(Paint.ANTI_ALIAS_FLAG);
    private final StringBuilder line = new StringBuilder(256);
    private final float unit;

    // Shared with the GL thread.
    private List<String> labels = Collections.emptyList();
    private final int[] indices = new int[TOP];
    private final double[] probabilities = new double[TOP];
    private final double[] stages = new double[Stage.COUNT];
    private int shown;
    private int steps;
    private double networkFrames;
    private double screenFrames;
    private int uprightWidth = 1;
    private int uprightHeight = 1;
    private Input input;
    private Fit.Place seen;
    private String message = "";

    /** The columns of the line of times. */
    static final class Stage {
        static final int CAMERA = 0;
        static final int NETWORK = 1;
        static final int READ = 2;
        static final int SCREEN = 3;
        static final int COUNT = 4;

        private Stage() {}
    }

    ResultsView(Context context) {
        super(context);
        unit = context.getResources().getDisplayMetrics().density;
    }

    /** Shows a message instead of labels, or with "" none. */
    void setMessage(String text) {
        synchronized (this) {
            message = text;
        }
        postInvalidate();
    }

    /** Names the classes of the results to come, those of another model are gone; {@code picture} is its input. */
    synchronized void setModel(List<String> names, Input picture) {
        labels = names;
        shown = 0;
        input = picture;
        place();
    }

    /** Says how many pixels the camera's picture has, as it stands on the screen. */
    synchronized void setUpright(int width, int height) {
        if (width != uprightWidth || height != uprightHeight) {
            uprightWidth = width;
            uprightHeight = height;
            place();
        }
    }

    private void place() {
        seen = input == null
                ? null
                : input.fit.place(uprightWidth, uprightHeight, input.width(), input.height());
    }

    /** Shows a result. */
    void show(int[] best, double[] chances, int count, double[] times, int slices, double results, double screens) {
        synchronized (this) {
            shown = Math.min(count, TOP);
            for (int i = 0; i < shown; i++) {
                indices[i] = best[i];
                probabilities[i] = chances[i];
            }
            for (int i = 0; i < stages.length; i++) {
                stages[i] = times[i];
            }
            steps = slices;
            networkFrames = results;
            screenFrames = screens;
        }
        postInvalidate();
    }

    @Override
    protected synchronized void onDraw(Canvas canvas) {
        if (seen != null) {
            drawSeen(canvas);
        }
        if (!message.isEmpty()) {
            drawMessage(canvas);
        }
        if (shown > 0) {
            drawSpeed(canvas);
            drawLabels(canvas);
        }
    }

    private void drawSeen(Canvas canvas) {
        float width = getWidth();
        float height = getHeight();
        float scale = Math.max(width / uprightWidth, height / uprightHeight);
        float thick = unit;
        paint.setColor(FRAME);
        float left = width / 2 + (seen.left - uprightWidth / 2f) * scale;
        float right = left + seen.width * scale;
        float top = height / 2 + (seen.top - uprightHeight / 2f) * scale;
        float bottom = top + seen.height * scale;
        canvas.drawRect(left, top, right, top + thick, paint);
        canvas.drawRect(left, bottom - thick, right, bottom, paint);
        canvas.drawRect(left, top, left + thick, bottom, paint);
        canvas.drawRect(right - thick, top, right, bottom, paint);
    }

    private void drawLabels(Canvas canvas) {
        float row = 34 * unit;
        float left = 16 * unit;
        float right = getWidth() - 16 * unit;
        float top = getHeight() - (TOP + 2) * row;
        paint.setColor(SHADE);
        canvas.drawRect(left - 8 * unit, top - 6 * unit, right + 8 * unit, top + shown * row + 2 * unit, paint);
        for (int i = 0; i < shown; i++) {
            float y = top + i * row;
            paint.setColor(BAR);
            canvas.drawRect(left, y + 24 * unit, left + (float) probabilities[i] * (right - left), y + 29 * unit,
                    paint);
            paint.setColor(TEXT);
            line.setLength(0);
            tenths(100 * probabilities[i]).append(" %  ").append(labels.get(indices[i]));
            paint.setTextSize(18 * unit);
            float wide = paint.measureText(line, 0, line.length());
            if (wide > right - left) {
                paint.setTextSize(18 * unit * (right - left) / wide);
            }
            canvas.drawText(line, 0, line.length(), left, y + 18 * unit, paint);
        }
    }

    private void drawSpeed(Canvas canvas) {
        paint.setColor(SHADE);
        canvas.drawRect(0, 0, getWidth(), 60 * unit, paint);
        paint.setColor(TEXT);
        paint.setTextSize(12 * unit);
        line.setLength(0);
        tenths(networkFrames).append(" results/s, ");
        tenths(screenFrames).append(" frames/s");
        canvas.drawText(line, 0, line.length(), 16 * unit, 16 * unit, paint);
        line.setLength(0);
        line.append("network ");
        tenths(stages[Stage.NETWORK]).append(" ms in ").append(steps).append(steps == 1 ? " step" : " steps");
        canvas.drawText(line, 0, line.length(), 16 * unit, 34 * unit, paint);
        line.setLength(0);
        line.append("camera ");
        tenths(stages[Stage.CAMERA]).append(", read ");
        tenths(stages[Stage.READ]).append(", screen ");
        tenths(stages[Stage.SCREEN]).append(" ms");
        canvas.drawText(line, 0, line.length(), 16 * unit, 52 * unit, paint);
    }

    /** Appends a number with one digit after the point; String.format would allocate. */
    private StringBuilder tenths(double number) {
        long scaled = Math.round(10 * number);
        return line.append(scaled / 10).append('.').append(Math.abs(scaled % 10));
    }

    /** Messages are broken into lines at spaces; they are rare, so this may allocate. */
    private void drawMessage(Canvas canvas) {
        float left = 16 * unit;
        float y = getHeight() / 3f;
        paint.setTextSize(16 * unit);
        for (String paragraph : message.split("\n")) {
            line.setLength(0);
            for (String word : paragraph.split(" ")) {
                int before = line.length();
                line.append(before == 0 ? "" : " ").append(word);
                if (before > 0 && paint.measureText(line, 0, line.length()) > getWidth() - 2 * left) {
                    y = drawMessageLine(canvas, before, left, y);
                    line.setLength(0);
                    line.append(word);
                }
            }
            y = drawMessageLine(canvas, line.length(), left, y);
        }
    }

    private float drawMessageLine(Canvas canvas, int length, float left, float y) {
        paint.setColor(SHADE);
        canvas.drawRect(0, y - 20 * unit, getWidth(), y + 6 * unit, paint);
        paint.setColor(TEXT);
        canvas.drawText(line, 0, length, left, y, paint);
        return y + 26 * unit;
    }
}

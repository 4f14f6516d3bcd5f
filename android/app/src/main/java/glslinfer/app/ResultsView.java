package glslinfer.app;

import android.content.Context;
import android.graphics.Bitmap;
import android.graphics.Canvas;
import android.graphics.RectF;
import android.view.View;
import glslinfer.runner.Fit;
import glslinfer.runner.Input;
import glslinfer.tasks.Found;
import java.util.Collections;
import java.util.List;

/**
 * Content over the camera image: a photograph instead of it, marks of the network's region, cards.
 *
 * <p>{@link #show} is called on the GL thread for each result and allocates nothing.
 */
final class ResultsView extends View {
    static final int TOP = 3;

    private static final int FRAME = 0xA0FFFFFF;
    private static final int BACKGROUND = 0xFF000000;

    private final Ink ink;
    private final Cards cards;
    private final Overlay overlay;
    private final RectF imageArea = new RectF();

    // Shared with the GL thread.
    private List<String> labels = Collections.emptyList();
    private final int[] indices = new int[TOP];
    private final double[] probabilities = new double[TOP];
    private final double[] stages = new double[Stage.COUNT];
    /** Number of labels on the screen. */
    private int labelCount;

    /** Steps, each in a screen frame, that the last result took. */
    private int steps;

    private double resultRate;
    private double screenRate;
    private int uprightWidth = 1;
    private int uprightHeight = 1;
    private Input input;
    /** The network's region of the image; null without a model. */
    private Fit.Place networkRegion;

    private String message = "";
    private boolean timesShown;
    private Bitmap photograph;
    private Found found;
    private String foundWords = "";
    private Bitmap tint;
    private boolean mirrored;

    /** Columns in the line of times. */
    static final class Stage {
        static final int CAMERA = 0;
        static final int NETWORK = 1;
        static final int READ = 2;
        static final int SCREEN = 3;
        static final int COUNT = 4;

        private Stage() {}
    }

    ResultsView(Context context, Ink ink) {
        super(context);
        this.ink = ink;
        cards = new Cards(ink);
        overlay = new Overlay(ink);
    }

    /** Shows a message; "" for none. */
    void setMessage(String text) {
        synchronized (this) {
            message = text;
        }
        setContentDescription(text);
        postInvalidate();
    }

    /** Shows or hides all times. */
    synchronized void showTimes(boolean isShown) {
        timesShown = isShown;
        postInvalidate();
    }

    /** Shows a photograph instead of the camera image; null for the camera. Results are cleared. */
    synchronized void setPhotograph(Bitmap upright) {
        photograph = upright;
        labelCount = 0;
        found = null;
        tint = null;
        if (upright != null) {
            setUpright(upright.getWidth(), upright.getHeight());
        }
        postInvalidate();
    }

    /** Sets the top left corner of the bar of buttons, where cards end. */
    void setBar(float left, float top) {
        cards.setRoom(left, top);
    }

    /** Sets the classes of another model, and clears results; {@code picture} is its input. */
    synchronized void setModel(List<String> names, Input picture) {
        labels = names;
        labelCount = 0;
        found = null;
        tint = null;
        input = picture;
        updateNetworkRegion();
    }

    /** Sets the size of the upright image in pixels. */
    synchronized void setUpright(int width, int height) {
        if (width != uprightWidth || height != uprightHeight) {
            uprightWidth = width;
            uprightHeight = height;
            updateNetworkRegion();
        }
    }

    private void updateNetworkRegion() {
        networkRegion = input == null
                ? null
                : input.fit.place(uprightWidth, uprightHeight, input.width(), input.height());
    }

    /** Shows a result. */
    void show(int[] best, double[] chances, int count, Times times, int stepCount) {
        synchronized (this) {
            labelCount = Math.min(count, TOP);
            for (int i = 0; i < labelCount; i++) {
                indices[i] = best[i];
                probabilities[i] = chances[i];
            }
            copyTimes(times, stepCount);
        }
        postInvalidate();
    }

    /** Shows the results of a task; {@code mirror}: the screen shows a mirror image of the input. */
    void show(Found newest, boolean mirror, Times times, int stepCount) {
        String words = Overlay.words(newest);
        synchronized (this) {
            found = newest;
            foundWords = words;
            tint = photograph == null ? null : Overlay.tint(newest);
            mirrored = mirror;
            copyTimes(times, stepCount);
        }
        postInvalidate();
    }

    private void copyTimes(Times times, int stepCount) {
        System.arraycopy(times.stages, 0, stages, 0, stages.length);
        steps = stepCount;
        resultRate = photograph == null ? times.resultRate() : 0;
        screenRate = photograph == null ? times.screenRate() : 0;
    }

    @Override
    protected synchronized void onDraw(Canvas canvas) {
        float scaleX = getWidth() / (float) uprightWidth;
        float scaleY = getHeight() / (float) uprightHeight;
        float scale = photograph == null ? Math.max(scaleX, scaleY) : Math.min(scaleX, scaleY);
        imageArea.left = (getWidth() - uprightWidth * scale) / 2;
        imageArea.top = (getHeight() - uprightHeight * scale) / 2;
        imageArea.right = imageArea.left + uprightWidth * scale;
        imageArea.bottom = imageArea.top + uprightHeight * scale;
        if (photograph != null) {
            ink.paint.setColor(BACKGROUND);
            canvas.drawRect(0, 0, getWidth(), getHeight(), ink.paint);
            ink.paint.setFilterBitmap(true);
            canvas.drawBitmap(photograph, null, imageArea, ink.paint);
        }
        if (networkRegion != null) {
            drawNetworkRegion(canvas, scale);
        }
        if (tint != null) {
            canvas.drawBitmap(tint, null, imageArea, ink.paint);
        }
        if (found != null) {
            overlay.draw(canvas, found, imageArea, mirrored);
            cards.drawFound(canvas, foundWords);
        }
        if (timesShown && (labelCount > 0 || found != null)) {
            cards.drawTimes(canvas, stages, steps, resultRate, screenRate);
        }
        if (labelCount > 0) {
            cards.drawLabels(canvas, labels, indices, probabilities, labelCount);
        }
        if (!message.isEmpty()) {
            cards.drawMessage(canvas, message);
        }
    }

    /** Marks the corners of the network's region. */
    private void drawNetworkRegion(Canvas canvas, float scale) {
        float left = imageArea.left + networkRegion.left * scale;
        float right = left + networkRegion.width * scale;
        float top = imageArea.top + networkRegion.top * scale;
        float bottom = top + networkRegion.height * scale;
        float side = Math.min(26 * ink.unit, (right - left) / 4);
        drawCorner(canvas, left, top, side, side);
        drawCorner(canvas, right, top, -side, side);
        drawCorner(canvas, left, bottom, side, -side);
        drawCorner(canvas, right, bottom, -side, -side);
    }

    private void drawCorner(Canvas canvas, float x, float y, float along, float down) {
        float thick = 2.5f * ink.unit;
        float right = Math.signum(along) * thick;
        float below = Math.signum(down) * thick;
        ink.paint.setColor(FRAME);
        canvas.drawRect(Math.min(x, x + along), Math.min(y, y + below), Math.max(x, x + along), Math.max(y, y + below),
                ink.paint);
        canvas.drawRect(Math.min(x, x + right), Math.min(y + below, y + down), Math.max(x, x + right),
                Math.max(y + below, y + down), ink.paint);
    }
}

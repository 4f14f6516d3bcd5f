package glslinfer.fake;

import android.app.Activity;
import android.app.AlertDialog;
import android.content.Intent;
import android.graphics.Canvas;
import android.hardware.camera2.CameraDevice;
import android.hardware.camera2.CameraManager;
import android.hardware.camera2.CaptureRequest;
import android.hardware.display.DisplayManager;
import android.net.Uri;
import android.opengl.GLSurfaceView;
import android.os.Bundle;
import android.util.Size;
import android.view.View;
import android.view.ViewGroup;
import android.view.WindowManager;
import glslinfer.desktop.DesktopGl;
import glslinfer.desktop.Egl;
import glslinfer.runner.Gl;
import java.awt.image.BufferedImage;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.zip.ZipFile;

/**
 * A phone without Android: runs the app's own activity on faked android.* classes and this machine's OpenGL ES.
 *
 * <p>Commands are read from standard input, a line each, and answered by a line of JSON; tests/android/phone.py sends
 * them. The main thread and the GL thread are one here: {@link #pump} performs the pending tasks of both.
 */
public final class Phone {
    public static ZipFile apk;
    public static int width;
    public static int height;
    public static float density;
    public static int rotation;
    public static boolean granted;
    public static boolean night;
    public static float textScale = 1;
    public static Egl egl;
    public static AlertDialog dialog;
    public static int chooser;

    /** Text that the app shared with another app. */
    public static String sent;

    public static final CameraManager cameras = new CameraManager();
    public static final DisplayManager displays = new DisplayManager();
    public static final WindowManager windows = android.view.Display::new;

    private static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
    private static final BlockingQueue<Runnable> MAIN = new LinkedBlockingQueue<>();
    private static final long PATIENCE_MS = 120_000;

    /** Bytes that frames of the screen allocated in Java since somebody asked. */
    private static long allocated;

    private static Activity activity;
    private static String[] askedNames;
    private static int askedCode;
    private static int questions;

    private Phone() {}

    /** Adds a task for the main thread; callable from any thread. */
    public static void post(Runnable action) {
        MAIN.add(action);
    }

    /** The app asks for permissions: a dialog appears, and the activity is paused as soon as it is on the screen. */
    public static void asked(String[] names, int code) {
        askedNames = names;
        askedCode = code;
        questions++;
    }

    public static void main(String[] arguments) throws Exception {
        apk = new ZipFile(arguments[0]);
        width = Integer.parseInt(arguments[1]);
        height = Integer.parseInt(arguments[2]);
        density = Float.parseFloat(arguments[3]);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println(command(line.split("\t")));
            System.out.flush();
        }
    }

    private static String command(String[] words) throws Exception {
        switch (words[0]) {
            case "sizes":
                cameras.sizes = new Size[words.length / 2];
                for (int i = 0; i < cameras.sizes.length; i++) {
                    cameras.sizes[i] = new Size(Integer.parseInt(words[1 + 2 * i]), Integer.parseInt(words[2 + 2 * i]));
                }
                break;
            case "night":
                night = words[1].equals("yes");
                if (activity != null) {
                    activity.onConfigurationChanged(activity.getResources().getConfiguration());
                }
                break;
            case "text":
                textScale = Float.parseFloat(words[1]);
                break;
            case "grant":
                granted = true;
                break;
            case "start":
                start(null, words);
                break;
            case "answer":
                granted = words[1].equals("yes");
                activity.onRequestPermissionsResult(askedCode, askedNames, new int[] {granted ? 0 : -1});
                askedNames = null;
                activity.resume();
                break;
            case "recreate":
                Bundle saved = new Bundle();
                activity.pause();
                activity.save(saved);
                lose();
                start(saved, words);
                break;
            case "pause":
                activity.pause();
                break;
            case "resume":
                activity.resume();
                break;
            case "lose":
                lose();
                break;
            case "rotate":
                rotation = Integer.parseInt(words[1]);
                GLSurfaceView.only.resized |= width != Integer.parseInt(words[2]);
                width = Integer.parseInt(words[2]);
                height = Integer.parseInt(words[3]);
                new ArrayList<>(displays.listeners).forEach(listener -> listener.onDisplayChanged(0));
                break;
            case "picture":
                return String.valueOf(picture(words));
            case "press":
                find(activity.content, words[1]).press();
                break;
            case "touch":
                touchable(activity.content).press();
                break;
            case "choose":
                dialog.listener.onClick(dialog, Arrays.asList(dialog.items).indexOf(words[1]));
                break;
            case "file":
                Intent answer = new Intent("");
                answer.data = new Uri(words[1]);
                activity.result(chooser, Activity.RESULT_OK, answer);
                break;
            case "disconnect":
                CameraDevice device = device();
                device.callback.onDisconnected(device);
                break;
            case "idle":
                while (pump()) {}
                break;
            case "wait":
                long end = System.currentTimeMillis() + PATIENCE_MS;
                while (!String.join(" ", texts(null)).contains(words[1])) { // a message may be broken into lines
                    if (System.currentTimeMillis() > end) {
                        return "\"never saw '" + words[1] + "'\"";
                    }
                    if (!pump()) {
                        Runnable action = MAIN.poll(5, TimeUnit.MILLISECONDS);
                        if (action != null) {
                            action.run();
                        }
                    }
                }
                break;
            case "allocated":
                long bytes = allocated;
                allocated = 0;
                return String.valueOf(bytes);
            case "frames":
                return String.valueOf(GLSurfaceView.only.frames);
            case "sent":
                Files.write(Paths.get(words[1]), sent.getBytes("UTF-8"));
                break;
            case "input":
                input(words[1]);
                break;
            case "screen":
                screen(words[1]);
                break;
            case "boxes":
                texts(null);
                return ((ViewGroup) activity.content)
                        .children.stream()
                                .filter(child -> child.getAccessibilityClassName().equals("android.widget.Button"))
                                .map(child -> String.format("\"%s\": [%d, %d, %d, %d]", child.description,
                                        child.getLeft(), child.getTop(), child.getRight(), child.getBottom()))
                                .collect(Collectors.joining(", ", "{", "}"));
            case "state":
                break;
            default:
                return "\"no such command\"";
        }
        return state();
    }

    /** An activity begins over the one that is there. */
    public static void follow(String name) {
        activity.pause();
        lose();
        try {
            open(name, null, new String[0]);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void start(Bundle saved, String[] extras) throws ReflectiveOperationException {
        open(System.getProperty("activity", "glslinfer.app.MainActivity"), saved, extras);
    }

    private static void open(String name, Bundle saved, String[] extras) throws ReflectiveOperationException {
        activity = (Activity) Class.forName(name).getConstructor().newInstance();
        for (int i = 1; i + 1 < extras.length; i += 2) {
            activity.intent.extras.put(extras[i], extras[i + 1]);
        }
        activity.create(saved);
        activity.resume();
        if (askedNames != null) {
            activity.pause();
        }
    }

    private static void lose() {
        if (egl != null) {
            egl.close();
            egl = null;
        }
    }

    private static boolean pump() {
        Runnable action = MAIN.poll();
        if (action != null) {
            action.run();
            return true;
        }
        return GLSurfaceView.only.pump();
    }

    /** Draws a frame, and counts its allocated bytes. */
    public static void drawn(Runnable frame) {
        long before = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
        frame.run();
        allocated += THREADS.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
    }

    private static CameraDevice device() {
        CameraDevice open = null;
        for (CameraDevice device : cameras.opened) {
            open = device.closed ? open : device;
        }
        return open;
    }

    /** Sends a camera picture, if somebody wants one: file, width, height, 16 numbers of the matrix. */
    private static boolean picture(String[] words) throws IOException {
        CameraDevice device = device();
        if (device == null || device.request == null || device.surface.released) {
            return false;
        }
        int wide = Integer.parseInt(words[2]);
        int high = Integer.parseInt(words[3]);
        if (device.surface.texture.width != wide || device.surface.texture.height != high) {
            throw new IllegalStateException("the app asked for " + device.surface.texture.width + " pixels, not "
                    + wide);
        }
        byte[] bytes = Files.readAllBytes(Paths.get(words[1]));
        ByteBuffer pixels = ByteBuffer.allocateDirect(bytes.length).order(ByteOrder.nativeOrder());
        pixels.put(bytes).rewind();
        float[] matrix = new float[16];
        for (int i = 0; i < 16; i++) {
            matrix[i] = Float.parseFloat(words[4 + i]);
        }
        device.surface.texture.send(pixels, matrix);
        return true;
    }

    private static View find(View view, String text) {
        if (view.listener != null && text.contentEquals(view.description)) {
            return view;
        }
        if (view instanceof ViewGroup) {
            for (View child : ((ViewGroup) view).children) {
                View match = find(child, text);
                if (match != null) {
                    return match;
                }
            }
        }
        return null;
    }

    private static View touchable(View view) {
        return ((ViewGroup) view).children.stream().filter(child -> child.listener != null).findFirst().get();
    }

    /** Returns all texts on the screen; with an image, draws them onto it. */
    private static List<String> texts(BufferedImage image) {
        return canvas(image).texts;
    }

    private static Canvas canvas(BufferedImage image) {
        Canvas canvas = new Canvas(image == null ? new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB)
                : image);
        if (activity != null && activity.content != null) {
            activity.content.measure(View.MeasureSpec.EXACTLY | width, View.MeasureSpec.EXACTLY | height);
            activity.content.layout(0, 0, width, height);
            activity.content.draw(canvas);
        }
        return canvas;
    }

    /** Writes the screen as raw RGBA, top row first: the GL surface, and the views over it. */
    private static void screen(String file) throws IOException {
        ByteBuffer pixels = ByteBuffer.allocateDirect(4 * width * height).order(ByteOrder.nativeOrder());
        Gl gl = new DesktopGl();
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, 0);
        gl.glReadPixels(0, 0, width, height, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, pixels);
        BufferedImage image = new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                int rgba = pixels.order(ByteOrder.BIG_ENDIAN).getInt(4 * ((height - 1 - y) * width + x));
                image.setRGB(x, y, rgba >>> 8 | 0xFF000000);
            }
        }
        texts(image);
        ByteBuffer out = ByteBuffer.allocate(4 * width * height);
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                int argb = image.getRGB(x, y);
                out.putInt(argb << 8 | 0xFF);
            }
        }
        Files.write(Paths.get(file), out.array());
    }

    /** Writes the picture that the network was given last, as raw RGBA. */
    private static void input(String file) throws IOException, ReflectiveOperationException {
        Object renderer = field(activity, "renderer");
        glslinfer.runner.Session session = (glslinfer.runner.Session) field(renderer, "session");
        glslinfer.runner.Input input = session.bundle.manifest.onlyPicture();
        ByteBuffer pixels = ByteBuffer.allocateDirect(4 * input.width() * input.height());
        Gl gl = new DesktopGl();
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, session.inputFramebuffer(input));
        gl.glReadPixels(input.view().x, input.view().y, input.width(), input.height(), Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE,
                pixels);
        byte[] bytes = new byte[pixels.capacity()];
        pixels.get(bytes);
        Files.write(Paths.get(file), bytes);
    }

    private static Object field(Object owner, String name) throws ReflectiveOperationException {
        java.lang.reflect.Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    private static String state() {
        CameraDevice device = device();
        CaptureRequest request = device == null ? null : device.request;
        Canvas canvas = canvas(null);
        String texts =
                canvas.texts.stream()
                        .map(text -> '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"')
                        .collect(Collectors.joining(", "));
        return "{\"camera\": "
                + (request == null ? "null" : '"' + device.id + '"')
                + ", \"open\": "
                + cameras.opened.stream().filter(one -> !one.closed).count()
                + ", \"torch\": "
                + (request != null && Integer.valueOf(2).equals(request.values.get(CaptureRequest.FLASH_MODE)))
                + ", \"questions\": "
                + questions
                + ", \"gl_error\": "
                + (egl == null ? 0 : new DesktopGl().glGetError())
                + ", \"frames\": "
                + (GLSurfaceView.only == null ? 0 : GLSurfaceView.only.frames)
                + ", \"texts\": ["
                + texts
                + "], \"sizes\": "
                + canvas.sizes
                + "}";
    }
}

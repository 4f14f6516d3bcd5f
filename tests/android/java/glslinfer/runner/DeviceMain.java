package glslinfer.runner;

import glslinfer.desktop.DesktopGl;
import glslinfer.desktop.Egl;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;

/**
 * Properties of a device, and its lines in shaders, for tests.
 *
 * <pre>
 *   facts RENDERER...                 rounding of stores here, and the forms of shaders for each GL_RENDERER
 *   small NAME VALUE BUNDLE           the message for a device on which the limit NAME, as in Gl, is VALUE
 *   two BUNDLE BUNDLE                 whether two sessions of a device are independent, also after one is closed
 *   told LINES BUNDLE PICTURE OUT     a frame on a device that needs these lines (joined by commas)
 * </pre>
 */
public final class DeviceMain {
    private DeviceMain() {}

    public static void main(String[] words) throws IOException {
        new Egl();
        Device device = new Device(new DesktopGl());
        if (words[0].equals("facts")) {
            StringBuilder late = new StringBuilder();
            StringBuilder rolled = new StringBuilder();
            for (int i = 1; i < words.length; i++) {
                late.append(i > 1 ? ", " : "").append(Device.wantsOrderedFetches(words[i]));
                rolled.append(i > 1 ? ", " : "").append(Device.wantsRolledFetches(words[i]));
            }
            System.out.println("{\"threshold\": " + device.storeThreshold() + ", \"late\": [" + late
                    + "], \"rolled\": [" + rolled + "]}");
            return;
        }
        if (words[0].equals("small")) {
            System.out.println(small(Integer.decode(words[1]), Integer.parseInt(words[2]), words[3]));
            return;
        }
        if (words[0].equals("two")) {
            System.out.println(two(device, words[1], words[2]));
            return;
        }
        StringBuilder lines = new StringBuilder();
        for (String name : words[1].split(",")) {
            lines.append("#define ").append(name).append('\n');
        }
        device.lines = lines.toString();
        try (InputStream stream = Files.newInputStream(Paths.get(words[2]))) {
            Session session = new Session(device, Bundle.read(stream, words[2]));
            session.selfCheck();
            float[] numbers = session.run(Files.readAllBytes(Paths.get(words[3])));
            ByteBuffer out = ByteBuffer.allocate(4 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
            out.asFloatBuffer().put(numbers);
            Files.write(Paths.get(words[4]), out.array());
        }
    }

    private static boolean two(Device device, String first, String second) throws IOException {
        Session own = session(device, first);
        float[] expectedOfOwn = frame(own);
        Session other = session(device, second);
        float[] expectedOfOther = frame(other);
        boolean same = Arrays.equals(frame(own), expectedOfOwn) && Arrays.equals(frame(other), expectedOfOther);
        own.close();
        same &= Arrays.equals(frame(other), expectedOfOther);
        GlObjects.check(device.gl, "with two sessions");
        return same;
    }

    private static Session session(Device device, String file) throws IOException {
        try (InputStream stream = Files.newInputStream(Paths.get(file))) {
            return new Session(device, Bundle.read(stream, file));
        }
    }

    private static float[] frame(Session session) {
        return session.run(Probe.picture(session.bundle.manifest.onlyPicture(), 0));
    }

    /** Returns the refusal of a device that is as this machine's, but for one number. */
    private static String small(int name, int value, String file) throws IOException {
        Gl real = new DesktopGl();
        InvocationHandler lower =
                (proxy, method, arguments) ->
                        method.getName().equals("glGetInteger") && arguments[0].equals(name)
                                ? value
                                : method.invoke(real, arguments);
        Gl gl = (Gl) Proxy.newProxyInstance(Gl.class.getClassLoader(), new Class<?>[] {Gl.class}, lower);
        try (InputStream stream = Files.newInputStream(Paths.get(file))) {
            new Session(new Device(gl), Bundle.read(stream, file));
            return "\"\"";
        } catch (Errors.LimitError error) {
            return '"' + error.getMessage() + '"';
        }
    }
}

package glslinfer.runner;

import glslinfer.desktop.DesktopGl;
import glslinfer.desktop.Egl;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * What is known of a device, and what it is told, for tests.
 *
 * <pre>
 *   facts RENDERER...                 how stores round here; of each GL_RENDERER whether it wants late fetches
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
            for (int i = 1; i < words.length; i++) {
                late.append(i > 1 ? ", " : "").append(LateFetch.wanted(words[i]));
            }
            System.out.println("{\"threshold\": " + device.storeThreshold() + ", \"late\": [" + late + "]}");
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
}

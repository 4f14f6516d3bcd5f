package glslinfer.desktop;

import glslinfer.runner.Bundle;
import glslinfer.runner.Device;
import glslinfer.runner.Errors;
import glslinfer.runner.Manifest;
import glslinfer.runner.Preprocess;
import glslinfer.runner.Session;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The runner on a Linux machine, for tests and for looking at a bundle.
 *
 * <pre>
 *   run BUNDLE PICTURES OUT     PICTURES: raw RGB of one or more pictures; OUT: their outputs, little-endian floats
 *   layers BUNDLE PICTURE OUT   OUT: of every layer that draws its texels, directly after its passes, then its floats
 *   check BUNDLE                the probe
 *   time BUNDLE FRAMES          milliseconds of each of some frames, upload and read-back included
 *   read FILE...                what is wrong with each file, a line each, empty where nothing is
 *   square W H SIZE ARGB OUT    ARGB: little-endian integers; OUT: raw RGB
 * </pre>
 *
 * <p>Exit status 2: what was given cannot be used; 1: something failed. Results are JSON on standard output.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws IOException {
        try {
            command(Arrays.asList(arguments));
        } catch (Errors.InputError error) {
            System.err.println("error: " + error.getMessage());
            System.exit(2);
        } catch (Errors.RunError error) {
            System.err.println("error: " + error.getMessage());
            System.exit(1);
        }
    }

    private static void command(List<String> words) throws IOException {
        String name = words.isEmpty() ? "" : words.get(0);
        List<String> rest = words.subList(Math.min(1, words.size()), words.size());
        if (name.equals("run") && rest.size() == 3) {
            run(open(rest.get(0)), Files.readAllBytes(Paths.get(rest.get(1))), Paths.get(rest.get(2)));
        } else if (name.equals("layers") && rest.size() == 3) {
            layers(open(rest.get(0)), Files.readAllBytes(Paths.get(rest.get(1))), Paths.get(rest.get(2)));
        } else if (name.equals("check") && rest.size() == 1) {
            System.out.println("{\"layers\": " + open(rest.get(0)).selfCheck().size() + "}");
        } else if (name.equals("time") && rest.size() == 2) {
            time(open(rest.get(0)), Integer.parseInt(rest.get(1)));
        } else if (name.equals("read")) {
            read(rest);
        } else if (name.equals("square") && rest.size() == 5) {
            square(rest);
        } else {
            throw new Errors.InputError(
                    "give one of: run, layers, check, time, read, square; see glslinfer.desktop.Main");
        }
    }

    private static Bundle bundle(String file) throws IOException {
        try (InputStream stream = Files.newInputStream(Paths.get(file))) {
            return Bundle.read(stream, file);
        }
    }

    private static Session open(String file) throws IOException {
        Bundle bundle = bundle(file);
        new Egl();
        return new Session(new Device(new DesktopGl()), bundle);
    }

    private static void read(List<String> files) throws IOException {
        for (String file : files) {
            String wrong = "";
            try {
                bundle(file);
            } catch (Errors.BundleError error) {
                wrong = error.getMessage();
            }
            System.out.println(wrong.replace("\n", "\\n"));
        }
    }

    private static List<byte[]> pictures(Session session, byte[] bytes) {
        int size = session.bundle.manifest.input.size;
        List<byte[]> out = new ArrayList<byte[]>();
        for (int at = 0; at < bytes.length; at += 3 * size * size) {
            out.add(Arrays.copyOfRange(bytes, at, at + 3 * size * size));
        }
        return out;
    }

    private static void run(Session session, byte[] bytes, Path to) throws IOException {
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(to))) {
            for (byte[] picture : pictures(session, bytes)) {
                out.write(little(session.run(picture)));
            }
        }
        System.out.println("{\"gl_calls\": " + session.callsPerFrame() + ", \"jobs\": " + session.jobs() + "}");
    }

    private static void layers(Session session, byte[] picture, Path to) throws IOException {
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(to)))) {
            session.upload(picture);
            Manifest manifest = session.bundle.manifest;
            for (String layer : manifest.layers) {
                session.drawLayer(layer);
                for (String texture : manifest.valueOf(layer).textures()) {
                    if (!texture.equals(manifest.input.texture)) {
                        ByteBuffer texels = session.readTexture(texture);
                        byte[] copy = new byte[texels.capacity()];
                        texels.get(copy);
                        out.write(copy);
                    }
                }
                out.write(little(session.readLayer(layer)));
            }
        }
    }

    private static void time(Session session, int frames) {
        byte[] picture = glslinfer.runner.Probe.picture(session.bundle.manifest.input.size);
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < frames; i++) {
            long start = System.nanoTime();
            session.run(picture);
            out.append(i > 0 ? ", " : "").append((System.nanoTime() - start) / 1e6);
        }
        System.out.println("{\"milliseconds\": [" + out + "]}");
    }

    private static void square(List<String> rest) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(Paths.get(rest.get(3)))).order(ByteOrder.LITTLE_ENDIAN);
        int[] argb = new int[bytes.remaining() / 4];
        bytes.asIntBuffer().get(argb);
        int width = Integer.parseInt(rest.get(0));
        int height = Integer.parseInt(rest.get(1));
        Files.write(Paths.get(rest.get(4)), Preprocess.toSquare(argb, width, height, Integer.parseInt(rest.get(2))));
    }

    private static byte[] little(float[] numbers) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(numbers);
        return bytes.array();
    }
}

package glslinfer.desktop;

import glslinfer.runner.Bundle;
import glslinfer.runner.Device;
import glslinfer.runner.Errors;
import glslinfer.runner.Fit;
import glslinfer.runner.Images;
import glslinfer.runner.Input;
import glslinfer.runner.Picture;
import glslinfer.runner.Preprocess;
import glslinfer.runner.Result;
import glslinfer.runner.Session;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The runner on a Linux machine, for tests and for inspecting bundles.
 *
 * <pre>
 *   run BUNDLE PICTURES OUT              PICTURES: raw bytes of one or more images in the model's size
 *   frame BUNDLE OUT NAME=FILE...        OUT: all outputs of one frame; prints their names and shapes
 *   image BUNDLE OUT NAME=FILE...        OUT: raw bytes of the first output, an image
 *   layers BUNDLE OUT NAME=FILE...       OUT: texels of all drawing layers after their passes, and values
 *   check BUNDLE                         the probe
 *   read FILE...                         error of each file, one line each, empty without an error
 *   task FOLDERS NAME look|film PICTURE.argb...   results for each image, one line each; FOLDERS: separated by colons
 *   tasks FOLDERS NAME...                error of each task, one line each, empty without an error
 *   fit FIT WIDTH HEIGHT CHANNELS PICTURE OUT   OUT: raw bytes of PICTURE.argb, fitted to that size
 *   serve                                executes the commands on standard input, one line each, see below
 * </pre>
 *
 * <p>NAME=FILE is an input: raw bytes of an image in the model's size; *.argb, an image of any size: width, height and
 * pixels as little-endian integers; or values. Values are little-endian 32-bit floats.
 *
 * <p>Exit status 2: an argument or file is unusable; 1: another failure. Results are JSON on standard output.
 *
 * <p>A line for <code>serve</code> has the words of a command, URL-encoded and separated by spaces. The answer is a
 * line of JSON: the exit status, and the command's output on both streams.
 */
public final class Main {
    private static Egl context;

    private Main() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 1 && arguments[0].equals("serve")) {
            serve(new BufferedReader(new InputStreamReader(System.in, "UTF-8")), System.out);
            return;
        }
        int status = status(Arrays.asList(arguments));
        if (status != 0) {
            System.exit(status);
        }
    }

    /** Executes a command; returns the exit status. */
    private static int status(List<String> words) throws IOException {
        try {
            command(words);
            return 0;
        } catch (Errors.InputError error) {
            System.err.println("error: " + error.getMessage());
            return 2;
        } catch (Errors.RunError error) {
            System.err.println("error: " + error.getMessage());
            return 1;
        }
    }

    private static void serve(BufferedReader commands, PrintStream answers) throws IOException {
        PrintStream messages = System.err;
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            List<String> words = new ArrayList<String>();
            for (String word : line.isEmpty() ? new String[0] : line.split(" ", -1)) {
                words.add(URLDecoder.decode(word, "UTF-8"));
            }
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            System.setOut(new PrintStream(out, true, "UTF-8"));
            System.setErr(new PrintStream(err, true, "UTF-8"));
            int status = 1;
            try {
                status = status(words);
            } catch (Throwable error) { // as of a process of its own: a traceback, and the next command goes on
                error.printStackTrace();
            }
            System.setOut(answers);
            System.setErr(messages);
            if (context != null) {
                context.close();
                context = null;
            }
            answers.println("[" + status + ", " + quoted(out.toString("UTF-8")) + ", "
                    + quoted(err.toString("UTF-8")) + "]");
            answers.flush();
        }
    }

    /** Makes a context that lasts as long as the command. */
    static void makeContext() {
        context = new Egl();
    }

    private static void command(List<String> words) throws IOException {
        String name = words.isEmpty() ? "" : words.get(0);
        List<String> arguments = words.subList(Math.min(1, words.size()), words.size());
        if (name.equals("run") && arguments.size() == 3) {
            run(open(arguments.get(0)), Files.readAllBytes(Paths.get(arguments.get(1))), Paths.get(arguments.get(2)));
        } else if (name.equals("frame") && arguments.size() > 2) {
            frame(open(arguments.get(0)), Paths.get(arguments.get(1)), arguments.subList(2, arguments.size()));
        } else if (name.equals("image") && arguments.size() > 2) {
            Session session = open(arguments.get(0));
            List<String> files = arguments.subList(2, arguments.size());
            Result first = session.run(inputs(session, files)).values().iterator().next();
            Files.write(Paths.get(arguments.get(1)), Images.toBytes(session.bundle.manifest, first));
        } else if (name.equals("layers") && arguments.size() > 2) {
            layers(open(arguments.get(0)), Paths.get(arguments.get(1)), arguments.subList(2, arguments.size()));
        } else if (name.equals("check") && arguments.size() == 1) {
            System.out.println("{\"layers\": " + open(arguments.get(0)).selfCheck().size() + "}");
        } else if (name.equals("read")) {
            read(arguments);
        } else if (name.equals("fit") && arguments.size() == 6) {
            fit(arguments);
        } else if (name.equals("tasks") && arguments.size() > 1) {
            Tasks.check(arguments.get(0), arguments.subList(1, arguments.size()));
        } else if (name.equals("task") && arguments.size() > 3) {
            List<Picture> pictures = new ArrayList<Picture>();
            for (String file : arguments.subList(3, arguments.size())) {
                pictures.add(picture(Paths.get(file)));
            }
            Tasks.look(arguments.get(0), arguments.get(1), arguments.get(2).equals("film"), pictures);
        } else {
            throw new Errors.InputError(
                    "give one of: run, frame, image, layers, check, read, task, tasks, fit; "
                            + "see glslinfer.desktop.Main");
        }
    }

    private static Bundle bundle(String file) throws IOException {
        try (InputStream stream = Files.newInputStream(Paths.get(file))) {
            return Bundle.read(stream, file);
        }
    }

    private static Session open(String file) throws IOException {
        Bundle bundle = bundle(file);
        makeContext();
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

    private static void run(Session session, byte[] bytes, Path to) throws IOException {
        Input input = session.bundle.manifest.onlyPicture();
        int size = input.width() * input.height() * input.channels();
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(to))) {
            for (int at = 0; at < bytes.length; at += size) {
                out.write(little(session.run(Arrays.copyOfRange(bytes, at, at + size))));
            }
        }
        System.out.println("{\"gl_calls\": " + session.callsPerFrame() + ", \"jobs\": " + session.jobs() + "}");
    }

    private static void frame(Session session, Path to, List<String> words) throws IOException {
        StringBuilder facts = new StringBuilder();
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(to))) {
            for (Result result : session.run(inputs(session, words)).values()) {
                out.write(little(result.data));
                facts.append(facts.length() > 0 ? ", " : "").append('[').append(quoted(result.name)).append(", ");
                facts.append(Arrays.toString(result.shape())).append(']');
            }
        }
        System.out.println("[" + facts + "]");
    }

    /** Reads the inputs in arguments NAME=FILE. */
    private static Map<String, Object> inputs(Session session, List<String> words) throws IOException {
        Map<String, Object> inputs = new LinkedHashMap<String, Object>();
        for (String word : words) {
            int equals = word.indexOf('=');
            if (equals < 1) {
                throw new Errors.InputError("'" + word + "' is no input; give NAME=FILE");
            }
            String name = word.substring(0, equals);
            Path file = Paths.get(word.substring(equals + 1));
            inputs.put(name, word.endsWith(".argb") ? picture(file) : Files.readAllBytes(file));
            for (Input input : session.bundle.manifest.inputs) {
                if (input.name.equals(name) && !input.isPicture()) {
                    ByteBuffer bytes = little(file);
                    float[] numbers = new float[bytes.remaining() / 4];
                    bytes.asFloatBuffer().get(numbers);
                    inputs.put(name, numbers);
                }
            }
        }
        return inputs;
    }

    private static void layers(Session session, Path to, List<String> words) throws IOException {
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(to)))) {
            session.upload(inputs(session, words));
            for (String layer : session.bundle.manifest.probedLayers()) {
                session.drawLayer(layer);
                for (String texture : session.bundle.manifest.valueOf(layer).textures()) {
                    ByteBuffer texels = session.readTexture(texture);
                    byte[] copy = new byte[texels.capacity()];
                    texels.get(copy);
                    out.write(copy);
                }
                out.write(little(session.readLayer(layer)));
            }
        }
    }

    private static void fit(List<String> words) throws IOException {
        Fit fit = Fit.of(words.get(0));
        if (fit == null) {
            throw new Errors.InputError("no fit is called '" + words.get(0) + "'");
        }
        int[] numbers = new int[3];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = Integer.parseInt(words.get(1 + i));
        }
        Picture picture = picture(Paths.get(words.get(4)));
        Files.write(Paths.get(words.get(5)), Preprocess.fit(picture, fit, numbers[0], numbers[1], numbers[2]));
    }

    private static Picture picture(Path file) throws IOException {
        ByteBuffer bytes = little(file);
        int width = bytes.getInt();
        int height = bytes.getInt();
        int[] argb = new int[bytes.remaining() / 4];
        bytes.asIntBuffer().get(argb);
        return new Picture(argb, width, height);
    }

    private static ByteBuffer little(Path file) throws IOException {
        return ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    }

    static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            out.append(c < ' ' || c > '~' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : "" + c);
        }
        return out.append('"').toString();
    }

    private static byte[] little(float[] numbers) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(numbers);
        return bytes.array();
    }
}

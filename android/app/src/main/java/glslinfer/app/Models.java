package glslinfer.app;

import android.content.ContentResolver;
import android.content.res.AssetManager;
import android.net.Uri;
import glslinfer.runner.Bundle;
import glslinfer.runner.Errors;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The models in the app, and those opened from files. */
final class Models {
    private static final String FOLDER = "models";
    private static final String TASKS = "tasks";
    private static final String SUFFIX = ".glslnn";

    private final AssetManager assets;

    Models(AssetManager assets) {
        this.assets = assets;
    }

    /** Returns the names of the models in the app, without suffix and without the benchmark's. */
    List<String> names() {
        List<String> names = new ArrayList<String>();
        for (String file : files()) {
            if (file.endsWith(SUFFIX)) {
                names.add(file.substring(0, file.length() - SUFFIX.length()));
            }
        }
        for (BenchmarkTest test : benchmark()) {
            names.remove(test.file);
        }
        return names;
    }

    /** Returns the names of the tasks in the app, without suffix. */
    List<String> tasks() {
        List<String> names = new ArrayList<String>();
        try {
            for (String file : assets.list(TASKS)) {
                if (file.endsWith(".json")) {
                    names.add(file.substring(0, file.length() - ".json".length()));
                }
            }
        } catch (IOException error) {
            return names; // an app without tasks
        }
        return names;
    }

    /** Returns a task's title: {@code face-mesh} is "Face mesh". */
    static String title(String task) {
        return task.isEmpty() ? task : Character.toUpperCase(task.charAt(0)) + task.substring(1).replace('-', ' ');
    }

    /**
     * Returns the file of a task in the app.
     *
     * @throws Errors.InputError it cannot be read
     */
    byte[] task(String name) {
        try {
            return asset(TASKS + "/" + name + ".json");
        } catch (IOException error) {
            throw new Errors.InputError(name + ".json: cannot be read (" + error.getMessage() + ")");
        }
    }

    /** Reads a bundle of a task in the app; as {@link #read(String)}. */
    Bundle bundleOfTask(String model) {
        String file = model.endsWith(SUFFIX) ? model : model + SUFFIX;
        try {
            InputStream stream = assets.open(TASKS + "/" + file);
            try {
                return Bundle.read(stream, file);
            } finally {
                stream.close();
            }
        } catch (IOException error) {
            throw new Errors.InputError(file + ": cannot be read (" + error.getMessage() + ")");
        }
    }

    /** Returns all bundles in the app except the benchmark's, as arguments of {@link #file}. */
    List<String> bundles() {
        List<String> paths = new ArrayList<String>();
        for (String name : names()) {
            paths.add(FOLDER + "/" + name + SUFFIX);
        }
        try {
            for (String file : assets.list(TASKS)) {
                if (file.endsWith(SUFFIX)) {
                    paths.add(TASKS + "/" + file);
                }
            }
        } catch (IOException error) {
            return paths; // an app without tasks
        }
        return paths;
    }

    /**
     * Returns the bytes of one of {@link #bundles}.
     *
     * @throws Errors.InputError it cannot be read
     */
    byte[] file(String path) {
        try {
            return asset(path);
        } catch (IOException error) {
            throw new Errors.InputError(path + ": cannot be read (" + error.getMessage() + ")");
        }
    }

    /** Returns the tests of the AI Benchmark in the app. */
    List<BenchmarkTest> benchmark() {
        return BenchmarkTest.of(text(FOLDER + "/tests.csv"), files());
    }

    private List<String> files() {
        try {
            return Arrays.asList(assets.list(FOLDER));
        } catch (IOException error) {
            return Collections.emptyList(); // an app without models; files can still be opened
        }
    }

    /**
     * Reads a model in the app; slow, so not for the main thread.
     *
     * @throws Errors.InputError it cannot be read or used
     */
    Bundle read(String name) {
        return classifier(bundle(name));
    }

    /** Reads a model in the app for any purpose; as {@link #read(String)}. */
    Bundle bundle(String name) {
        try {
            InputStream stream = assets.open(FOLDER + "/" + name + SUFFIX);
            try {
                return Bundle.read(stream, name);
            } finally {
                stream.close();
            }
        } catch (IOException error) {
            throw new Errors.InputError(name + ": cannot be read (" + error.getMessage() + ")");
        }
    }

    /** Reads a model from the user's file; as {@link #read(String)}. */
    Bundle read(ContentResolver resolver, Uri uri) {
        String name = uri.getLastPathSegment() == null ? "the file" : uri.getLastPathSegment();
        try {
            InputStream stream = resolver.openInputStream(uri);
            if (stream == null) {
                throw new Errors.InputError(name + ": cannot be opened");
            }
            try {
                return classifier(Bundle.read(stream, name));
            } finally {
                stream.close();
            }
        } catch (IOException error) {
            throw new Errors.InputError(name + ": cannot be read (" + error.getMessage() + ")");
        } catch (SecurityException error) {
            throw new Errors.InputError(name + ": may not be read (" + error.getMessage() + ")");
        }
    }

    /** Refuses a model other than a classifier of camera images. */
    private static Bundle classifier(Bundle bundle) {
        if (bundle.manifest.classesOutput() == null) {
            throw new Errors.InputError(bundle.file + ": has no classes whose labels the app could show;"
                    + " choose another model");
        }
        if (bundle.manifest.inputs.size() != 1 || !bundle.manifest.inputs.get(0).isPicture()) {
            throw new Errors.InputError(bundle.file + ": reads " + bundle.manifest.inputNames()
                    + ", but the app has one image for it, the camera's; choose another model");
        }
        return bundle;
    }

    /** Returns the bytes of a file in the folder of the models. */
    byte[] bytes(String name) {
        try {
            return asset(FOLDER + "/" + name);
        } catch (IOException error) {
            throw new IllegalStateException(name + " is missing in the app", error);
        }
    }

    /** Returns the text of a file in the app. */
    String text(String name) {
        try {
            return new String(asset(name), "UTF-8");
        } catch (IOException error) {
            throw new IllegalStateException(name + " is missing in the app", error);
        }
    }

    private byte[] asset(String name) throws IOException {
        InputStream stream = assets.open(name);
        try {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] chunk = new byte[4096];
            for (int count = stream.read(chunk); count >= 0; count = stream.read(chunk)) {
                out.write(chunk, 0, count);
            }
            return out.toByteArray();
        } finally {
            stream.close();
        }
    }
}

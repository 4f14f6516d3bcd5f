package glslinfer.app;

import android.app.Activity;
import android.content.Intent;
import android.content.IntentFilter;
import android.content.pm.PackageManager;
import android.os.Build;
import glslinfer.runner.Device;
import glslinfer.runner.Gl;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Description of the device and its driver for a report, as in glsl-infer report, without personal data. */
final class Machine {
    private static final int GL_VENDOR = 0x1F00;
    private static final int GL_SHADING_LANGUAGE_VERSION = 0x8B8C;
    private static final int NO_TEMPERATURE = -1;

    private Machine() {}

    /** Returns the version of the app, which is that of glsl-infer. */
    static String version(Activity activity) {
        try {
            return activity.getPackageManager().getPackageInfo(activity.getPackageName(), 0).versionName;
        } catch (PackageManager.NameNotFoundException error) {
            return "unknown"; // an app can always query itself
        }
    }

    /** Returns a description of the device; {@code before} is its state at the start of the report. */
    static Map<String, Object> of(Map<String, Object> before) {
        Map<String, Object> machine = new LinkedHashMap<String, Object>();
        machine.put("cpu", Build.MANUFACTURER + " " + Build.MODEL + ", " + Build.HARDWARE);
        machine.put("cores", Runtime.getRuntime().availableProcessors());
        machine.put("memory_bytes", memory());
        machine.put("load_before", null); // apps cannot read it
        machine.put("before", before);
        return machine;
    }

    /** Returns temperatures in degrees Celsius and CPU clocks in MHz, if readable by apps. */
    static Map<String, Object> state(Activity activity) {
        Map<String, Object> temperatures = new LinkedHashMap<String, Object>();
        Intent battery = activity.registerReceiver(null, new IntentFilter(Intent.ACTION_BATTERY_CHANGED));
        int tenths = battery == null ? NO_TEMPERATURE : battery.getIntExtra("temperature", NO_TEMPERATURE);
        if (tenths != NO_TEMPERATURE) {
            temperatures.put("battery", tenths / 10.0);
        }
        for (int zone = 0; new File("/sys/class/thermal/thermal_zone" + zone).exists(); zone++) {
            String folder = "/sys/class/thermal/thermal_zone" + zone;
            Long millis = number(line(folder + "/temp"));
            if (millis != null) {
                String kind = line(folder + "/type");
                temperatures.put(("thermal_zone" + zone + " " + (kind == null ? "" : kind)).trim(), millis / 1000.0);
            }
        }
        List<Object> clocks = new ArrayList<Object>();
        for (int core = 0; core < Runtime.getRuntime().availableProcessors(); core++) {
            Long kilohertz = number(line("/sys/devices/system/cpu/cpu" + core + "/cpufreq/scaling_cur_freq"));
            if (kilohertz != null) {
                clocks.add(kilohertz / 1000.0);
            }
        }
        Map<String, Object> state = new LinkedHashMap<String, Object>();
        state.put("temperatures_c", temperatures);
        state.put("cpu_mhz", clocks);
        state.put("vcgencmd", new LinkedHashMap<String, Object>());
        return state;
    }

    /** Returns a description of the driver of the current context. */
    static Map<String, Object> driver(Gl gl, Device device, String version) {
        Map<String, Object> driver = new LinkedHashMap<String, Object>();
        driver.put("glsl_infer", version);
        driver.put("machine", "Android " + Build.VERSION.RELEASE + " (API " + Build.VERSION.SDK_INT + ") "
                + System.getProperty("os.arch"));
        driver.put("context", "GLSurfaceView");
        driver.put("vendor", gl.glGetString(GL_VENDOR));
        driver.put("renderer", device.renderer());
        driver.put("version", gl.glGetString(Gl.GL_VERSION));
        driver.put("shading_language", gl.glGetString(GL_SHADING_LANGUAGE_VERSION));
        Map<String, Object> limits = new LinkedHashMap<String, Object>();
        limits.put("GL_MAX_TEXTURE_IMAGE_UNITS", gl.glGetInteger(Gl.GL_MAX_TEXTURE_IMAGE_UNITS));
        limits.put("GL_MAX_TEXTURE_SIZE", gl.glGetInteger(Gl.GL_MAX_TEXTURE_SIZE));
        limits.put("GL_MAX_FRAGMENT_UNIFORM_VECTORS", gl.glGetInteger(Gl.GL_MAX_FRAGMENT_UNIFORM_VECTORS));
        limits.put("GL_MAX_VARYING_VECTORS", gl.glGetInteger(Gl.GL_MAX_VARYING_VECTORS));
        limits.put("GL_MAX_VERTEX_ATTRIBS", gl.glGetInteger(Gl.GL_MAX_VERTEX_ATTRIBS));
        driver.put("limits", limits);
        driver.put("store_rounds_up_from", device.storeThreshold());
        return driver;
    }

    private static Long memory() {
        String total = line("/proc/meminfo"); // "MemTotal:  3712345 kB"
        String[] words = total == null ? new String[0] : total.split("\\s+");
        Long kilobytes = words.length > 1 ? number(words[1]) : null;
        return kilobytes == null ? null : 1024 * kilobytes;
    }

    /** Returns the first line of a system file; null if apps cannot read it. */
    private static String line(String path) {
        try {
            BufferedReader reader = new BufferedReader(new InputStreamReader(new FileInputStream(path), "UTF-8"));
            try {
                return reader.readLine();
            } finally {
                reader.close();
            }
        } catch (IOException error) {
            return null;
        }
    }

    private static Long number(String text) {
        try {
            return text == null ? null : Long.valueOf(text.trim());
        } catch (NumberFormatException error) {
            return null;
        }
    }
}

package glslinfer.app;

/** Messages of the app, by priority: photograph, camera, model. */
final class Messages {
    private final ResultsView results;
    private String camera = "";
    private String model = "";
    private String photograph = "";

    Messages(ResultsView results) {
        this.results = results;
    }

    /** Sets the message about the camera; "" for none. */
    void ofCamera(String message) {
        camera = message;
        show();
    }

    /** Sets the message about the model; "" for none. */
    void ofModel(String message) {
        model = message;
        show();
    }

    /** Sets the message about a photograph; "" for none. */
    void ofPhotograph(String message) {
        photograph = message;
        show();
    }

    private void show() {
        results.setMessage(!photograph.isEmpty() ? photograph : !camera.isEmpty() ? camera : model);
    }
}

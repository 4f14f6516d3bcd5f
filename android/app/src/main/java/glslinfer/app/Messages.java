package glslinfer.app;

/** What the app has to tell: about the photograph before the camera, about the camera before the model. */
final class Messages {
    private final ResultsView results;
    private String camera = "";
    private String model = "";
    private String photograph = "";

    Messages(ResultsView results) {
        this.results = results;
    }

    /** Tells something of the camera, or with "" nothing. */
    void ofCamera(String message) {
        camera = message;
        show();
    }

    /** Tells something of the model, or with "" nothing. */
    void ofModel(String message) {
        model = message;
        show();
    }

    /** Tells something of a photograph, or with "" nothing. */
    void ofPhotograph(String message) {
        photograph = message;
        show();
    }

    private void show() {
        results.setMessage(!photograph.isEmpty() ? photograph : !camera.isEmpty() ? camera : model);
    }
}

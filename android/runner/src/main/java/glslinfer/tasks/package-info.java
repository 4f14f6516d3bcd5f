/**
 * Tasks: what is in a picture, as pixels and scores; the same as the Python package {@code glsl_infer.tasks}.
 *
 * <pre>
 *   Description, DescriptionReader      description.py, reading.py: a task's JSON file, strictly
 *   Anchors, Boxes                      anchors.py, boxes.py: from a detector's numbers to boxes
 *   Cut, Pixels                         cuts.py: turned rectangles of a picture
 *   Task, Detector, Landmarker, Segmenter, Labeller
 *   Detection, Landmarks, Mask, Found   results.py, masks.py: what was found
 * </pre>
 *
 * <pre>
 *   Task task = Task.open("face-mesh", files, device);            // in the thread of a current ES 2.0 context
 *   for (Landmarks face : task.follow(picture).landmarks) ...
 * </pre>
 */
package glslinfer.tasks;

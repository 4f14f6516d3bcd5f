/**
 * Tasks: find objects, points or masks in images, as the Python package {@code glsl_infer.tasks}.
 *
 * <pre>
 *   Description, DescriptionReader      description.py, reading.py: strict reader of a task's JSON file
 *   Anchors, Boxes                      anchors.py, boxes.py: decoding of a detector's outputs
 *   Cut, Pixels                         cuts.py: rotated rectangles of an image
 *   Task, Detector, Landmarker,
 *   Segmenter, Labeller                 task.py, detection.py, landmarks.py, segmentation.py: the tasks
 *   Detection, Landmarks, Mask, Found   results.py, masks.py: results
 * </pre>
 *
 * <pre>
 *   Task task = Task.open("face-mesh", files, device);            // in the thread of a current ES 2.0 context
 *   for (Landmarks face : task.follow(picture).landmarks) ...
 * </pre>
 */
package glslinfer.tasks;

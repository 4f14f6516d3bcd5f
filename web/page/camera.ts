/** The camera: requested when the user starts it, and released when stopped. */

import { page } from "./elements.ts";

const REASONS: Record<string, string> = {
  NotAllowedError: "The camera was not allowed. Allow it in the browser's address bar and press the button again.",
  NotFoundError: "This device has no camera. Choose an image instead.",
  NotReadableError: "The camera is in use by another program. Close that and press the button again.",
  OverconstrainedError: "This camera cannot do what the page asks for. Choose an image instead.",
};

/**
 * Start the camera, and play its video in the page.
 *
 * @throws Error with the reason and a remedy.
 */
export async function start(): Promise<void> {
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new Error(
      window.isSecureContext
        ? "This browser gives pages no camera. Choose an image instead."
        : "Browsers give the camera only to pages over https or on localhost. Open the page that way, or choose an image.",
    );
  }
  try {
    const video = { facingMode: "environment", width: { ideal: 640 }, height: { ideal: 480 } };
    page.video.srcObject = await navigator.mediaDevices.getUserMedia({ video, audio: false });
    await page.video.play();
  } catch (error) {
    stop();
    throw new Error(REASONS[(error as Error).name] ?? `The camera does not start (${(error as Error).message}).`);
  }
}

/** Stop the camera. */
export function stop(): void {
  const stream = page.video.srcObject;
  if (stream instanceof MediaStream) stream.getTracks().forEach((track) => track.stop());
  page.video.srcObject = null;
}

/** Return whether the camera is on. */
export function isOn(): boolean {
  return page.video.srcObject !== null;
}

/** Wait for the camera's next frame. */
export function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    if ("requestVideoFrameCallback" in page.video) page.video.requestVideoFrameCallback(() => resolve());
    else requestAnimationFrame(() => resolve());
  });
}

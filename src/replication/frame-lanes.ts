import type { Frame, Wire } from "./frames.ts";

/** A socket as the lanes need it. */
export interface Socket {
  /** Sends a frame; `done` is called once the next one may follow (the frame left the process). */
  transmit(frame: Frame, done: () => void): void;
  close(code: string): void;
}

/** Frames of bulk data; everything else is small and goes first. */
function isBulk(frame: Frame): boolean {
  return frame.t === "snap" || (frame.t === "rows" && frame.feed !== "up.hot") || frame.t === "repair";
}

/**
 * Puts two lanes on one socket. At most one bulk frame is on its way, so that an alert waits behind no more than that
 * one, whatever else is to be sent.
 */
export function createFrameLanes(socket: Socket): Wire {
  const hot: Frame[] = [];
  const bulk: Frame[] = [];
  let isBusy = false;
  let isOpen = true;

  function next(): void {
    if (isBusy || !isOpen) return;
    const frame = hot.shift() ?? bulk.shift();
    if (!frame) return;
    isBusy = true;
    socket.transmit(frame, () => {
      isBusy = false;
      next();
    });
  }

  return {
    send(frame) {
      if (!isOpen) return;
      (isBulk(frame) ? bulk : hot).push(frame);
      next();
    },
    close(code) {
      isOpen = false;
      socket.close(code);
    },
  };
}

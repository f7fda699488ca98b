import type { ControlMessage } from "../protocol/control-messages.ts";
import type { Frame, FrameTransport } from "../protocol/frames.ts";

/** The socket below the multiplexer. */
export interface MultiplexedSocket<T> {
  /**
   * Sends a frame. `done` is called once any frame may follow (this one left the process). If that takes longer, `left`
   * is called first, as soon as an urgent frame may follow.
   */
  transmit(frame: T, done: () => void, left: () => void): void;
  close(code: string): void;
}

/** Control messages that may be long and are not urgent. */
const LOW_PRIORITY_CONTROL: ReadonlySet<string> = new Set([
  ...["ask", "answer", "revoked", "status", "audit-end", "audit-ends"],
]);

/** Bulk data; all other frames are short and go first. */
function isBulk(frame: Frame | ControlMessage): boolean {
  return frame.t === "snap" || (frame.t === "rows" && frame.feed !== "up.hot") || frame.t === "repair";
}

/**
 * Multiplexes three priority classes on one socket: urgent frames, requests and responses, and bulk data. At most one
 * frame of the latter two is in flight, so an alert waits behind no more than one frame, whatever else is queued.
 */
export function createPriorityMultiplexer<T extends Frame | ControlMessage = Frame>(
  socket: MultiplexedSocket<T>,
): Pick<FrameTransport, "close"> & { send(frame: T): void } {
  const hot: T[] = [];
  const control: T[] = [];
  const bulk: T[] = [];
  let isBusy = false;
  let isOpen = true;
  /** Frames in flight after which only an urgent one may follow. */
  let underWay = 0;

  function sendNext(): void {
    if (isBusy || !isOpen) return;
    const frame = hot.shift() ?? (underWay > 0 ? undefined : (control.shift() ?? bulk.shift()));
    if (!frame) return;
    isBusy = true;
    underWay += 1;
    let isLeaving = true;
    const left = (): void => {
      if (!isLeaving) return;
      isLeaving = false;
      isBusy = false;
      sendNext();
    };
    const done = (): void => {
      underWay -= 1;
      if (isLeaving) left();
      else sendNext();
    };
    socket.transmit(frame, done, left);
  }

  return {
    send(frame) {
      if (!isOpen) return;
      (isBulk(frame) ? bulk : LOW_PRIORITY_CONTROL.has(frame.t) ? control : hot).push(frame);
      sendNext();
    },
    close(code) {
      isOpen = false;
      socket.close(code);
    },
  };
}

import type { ControlMessage } from "../protocol/control-messages.ts";
import type { Frame, FrameTransport } from "../protocol/frames.ts";

/** A socket as the lanes need it. */
export interface MultiplexedSocket<T> {
  /**
   * Sends a frame; `done` is called once any other may follow (the frame left the process). Where that is to wait for
   * more, `left` is called before it, once what is urgent may follow.
   */
  transmit(frame: T, done: () => void, left: () => void): void;
  close(code: string): void;
}

/** What may be long and is not urgent: people wait for it, or nobody does. */
const LOW_PRIORITY_CONTROL: ReadonlySet<string> = new Set(["ask", "answer", "revoked", "status"]);

/** Frames of bulk data; everything else is small and goes first. */
function isBulk(frame: Frame | ControlMessage): boolean {
  return frame.t === "snap" || (frame.t === "rows" && frame.feed !== "up.hot") || frame.t === "repair";
}

/**
 * Puts three lanes on one socket: what is urgent, what is asked and answered, and bulk data. At most one frame of the
 * latter two is on its way, so that an alert waits behind no more than that one, whatever else is to be sent.
 */
export function createPriorityMultiplexer<T extends Frame | ControlMessage = Frame>(
  socket: MultiplexedSocket<T>,
): Pick<FrameTransport, "close"> & { send(frame: T): void } {
  const hot: T[] = [];
  const talk: T[] = [];
  const bulk: T[] = [];
  let isBusy = false;
  let isOpen = true;
  /** Frames after which none may follow yet but an urgent one. */
  let underWay = 0;

  function sendNext(): void {
    if (isBusy || !isOpen) return;
    const frame = hot.shift() ?? (underWay > 0 ? undefined : (talk.shift() ?? bulk.shift()));
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
      (isBulk(frame) ? bulk : LOW_PRIORITY_CONTROL.has(frame.t) ? talk : hot).push(frame);
      sendNext();
    },
    close(code) {
      isOpen = false;
      socket.close(code);
    },
  };
}

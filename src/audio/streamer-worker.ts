import type { Socket } from "node:dgram";
import { constants, setPriority } from "node:os";
import { type MessagePort, parentPort } from "node:worker_threads";
import { type Clock, systemClock } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import { keepSockets } from "../base/open-sockets.ts";
import { createPacer } from "./pacer.ts";
import { createRtpStream, openSocket, type RtpStream } from "./rtp-stream.ts";
import {
  NOTHING_SENT,
  type StreamEnded,
  type StreamReport,
  type StreamRequest,
  type StreamSpec,
  type StreamStarted,
} from "./stream-messages.ts";

/** Entry of the streamer's thread: it opens, paces and ends streams as told by the port, and does nothing else. */
function serve(port: MessagePort, clock: Clock): void {
  const closeSockets = keepSockets();
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const pacer = createPacer({ clock, nap: (ms) => void Atomics.wait(cell, 0, 0, ms) });
  /** Null while the socket is being opened; removed when it is to be ended meanwhile. */
  const streams = new Map<string, RtpStream | null>();
  const tell = (report: StreamReport): void => port.postMessage(report);
  const started = gather<StreamStarted>(clock, (list) => tell({ kind: "started", streams: list }));
  const ended = gather<StreamEnded>(clock, (list) => tell({ kind: "ended", streams: list }));

  const finish = (stream: RtpStream, reason: StreamEnded["reason"]): void => {
    streams.delete(stream.streamId);
    ended(stream.close(reason));
  };

  const open = async (spec: StreamSpec): Promise<void> => {
    streams.set(spec.streamId, null);
    let socket: Socket;
    try {
      socket = await openSocket(spec);
    } catch (error) {
      streams.delete(spec.streamId);
      return tell({ kind: "refused", streamId: spec.streamId, message: (error as Error).message });
    }
    const { streamId } = spec;
    if (!streams.has(streamId)) {
      socket.close();
      return ended({ ...NOTHING_SENT, streamId, reason: "stopped" });
    }
    const stream = createRtpStream(spec, socket, {
      clock,
      onFirst: (stream, firstPacketAt) => started({ streamId: stream.streamId, firstPacketAt }),
      onLast: (stream) => finish(stream, "finished"),
    });
    streams.set(streamId, stream);
    tell({ kind: "opened", streamId });
  };

  port.on("message", (request: StreamRequest) => {
    switch (request.kind) {
      case "open":
        return void open(request.spec);
      case "start": {
        const t0 = clock.monotonicMs() + (request.t0Ms - clock.now());
        for (const id of request.streamIds) {
          const stream = streams.get(id);
          if (stream) pacer.start(stream, t0);
        }
        return;
      }
      case "repeat":
        return streams.get(request.streamId)?.repeat(request.repeats);
      case "play":
        return streams.get(request.streamId)?.play(request.parts);
      case "end": {
        const stream = streams.get(request.streamId);
        if (!stream) return void streams.delete(request.streamId);
        pacer.cancel(stream);
        return finish(stream, "stopped");
      }
      case "leave":
        closeSockets();
        return tell({ kind: "left" });
    }
  });
  tell({ kind: "ready", priorityFault: raisePriority() });
}

/** Lets this thread, and no other of the process, run before busier ones; null when done, else why not. @source setpriority(2), "C library/kernel differences" */
function raisePriority(): string | null {
  try {
    setPriority(0, constants.priority.PRIORITY_HIGHEST);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Collects what happens within one turn of the event loop and hands it over together. */
function gather<T>(clock: Clock, hand: (list: T[]) => void): (item: T) => void {
  let list: T[] = [];
  return (item) => {
    list.push(item);
    if (list.length > 1) return;
    clock.soon(() => {
      const all = list;
      list = [];
      hand(all);
    });
  };
}

if (!parentPort) throw new BugError("The streamer's thread was started outside a worker.");
serve(parentPort, systemClock);

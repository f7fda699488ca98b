import { constants, setPriority } from "node:os";
import { type MessagePort, parentPort } from "node:worker_threads";
import { type Clock, systemClock } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import { isNetworkUnreachable } from "../lib/network-route.ts";
import { trackUdpSockets } from "../lib/udp-socket-tracker.ts";
import { createPacer } from "./pacer.ts";
import { createRtpStream, openRtpPath, type RtpPath, type RtpStream } from "./rtp-stream.ts";
import {
  NO_PACKETS_SENT,
  type StreamEnded,
  type StreamerReport,
  type StreamerRequest,
  type StreamSpec,
  type StreamStarted,
} from "./streamer-messages.ts";

/** Entry point of the streamer's thread: opens, paces and ends streams on request, and does nothing else. */
function serveStreams(port: MessagePort, clock: Clock): void {
  const closeSockets = trackUdpSockets();
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const pacer = createPacer({ clock, nap: (ms) => void Atomics.wait(cell, 0, 0, ms) });
  /** Null while the socket is being opened; removed if the stream is ended before that completes. */
  const streams = new Map<string, RtpStream | null>();
  const postReport = (report: StreamerReport): void => port.postMessage(report);
  const started = batchPerTurn<StreamStarted>(clock, (list) => postReport({ kind: "started", streams: list }));
  const ended = batchPerTurn<StreamEnded>(clock, (list) => postReport({ kind: "ended", streams: list }));

  const finish = (stream: RtpStream, reason: StreamEnded["reason"]): void => {
    streams.delete(stream.streamId);
    ended(stream.close(reason));
  };

  const open = async (spec: StreamSpec): Promise<void> => {
    streams.set(spec.streamId, null);
    let path: RtpPath | null = null;
    try {
      path = await openRtpPath(spec);
    } catch (error) {
      const isUnreachable = isNetworkUnreachable(error);
      if (!isUnreachable || !spec.waitsForNetwork) {
        streams.delete(spec.streamId);
        const { message } = error as Error;
        return postReport({ kind: "refused", streamId: spec.streamId, message, isUnreachable });
      }
    }
    const { streamId } = spec;
    if (!streams.has(streamId)) {
      path?.socket.close();
      return ended({ ...NO_PACKETS_SENT, streamId, reason: "stopped" });
    }
    const stream = createRtpStream(spec, path, {
      clock,
      onFirstPacket: (stream, firstPacketAt) => started({ streamId: stream.streamId, firstPacketAt }),
      onFinished: (stream) => finish(stream, "finished"),
    });
    streams.set(streamId, stream);
    postReport({ kind: "opened", streamId, source: stream.path });
  };

  /** Opens every stream's socket again, one after another: packets that are due go out in between. */
  const rebind = async (): Promise<void> => {
    let moved = 0;
    let unreachable = 0;
    const sources: { streamId: string; source: string | null }[] = [];
    for (const stream of streams.values()) {
      if (stream === null) continue;
      const path = await openRtpPath(stream.spec).catch(() => null);
      if (streams.get(stream.streamId) !== stream) {
        path?.socket.close();
        continue;
      }
      const source = path?.address ?? null;
      if (path === null) unreachable++;
      else if (source !== stream.path) moved++;
      if (source !== stream.path) sources.push({ streamId: stream.streamId, source });
      stream.setPath(path);
    }
    if (moved + unreachable > 0) postReport({ kind: "rebound", moved, unreachable, sources });
  };
  let rebinding: Promise<void> = Promise.resolve();

  port.on("message", (request: StreamerRequest) => {
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
        return streams.get(request.streamId)?.setRepeats(request.repeats);
      case "play":
        return streams.get(request.streamId)?.play(request.parts);
      case "end": {
        const stream = streams.get(request.streamId);
        if (!stream) return void streams.delete(request.streamId);
        pacer.cancel(stream);
        return finish(stream, "stopped");
      }
      case "network":
        rebinding = rebinding.then(rebind);
        return;
      case "close":
        closeSockets();
        return postReport({ kind: "closed" });
    }
  });
  postReport({ kind: "ready", priorityFault: raisePriority() });
}

/**
 * Raises the priority of this thread only; null on success, else the reason. @source setpriority(2), "C library/kernel
 * differences"
 */
function raisePriority(): string | null {
  try {
    setPriority(0, constants.priority.PRIORITY_HIGHEST);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Collects the items of one turn of the event loop and passes them on together. */
function batchPerTurn<T>(clock: Clock, flush: (list: T[]) => void): (item: T) => void {
  let list: T[] = [];
  return (item) => {
    list.push(item);
    if (list.length > 1) return;
    clock.defer(() => {
      const all = list;
      list = [];
      flush(all);
    });
  };
}

if (!parentPort) throw new BugError("The streamer's thread must be started as a worker.");
serveStreams(parentPort, systemClock);

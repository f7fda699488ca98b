import { type MessagePort, parentPort } from "node:worker_threads";
import { systemClock, yieldToEventLoop } from "../lib/clock.ts";
import { BugError, CallerError } from "../lib/errors.ts";
import type { RenderReply, RenderRequest } from "./audio-renderer-messages.ts";
import { CODECS } from "./codecs.ts";
import { createRenderedAudio, encodeAudio, renderPcm } from "./rendered-audio.ts";
import { decodeWav } from "./wav.ts";

/** A rendition is handed over once this much of it is ready; the rest is encoded much faster than it is sent. */
const READY_AFTER_S = 5;

/** Entry point of the audio thread: decodes, resamples, mixes and encodes, one job after another. */
function serveRequests(port: MessagePort): void {
  port.on("message", (request: RenderRequest) => {
    const fail = (error: unknown): void => port.postMessage(errorReply(request.id, error));
    if (request.rendition) void renderRendition(request, (reply) => port.postMessage(reply)).catch(fail);
    else renderAudioRequest(request, port, fail);
  });
}

function renderAudioRequest(
  { id, hash, layout, recording, announcement }: RenderRequest,
  port: MessagePort,
  fail: (error: unknown) => void,
): void {
  try {
    const pcm = renderPcm(layout, recording && decodeWav(recording), announcement && decodeWav(announcement));
    const renderedAudio = createRenderedAudio(hash, pcm);
    port.postMessage({ id, renderedAudio } satisfies RenderReply, [renderedAudio.pcm.buffer as ArrayBuffer]);
  } catch (error) {
    fail(error);
  }
}

/** Yields between steps so that other jobs run: an hour of audio takes half a minute. */
async function renderRendition(
  { id, layout, recording, announcement, rendition }: RenderRequest,
  send: (reply: RenderReply) => void,
): Promise<void> {
  if (!rendition) return;
  const { codec, packets } = rendition;
  const { rateHz } = CODECS[codec];
  const samples = recording && decodeWav(recording, "audio", rateHz);
  const announced = announcement && decodeWav(announcement, "audio", rateHz);
  let done = 0;
  let payload: Uint8Array = new Uint8Array(0);
  for (payload of encodeAudio(layout, samples, { packets, codec, announcement: announced })) {
    if (++done === READY_AFTER_S) send({ id, payload });
    await yieldToEventLoop(systemClock);
  }
  if (done < READY_AFTER_S) send({ id, payload });
}

function errorReply(id: number, error: unknown): RenderReply {
  return error instanceof CallerError ? { id, fieldErrors: error.faults } : { id, failure: error };
}

if (!parentPort) throw new BugError("The audio thread must be started as a worker.");
serveRequests(parentPort);

import { type MessagePort, parentPort } from "node:worker_threads";
import { nextTurn, systemClock } from "../base/clock.ts";
import { BugError, CallerError } from "../base/errors.ts";
import type { ProgrammeReply, ProgrammeRequest } from "./audio-messages.ts";
import { CODECS } from "./codecs.ts";
import { buildProgramme, encodeProgramme, finishProgramme } from "./programme.ts";
import { decodeWav } from "./wav.ts";

/** A rendition is handed over when so much of it is there, for the rest comes in much faster than it is sent. own choice */
const AHEAD_S = 5;

/** Entry of the audio worker's thread: it decodes, resamples, mixes and encodes, one programme after the other. */
function serve(port: MessagePort): void {
  port.on("message", (request: ProgrammeRequest) => {
    const fail = (error: unknown): void => port.postMessage(faultOf(request.id, error));
    if (request.rendition) void render(request, (reply) => port.postMessage(reply)).catch(fail);
    else make(request, port, fail);
  });
}

function make(
  { id, hash, layout, recording, announcement }: ProgrammeRequest,
  port: MessagePort,
  fail: (error: unknown) => void,
): void {
  try {
    const pcm = buildProgramme(layout, recording && decodeWav(recording), announcement && decodeWav(announcement));
    const programme = finishProgramme(hash, pcm);
    port.postMessage({ id, programme } satisfies ProgrammeReply, [programme.pcm.buffer as ArrayBuffer]);
  } catch (error) {
    fail(error);
  }
}

/** In steps, between which other programmes are made: an hour of sound takes half a minute. */
async function render(
  { id, layout, recording, announcement, rendition }: ProgrammeRequest,
  tell: (reply: ProgrammeReply) => void,
): Promise<void> {
  if (!rendition) return;
  const { codec, packets } = rendition;
  const { rateHz } = CODECS[codec];
  const samples = recording && decodeWav(recording, "audio", rateHz);
  const announced = announcement && decodeWav(announcement, "audio", rateHz);
  let done = 0;
  let payload: Uint8Array = new Uint8Array(0);
  for (payload of encodeProgramme(layout, samples, { packets, codec, announcement: announced })) {
    if (++done === AHEAD_S) tell({ id, payload });
    await nextTurn(systemClock);
  }
  if (done < AHEAD_S) tell({ id, payload });
}

function faultOf(id: number, error: unknown): ProgrammeReply {
  return error instanceof CallerError ? { id, faults: error.faults } : { id, failure: error };
}

if (!parentPort) throw new BugError("The audio worker's thread was started outside a worker.");
serve(parentPort);

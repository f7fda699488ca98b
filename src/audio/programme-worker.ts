import { type MessagePort, parentPort } from "node:worker_threads";
import { BugError, CallerError } from "../base/errors.ts";
import type { ProgrammeReply, ProgrammeRequest } from "./audio-messages.ts";
import { buildProgramme, finishProgramme } from "./programme.ts";
import { decodeWav } from "./wav.ts";

/** Entry of the audio worker's thread: it decodes, resamples, mixes and encodes, one programme after the other. */
function serve(port: MessagePort): void {
  port.on("message", (request: ProgrammeRequest) => {
    const reply = answer(request);
    port.postMessage(reply, "programme" in reply ? [reply.programme.pcm.buffer as ArrayBuffer] : []);
  });
}

function answer({ id, hash, layout, recording }: ProgrammeRequest): ProgrammeReply {
  try {
    const pcm = buildProgramme(layout, recording && decodeWav(recording));
    return { id, programme: finishProgramme(hash, pcm) };
  } catch (error) {
    return error instanceof CallerError ? { id, faults: error.faults } : { id, failure: error };
  }
}

if (!parentPort) throw new BugError("The audio worker's thread was started outside a worker.");
serve(parentPort);

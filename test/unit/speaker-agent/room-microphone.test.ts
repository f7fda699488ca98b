import { describe, expect, it } from "vitest";
import type { Detection } from "../../../src/speaker-agent/matched-filter.ts";
import { createRoomMicrophone } from "../../../src/speaker-agent/room-microphone.ts";
import { syntheticRoom } from "../../support/synthetic-room.ts";

/** A recorder that the test feeds. */
function fakeRecorder() {
  let deliver = (_bytes: Buffer): void => undefined;
  const recorder = { isClosed: false };
  return {
    recorder,
    record: (bytes: Buffer) => deliver(bytes),
    open(onAudio: (bytes: Buffer) => void) {
      deliver = onAudio;
      return {
        close() {
          recorder.isClosed = true;
        },
      };
    },
  };
}

function bytesOf(pcm: Int16Array): Buffer {
  return Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength);
}

describe("room microphone", () => {
  it("hears what plays, once, and stops recording", async () => {
    const { played, recorded, delayMs } = syntheticRoom(10, { plays: true, snrDb: 10, isQuiet: true });
    const { open, record, recorder } = fakeRecorder();
    const found: Detection[] = [];
    const microphone = createRoomMicrophone(open)((detection) => found.push(detection));
    // What comes before playback does not count, and samples may be split.
    record(bytesOf(recorded.subarray(0, 4_000)));
    microphone.begin();
    microphone.addPlayed(played);
    record(bytesOf(recorded).subarray(0, 1_001));
    record(bytesOf(recorded).subarray(1_001));
    const result = await microphone.finish();
    expect(result).toEqual({ hasRecorded: true, isHeard: true, detection: found[0] });
    expect(found).toHaveLength(1);
    expect(Math.abs((found[0]?.delayMs ?? 0) - delayMs)).toBeLessThan(100);
    expect(recorder.isClosed).toBe(true);
  });

  it("reports the match of a silent speaker, and a microphone without audio", async () => {
    const { played, recorded } = syntheticRoom(11, { plays: false });
    const { open, record } = fakeRecorder();
    const found: Detection[] = [];
    const listen = createRoomMicrophone(open);
    const silent = listen((detection) => found.push(detection));
    silent.begin();
    silent.addPlayed(played);
    record(bytesOf(recorded));
    expect(await silent.finish()).toMatchObject({ hasRecorded: true, isHeard: false });
    const broken = listen((detection) => found.push(detection));
    broken.begin();
    broken.addPlayed(played);
    expect(await broken.finish()).toEqual({ hasRecorded: false, isHeard: false, detection: null });
    expect(found).toEqual([]);
  });
});

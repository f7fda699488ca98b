import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect } from "vitest";
import { AudioWorker } from "../../src/audio/audio-worker.ts";
import { PAYLOAD_TYPE_PCMU, ssrcOf } from "../../src/audio/rtp.ts";
import { Streamer } from "../../src/audio/streamer.ts";
import { systemClock } from "../../src/base/clock.ts";
import { silentLog } from "../../src/base/log.ts";
import { listenWithFfmpeg } from "../support/ffmpeg-listener.ts";
import { expectKnownBroadcast, KNOWN_TONE, knownRecording } from "../support/known-broadcast.ts";
import { peer } from "../support/peers.ts";

const ffmpeg = peer("ffmpeg");
const ZONE = { group: `239.240.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`, port: 20_480 };

ffmpeg.describe("a zone that ffmpeg listens to", () => {
  const audio = new AudioWorker({ log: silentLog });
  const streamer = new Streamer({ clock: systemClock, log: silentLog });

  beforeEach(async () => {
    audio.start();
    await streamer.start();
  });

  afterEach(async () => {
    await streamer.stop();
    await audio.stop();
  });

  ffmpeg.it("hears the tone's pitches in order and at their level, then the recording as it was", async () => {
    const recording = knownRecording();
    const sha256 = createHash("sha256").update(recording).digest("hex");
    const programme = await audio.prepare({
      tone: KNOWN_TONE,
      gapMs: 500,
      repetitions: 1,
      repetitionPauseMs: 0,
      volumeDb: 0,
      recording: { sha256, read: () => recording },
    });
    const listener = await listenWithFfmpeg(ZONE);
    const ended = new Promise((resolve) => streamer.on("ended", resolve));
    await streamer.open({
      streamId: "zone",
      ...ZONE,
      ttl: 1,
      interfaceAddress: "127.0.0.1",
      ssrc: ssrcOf("a broadcast"),
      payloadType: PAYLOAD_TYPE_PCMU,
      payload: programme.payload,
      repeats: 1,
      offsetPackets: 0,
    });
    streamer.startGroup(["zone"], Date.now() + 20);
    expect(await ended).toMatchObject({ reason: "finished", packets: programme.packets, sendErrors: 0 });
    await listener.heard(programme.durationMs);
    const heard = await listener.stop();
    expect(heard).toHaveLength(programme.pcm.length);
    await expectKnownBroadcast(heard, recording);
  });
});

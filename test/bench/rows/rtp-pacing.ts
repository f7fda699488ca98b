import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, setPriority, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { Streamer } from "../../../src/media/streamer.ts";
import { REPOSITORY_ROOT } from "../../support/carillon-process.ts";
import { atLeast, atMost, type BenchmarkFigure, type BenchmarkRow, median, percentile } from "../benchmark-row.ts";

const ROUNDS = 5;
const STREAMS = 200;
const SECONDS = 5;
const STALL_MS = 90;
const STALL_EVERY_MS = 200;
const FLOOD_PACKETS = 500;
const PORT = 20_480;
const PACKET_BYTES = 160;
/** Groups that no other process of the machine uses; the last part counts the streams. */
const GROUPS = `239.${192 + (process.pid & 31)}.${(process.pid >> 5) & 0xff}`;

interface Measured {
  oursP99: number[];
  referenceP99: number[];
  oursPerSecond: number[];
  referencePerSecond: number[];
}

/**
 * Row 9: how far from 20 ms the gaps between packets are at a receiver, by the kernel's times of arrival, while this
 * process's main thread is blocked almost half of the time; and how many packets a second the streamer's thread makes
 * when it has to catch up. The limits are one paced stream and a plain loop in C, at the same priority and under the
 * same load: stricter than the ready-made senders, of which ffmpeg does not pace at all.
 */
export const rtpPacing: BenchmarkRow = {
  number: 9,
  name: "RTP pacing, main thread stalled",
  async measure(say) {
    const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const program = join(folder, "rtp-reference");
    const measured: Measured = { oursP99: [], referenceP99: [], oursPerSecond: [], referencePerSecond: [] };
    const streamer = new Streamer({ clock: systemClock, log: silentLog });
    try {
      execFileSync("cc", ["-O2", "-o", program, resolve(REPOSITORY_ROOT, "test/bench/rtp-reference.c")]);
      await streamer.start();
      for (let round = 0; round < ROUNDS; round++) {
        await measureRound(program, streamer, measured);
        say(`round ${round + 1} of ${ROUNDS}`);
      }
    } finally {
      await streamer.stop();
      rmSync(folder, { recursive: true, force: true });
    }
    return figuresOf(measured);
  },
};

async function measureRound(program: string, streamer: Streamer, measured: Measured): Promise<void> {
  const sendReference = async (): Promise<void> => {
    const sender = spawn(program, ["send", `${GROUPS}.1`, String(PORT), String(SECONDS)], { stdio: "inherit" });
    raise(sender);
    await succeed(sender);
  };
  measured.referenceP99.push(await gapErrorP99(program, 1, sendReference));
  const sendOurs = (): Promise<void> => sendStreams(streamer, SECONDS * 50, Date.now() + 50);
  measured.oursP99.push(await gapErrorP99(program, STREAMS, sendOurs));

  const flood = ["flood", `${GROUPS}.1`, String(STREAMS), String(PORT), String(FLOOD_PACKETS)];
  measured.referencePerSecond.push(Number(execFileSync(program, flood)));
  const began = performance.now();
  // Begun so long ago that every packet is late: all are sent at once.
  await sendStreams(streamer, FLOOD_PACKETS, Date.now() - FLOOD_PACKETS * 20);
  measured.oursPerSecond.push((STREAMS * FLOOD_PACKETS * 1000) / (performance.now() - began));
}

function figuresOf(measured: Measured): BenchmarkFigure[] {
  return [
    atMost(
      {
        what: `p99 of |gap - 20 ms|, ${STREAMS} streams`,
        ours: median(measured.oursP99),
        limit: median(measured.referenceP99),
        against: "one stream in C, absolute schedule, same load",
        unit: "ms",
      },
      1.5,
    ),
    atLeast(
      {
        what: "packets sent when catching up",
        ours: median(measured.oursPerSecond),
        limit: median(measured.referencePerSecond),
        against: "send() in a loop in C",
        unit: "packets/s",
      },
      0.5,
    ),
  ];
}

/** The p99, in ms, of what `count` groups receive while `send` runs and the main thread stalls. */
async function gapErrorP99(program: string, count: number, send: () => Promise<void>): Promise<number> {
  const args = ["receive", `${GROUPS}.1`, String(count), String(PORT), String(SECONDS + 1)];
  const receiver = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  receiver.stdout.on("data", (part) => {
    output += part;
  });
  await once(receiver.stdout, "data");
  const ended = succeed(receiver);
  const stalls = setInterval(stall, STALL_EVERY_MS);
  await send();
  clearInterval(stalls);
  await ended;
  const errorsMs = output
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => Number(line) / 1e6);
  const expected = count * (SECONDS * 50 - 1);
  if (errorsMs.length !== expected) throw new Error(`${errorsMs.length} gaps of ${expected} were measured`);
  return percentile(errorsMs, 99);
}

/** Sends `packets` to each of the groups, beginning together at `t0Ms`; resolves when all have ended. */
async function sendStreams(streamer: Streamer, packets: number, t0Ms: number): Promise<void> {
  const payload = new Uint8Array(new SharedArrayBuffer(packets * PACKET_BYTES));
  const streamIds = Array.from({ length: STREAMS }, (_, n) => `stream ${n}`);
  let left = STREAMS;
  const allEnded = new Promise<void>((done) => {
    const forget = streamer.on("ended", () => {
      if (--left > 0) return;
      forget();
      done();
    });
  });
  await Promise.all(
    streamIds.map((streamId, n) =>
      streamer.open({
        ...{ streamId, group: `${GROUPS}.${n + 1}`, port: PORT, ttl: 1, networkInterface: "127.0.0.1", ssrc: n },
        ...{ payloadType: 0, payload, repeats: 1, offsetPackets: 0 },
      }),
    ),
  );
  streamer.startGroup(streamIds, t0Ms);
  await allEnded;
}

function stall(): void {
  const until = performance.now() + STALL_MS;
  while (performance.now() < until);
}

/** The streamer raises its thread's priority, so the limit gets the same. Where that is not allowed, neither has it. */
function raise({ pid }: ChildProcess): void {
  try {
    setPriority(pid ?? 0, constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Not allowed here, nor was it to the streamer.
  }
}

async function succeed(child: ChildProcess): Promise<void> {
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`the reference ended with ${code}`);
}

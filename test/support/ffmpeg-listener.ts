import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { makeTempDir } from "./temp-dir.ts";

/** What to listen to; `payloadType` 0 is G.711 µ-law. */
export interface ListenTarget {
  group: string;
  port: number;
  payloadType?: number;
  /** Own address on the network to join on. */
  localAddress?: string;
}

/** An ffmpeg that has joined a multicast group and decodes what comes. */
export interface FfmpegListener {
  /** Resolves once at least this much sound has been decoded; rejects when ffmpeg ends before. */
  waitForAudio(ms: number): Promise<void>;
  /** Ends ffmpeg at once; what has been decoded from the first packet on, 8 kHz mono, full scale 1. Wait with `heard` first. */
  stop(): Promise<Float32Array>;
}

const RATE_HZ = 8000;
const running = new Set<() => void>();

/** Ends all that are still there, as a test that failed leaves them; after each test file, since files share this module. */
export function stopListeners(): void {
  for (const kill of running) kill();
}

/**
 * Lets a real ffmpeg listen, told by SDP alone, as any foreign receiver is. Resolves when it has joined the group, so
 * that nothing sent from now on is missed; rejects with its words when it cannot.
 */
export async function listenWithFfmpeg(target: ListenTarget): Promise<FfmpegListener> {
  const ffmpeg = startFfmpeg([
    ...["-protocol_whitelist", "file,udp,rtp", "-localaddr", target.localAddress ?? "127.0.0.1"],
    // When to give up is decided by the test, not by ffmpeg.
    ...["-listen_timeout", "-1", "-analyzeduration", "0", "-i", writeSdp(target)],
    ...["-ar", String(RATE_HZ), "-ac", "1", "-c:a", "pcm_s16le", "-flush_packets", "1", "-f", "s16le", "-"],
  ]);
  const group = groupInProc(target.group);
  while (!readFileSync("/proc/net/igmp", "latin1").includes(group)) {
    if (ffmpeg.ended()) throw new Error(`ffmpeg did not join ${target.group}: ${ffmpeg.words()}`);
    await pause(5);
  }
  return {
    async waitForAudio(ms) {
      while (ffmpeg.bytes() < (ms * RATE_HZ * 2) / 1000) {
        if (ffmpeg.ended()) throw new Error(`ffmpeg ended early: ${ffmpeg.words()}`);
        await ffmpeg.more();
      }
    },
    async stop() {
      // Raw samples need no trailer, and while nothing comes in it heeds no gentler signal.
      ffmpeg.child.kill("SIGKILL");
      return toSamples(await ffmpeg.output());
    },
  };
}

/** A sound file as ffmpeg decodes it: 8 kHz mono, full scale 1. Rejects with its words when it cannot. */
export async function decodeWithFfmpeg(file: Uint8Array): Promise<Float32Array> {
  const ffmpeg = startFfmpeg(["-i", "-", "-ar", String(RATE_HZ), "-ac", "1", "-f", "s16le", "-"]);
  ffmpeg.child.stdin.end(file);
  const output = await ffmpeg.output();
  if (output.length === 0) throw new Error(`ffmpeg decoded nothing: ${ffmpeg.words()}`);
  return toSamples(output);
}

function startFfmpeg(argv: string[]) {
  const base = ["-hide_banner", "-nostats", "-loglevel", "error"];
  const child = spawn("ffmpeg", [...base, ...argv], { stdio: ["pipe", "pipe", "pipe"] });
  const kill = (): void => void child.kill("SIGKILL");
  running.add(kill);
  const parts: Buffer[] = [];
  let bytes = 0;
  let words = "";
  let ended = false;
  child.stdout.on("data", (part: Buffer) => {
    parts.push(part);
    bytes += part.length;
  });
  child.stderr.on("data", (part: Buffer) => {
    words += part;
  });
  // It may end before it has read all of its input.
  child.stdin.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => {
    const end = (): void => {
      ended = true;
      running.delete(kill);
      resolve();
    };
    child.on("error", (error) => {
      words += error.message;
      end();
    });
    child.on("close", end);
  });
  return {
    child,
    bytes: () => bytes,
    words: () => words.trim(),
    ended: () => ended,
    more: () => Promise.race([once(child.stdout, "data"), closed]),
    output: () => closed.then(() => Buffer.concat(parts)),
  };
}

/** @source RFC 4566, as ffmpeg's SDP reader wants it */
function writeSdp({ group, port, payloadType = 0 }: ListenTarget): string {
  const lines = [
    "v=0",
    "o=- 0 0 IN IP4 127.0.0.1",
    "s=zone",
    `c=IN IP4 ${group}/16`,
    "t=0 0",
    `m=audio ${port} RTP/AVP ${payloadType}`,
  ];
  const path = join(makeTempDir(), "zone.sdp");
  writeFileSync(path, `${lines.join("\r\n")}\r\n`);
  return path;
}

/** The group as /proc/net/igmp writes it: the address in the machine's byte order. */
function groupInProc(group: string): string {
  const bytes = Uint8Array.from(group.split("."), Number);
  const [value = 0] = new Uint32Array(bytes.buffer);
  return value.toString(16).toUpperCase().padStart(8, "0");
}

function toSamples(bytes: Buffer): Float32Array {
  return Float32Array.from({ length: bytes.length >> 1 }, (_, n) => bytes.readInt16LE(2 * n) / 32_768);
}

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** A stretch of sound without a pause of more than a second. */
export interface SoundInterval {
  /** Wall time of this machine at its first sample, epoch ms, and at its last. */
  from: number;
  to: number;
  /** Sound that was decoded; ms. */
  ms: number;
}

/** A zone, and who hears it: a real ffmpeg, told by SDP alone. */
export interface ZoneRecorder {
  heard(): readonly SoundInterval[];
  /** Resolves with the wall time at which something was first heard after `since`; null after `maxMs`. */
  heardAfter(since: number, maxMs: number): Promise<number | null>;
  close(): void;
}

const RATE_HZ = 8_000;
const BYTES_PER_MS = (RATE_HZ * 2) / 1_000;
const PAUSE_MS = 1_000;

/** Listens from now on; rejects with ffmpeg's words when it can't. `folder` is for its SDP, `own` the address to join on. */
export async function recordZone(
  { group, port }: { group: string; port: number },
  own: string,
  folder: string,
): Promise<ZoneRecorder> {
  const stretches: SoundInterval[] = [];
  const waiting = new Set<() => void>();
  const child = startFfmpeg(group, port, own, folder);
  let words = "";
  child.stderr?.on("data", (part: Buffer) => {
    words = (words + part).slice(-4_096);
  });
  child.stdout?.on("data", (part: Buffer) => {
    const now = Date.now();
    const ms = part.length / BYTES_PER_MS;
    const last = stretches.at(-1);
    if (last && now - last.to < PAUSE_MS) Object.assign(last, { to: now, ms: last.ms + ms });
    else stretches.push({ from: now, to: now, ms });
    for (const wake of waiting) wake();
  });
  while (!readFileSync("/proc/net/igmp", "latin1").includes(inProc(group))) {
    if (child.exitCode !== null) throw new Error(`ffmpeg did not join ${group}: ${words}`);
    await pause(5);
  }
  const firstAfter = (since: number): number | null => stretches.find(({ from }) => from >= since)?.from ?? null;
  return {
    heard: () => stretches,
    async heardAfter(since, maxMs) {
      const until = performance.now() + maxMs;
      while (firstAfter(since) === null && performance.now() < until) {
        let wake = (): void => undefined;
        const woken = new Promise<void>((done) => {
          wake = done;
        });
        waiting.add(wake);
        await Promise.race([woken, pause(Math.max(0, until - performance.now()))]);
        waiting.delete(wake);
      }
      return firstAfter(since);
    },
    // While nothing comes in it heeds no gentler signal.
    close: () => void child.kill("SIGKILL"),
  };
}

function startFfmpeg(group: string, port: number, own: string, folder: string): ChildProcess {
  const sdp = join(folder, `${group}-${port}.sdp`);
  // @source RFC 4566
  const lines = [
    "v=0",
    `o=- 0 0 IN IP4 ${own}`,
    "s=zone",
    `c=IN IP4 ${group}/16`,
    "t=0 0",
    `m=audio ${port} RTP/AVP 0`,
  ];
  writeFileSync(sdp, `${lines.join("\r\n")}\r\n`);
  const quiet = ["-hide_banner", "-nostats", "-nostdin", "-loglevel", "error"];
  const input = [
    ...["-protocol_whitelist", "file,udp,rtp", "-localaddr", own, "-listen_timeout", "-1", "-analyzeduration", "0"],
    // A message that begins anew has numbers of its own: each packet counts as it comes.
    ...["-reorder_queue_size", "0", "-i", sdp],
  ];
  const output = ["-ar", String(RATE_HZ), "-ac", "1", "-c:a", "pcm_s16le", "-flush_packets", "1", "-f", "s16le", "-"];
  return spawn("ffmpeg", [...quiet, ...input, ...output], { stdio: ["ignore", "pipe", "pipe"] });
}

/** The group as /proc/net/igmp writes it: the address in the machine's byte order. */
function inProc(group: string): string {
  const [value = 0] = new Uint32Array(Uint8Array.from(group.split("."), Number).buffer);
  return value.toString(16).toUpperCase().padStart(8, "0");
}

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ApiClient, createApiClient, listAll } from "../../src/api-client/api-client.ts";
import {
  type InitOutput,
  LOOPBACK_SETTINGS,
  type RunningDaemon,
  runInit,
  serveAppliance,
} from "../support/carillon-process.ts";
import { listenToSounds } from "../support/sound-listener.ts";
import { createAdjustableClock } from "./set-clock.ts";

/** What became of a ring; `gone` is one that the schedule does not show. */
type Fate = "rung" | "late" | "missed" | "gone";

/** What a schedule is to ring, in seconds after the story began, what is done to the clock or the daemon, and what follows. */
interface Script {
  rings: readonly number[];
  act(world: World): Promise<void>;
  fates: readonly Fate[];
}

/** What came of a story: each ring in words, and each promise that was broken. */
export interface ClockStory {
  name: string;
  rings: string[];
  broken: string[];
}

/** The daemon under a clock that is set at will. */
interface World {
  /** Seconds of the daemon's clock since the story began. */
  now(): number;
  /** Waits until the daemon's clock shows this; its clock must go on by itself. */
  until(second: number): Promise<void>;
  /** Sets the daemon's wall clock; the clock that is never set goes on. */
  step(seconds: number): void;
  /** SIGSTOP and SIGCONT. */
  freeze(): void;
  thaw(): void;
  stop(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  begin(): Promise<void>;
}

const SCRIPTS = {
  "one hour forward": {
    rings: [1_800, 3_604],
    act: async (world) => world.step(3_600),
    fates: ["missed", "rung"],
  },
  "one hour back": {
    rings: [5, 13],
    async act(world) {
      await world.until(7);
      world.step(-3_600);
      await pause(3_000);
      // To the moment before the first ring once more.
      world.step(2 - world.now());
    },
    fates: ["rung", "rung"],
  },
  "thirty seconds forward": {
    rings: [5, 25, 45],
    async act(world) {
      await world.until(8);
      world.step(30);
    },
    fates: ["rung", "late", "rung"],
  },
  "thirty seconds back": {
    rings: [5, 14],
    async act(world) {
      await world.until(8);
      world.step(-30);
    },
    fates: ["rung", "rung"],
  },
  "stopped for 45 s": {
    rings: [5, 11, 40, 60],
    async act(world) {
      await world.until(8);
      world.freeze();
      await world.until(53);
      world.thaw();
    },
    fates: ["rung", "missed", "late", "rung"],
  },
  "killed before a ring, back at once": {
    rings: [8, 26],
    async act(world) {
      await world.until(5);
      await world.stop("SIGKILL");
      await world.until(10);
      await world.begin();
    },
    fates: ["late", "rung"],
  },
  "off for longer than a ring may be late": {
    rings: [8, 55],
    async act(world) {
      await world.until(5);
      await world.stop("SIGTERM");
      await world.until(42);
      await world.begin();
    },
    fates: ["missed", "rung"],
  },
} as const satisfies Readonly<Record<string, Script>>;

/** A story of the clock. */
export type ClockStoryName = keyof typeof SCRIPTS;

/** All of them, in the order in which they are best played. */
export const CLOCK_STORIES = Object.keys(SCRIPTS) as ClockStoryName[];

/** A ring on time, or as soon as it can be, is heard within this. */
const SLACK_MS = 1_000;
/** A late ring is prepared first. */
const LATE_SLACK_MS = 5_000;
/** The daemon's day begins here, far from midnight. */
const HOUR = 10;
const DAY_MS = 86_400_000;

/**
 * Plays stories with the real daemon, whose wall clock libfaketime sets while its monotonic clock goes on, as it is on a
 * machine that is set by hand or by a time server. What rang is heard at a multicast zone; what did not must be written
 * down as missed with its activity. `library` is the path of libfaketime.
 */
export async function playClockStories(
  names: readonly ClockStoryName[],
  library: string,
  say: (progress: string) => void,
): Promise<ClockStory[]> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-clock-"));
  const stage = await openStage(folder, library);
  const stories: ClockStory[] = [];
  try {
    for (const name of names) {
      const story = await stage.play(name);
      stories.push(story);
      if (story.broken.length > 0) say(stage.log());
      for (const line of [`${name}:`, ...story.rings, ...story.broken.map((what) => `BROKEN: ${what}`)]) say(line);
    }
  } finally {
    await stage.end();
    rmSync(folder, { recursive: true, force: true });
  }
  return stories;
}

/** Where Debian puts libfaketime; null when it is not there. */
export function libfaketime(): string | null {
  const folders = readdirSync("/usr/lib").filter((name) => name.endsWith("-linux-gnu"));
  const paths = folders.map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`);
  return paths.find((path) => exists(path)) ?? null;
}

function exists(path: string): boolean {
  const at = path.lastIndexOf("/");
  try {
    return readdirSync(path.slice(0, at)).includes(path.slice(at + 1));
  } catch {
    return false;
  }
}

interface Stage {
  play(name: ClockStoryName): Promise<ClockStory>;
  /** What the daemon warned of. */
  log(): string;
  end(): Promise<void>;
}

interface Ring {
  at: string;
  state: string;
}

async function openStage(folder: string, library: string): Promise<Stage> {
  const zone = { group: `239.241.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`, port: 20_500 };
  const config = join(folder, "carillon.yaml");
  writeFileSync(config, LOOPBACK_SETTINGS);
  const dataDir = join(folder, "data");
  const first = await runInit(dataDir);
  const tomorrow = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS;
  const clock = createAdjustableClock(join(folder, "clock"), tomorrow + HOUR * 3_600_000 - Date.now());
  const env = { LD_PRELOAD: library, ...clock.env };
  const start = (): Promise<RunningDaemon> => serveAppliance(dataDir, ["--config", config], env);
  let daemon = await start();
  const api = (): ApiClient => createApiClient(daemon.url, first.token);
  const listener = await listenToSounds(zone);
  const bell = await makeBell(api(), first, zone);

  return {
    async play(name) {
      const script: Script = SCRIPTS[name];
      const startMs = Math.ceil(clock.now() / 1_000) * 1_000;
      const before = listener.heard().length;
      const schedule = await bell.schedule(
        api(),
        name,
        script.rings.map((second) => startMs + second * 1_000),
      );
      await script.act({
        now: () => (clock.now() - startMs) / 1_000,
        until: (second) => pause(Math.max(0, startMs + second * 1_000 - clock.now())),
        step: (seconds) => clock.step(seconds * 1_000),
        freeze: () => void daemon.child.kill("SIGSTOP"),
        thaw: () => void daemon.child.kill("SIGCONT"),
        stop: async (signal) => void (await daemon.end(signal)),
        begin: async () => {
          daemon = await start();
        },
      });
      const last = startMs + (script.rings.at(-1) ?? 0) * 1_000;
      await pause(Math.max(0, last + 2_000 - clock.now()));
      const heard = listener
        .heard()
        .slice(before)
        .map(({ at }) => clock.showed(at));
      const rows = await ringsOf(api(), schedule, startMs);
      return judge(name, { script, startMs, rows, heard, missed: await missedRings(api(), first, schedule) });
    },
    log: () =>
      daemon
        .log()
        .split("\n")
        .filter((line) => !line.startsWith('{"level":30'))
        .join("\n"),
    async end() {
      listener.close();
      await daemon.end("SIGTERM");
    },
  };
}

async function makeBell(api: ApiClient, { extensionId, endpointId }: InitOutput, zone: SoundListenerTarget) {
  const make = async (path: string, body: Record<string, unknown>): Promise<string> =>
    (await api.post<{ id: string }>(path, body)).id;
  const { icopId } = await api.post<{ icopId: string }>(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
    type: "speakers",
    deviceIdentifier: "zone:Hall",
    description: "Hall",
    attributes: { Group: zone.group, Port: String(zone.port), Codec: "PCMU", TTL: "1" },
  });
  const group = await make("/device-groups", { name: "Hall", filterType: "REJECT", additionIds: [icopId] });
  const messageTemplateId = await make("/message-templates", {
    name: "Bell",
    subject: "Bell",
    alertTone: "class-change1",
  });
  return {
    /** A schedule that rings at these instants of one day. */
    async schedule(client: ApiClient, name: string, instants: readonly number[]): Promise<string> {
      const text = instants.map((at) => new Date(at).toISOString());
      const entries = text.map((at) => ({ time: at.slice(11, 19), messageTemplateId, deviceGroupIds: [group] }));
      const { id: ringListId } = await client.post<{ id: string }>("/ring-lists", { name, entries });
      const days = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
      const [day] = text.map((at) => at.slice(0, 10));
      const span = { startDate: day, endDate: day, timeZone: "Etc/UTC", numWeeks: 1 };
      return (await client.post<{ id: string }>("/bell-schedules", { name, ...span, bellScheduleEntries: days })).id;
    },
  };
}

type SoundListenerTarget = Parameters<typeof listenToSounds>[0];

async function ringsOf(api: ApiClient, schedule: string, startMs: number): Promise<Ring[]> {
  const [from, to] = [startMs - 1_000, startMs + 2 * 3_600_000].map((at) =>
    encodeURIComponent(new Date(at).toISOString()),
  );
  return listAll<Ring>(api, `/bell-schedules/${schedule}/rings?from=${from}&to=${to}`);
}

interface Skipped {
  type: string;
  value: { scheduleId?: string; at?: string; reason?: string } | null;
}

/** The activities that say which rings of a schedule were missed, by their instants. */
async function missedRings(api: ApiClient, { extensionId, endpointId }: InitOutput, schedule: string) {
  const all = await listAll<Skipped>(api, `/extensions/${extensionId}/endpoints/${endpointId}/activities`);
  const own = all.filter(({ type, value }) => type === "scheduled-broadcast-skipped" && value?.scheduleId === schedule);
  return new Map(own.map(({ value }) => [value?.at ?? "", value?.reason ?? ""]));
}

interface Outcome {
  script: Script;
  startMs: number;
  rows: readonly Ring[];
  /** When sounds began, by the daemon's clock. */
  heard: readonly number[];
  missed: ReadonlyMap<string, string>;
}

/** Holds what was heard and written down against what was to be. */
function judge(name: string, { script, startMs, rows, heard, missed }: Outcome): ClockStory {
  const broken: string[] = [];
  const left = [...heard];
  const rings = script.rings.map((second, place) => {
    const at = startMs + second * 1_000;
    const iso = new Date(at).toISOString();
    const wanted = script.fates[place] ?? "gone";
    const fate = rows.find((ring) => ring.at === iso)?.state ?? "gone";
    const longestMs = wanted === "late" ? 30_000 + LATE_SLACK_MS : SLACK_MS;
    const found = left.findIndex((moment) => moment >= at - SLACK_MS && moment <= at + longestMs);
    const sound = found >= 0 && wanted !== "missed" ? left.splice(found, 1)[0] : undefined;
    const told = missed.get(iso);
    if (fate !== wanted) broken.push(`the ring of ${iso} is ${fate}, not ${wanted}`);
    if (wanted !== "missed" && sound === undefined) broken.push(`the ring of ${iso} was not heard`);
    if ((wanted === "missed") !== (told !== undefined)) broken.push(`the ring of ${iso}: its activity says ${told}`);
    return `  ${iso} ${fate}${sound === undefined ? "" : `, heard ${sound - at} ms after`}${told ? `: ${told}` : ""}`;
  });
  for (const at of left) broken.push(`something was heard at ${new Date(at).toISOString()} that was not to ring`);
  return { name, rings, broken };
}

import { setTimeout as pause } from "node:timers/promises";
import type { RandomSource } from "../../sim/seeded-random.ts";
import type { FieldMember, FieldMembers } from "./members.ts";
import { recordZone, type SoundInterval, type ZoneRecorder } from "./zone-recorder.ts";

/** A zone of its own for each message and appliance. */
export interface TestZone {
  site: FieldMember;
  device: string;
  target: { group: string; port: number };
}

/** A message that was sent in the cloud. */
export interface SentMessage {
  id: string;
  class: "emergency" | "routine";
  /** Epoch ms. */
  at: number;
  notAfter: number;
  zones: { zone: TestZone; ears: ZoneRecorder }[];
}

const PORT = 20_480;
const USEFUL_MS = { emergency: 15 * 60_000, routine: 2 * 60_000 } as const;
/** Messages that don't wait long. */
const SHORT_S = 15;
/** What `chime` lasts; ms. */
const CHIME_MS = 1_500;

/** Makes `count` zones at an appliance; the cloud may need a moment to know them. */
export async function makeZones(site: FieldMember, network: number, count: number): Promise<TestZone[]> {
  const { extensionId, endpointId } = site.first;
  const zones: TestZone[] = [];
  for (let place = 0; place < count; place++) {
    const target = { group: `239.210.${network}.${place + 1}`, port: PORT };
    const { id } = await site.api.post<{ id: string }>(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
      ...{
        type: "speakers",
        deviceIdentifier: `zone:${site.name}-${network}-${place}`,
        description: `${site.name} ${place}`,
      },
      attributes: { Group: target.group, Port: String(PORT), Codec: "PCMU", TTL: "4" },
    });
    zones.push({ site, device: id, target });
  }
  return zones;
}

/** What sending is made of. */
export interface SenderDeps {
  members: FieldMembers;
  dice: RandomSource;
  /** Zones of each appliance, as many as there will be messages. */
  zones: readonly (readonly TestZone[])[];
  everyMs: number;
  own: string;
  folder: string;
}

/** Sends messages in the cloud to the appliances' zones, in front of each of which an ffmpeg listens, until it is stopped. */
export function startSender(needs: SenderDeps): { stop(): Promise<{ sent: SentMessage[]; unanswered: number }> } {
  const { members, dice, everyMs } = needs;
  const sent: SentMessage[] = [];
  let unanswered = 0;
  let isStopped = false;

  async function send(place: number): Promise<void> {
    const addressed = dice.happens(0.4) ? needs.zones : [dice.pick(needs.zones)];
    const kind = dice.happens(0.5) ? "emergency" : "routine";
    const isShort = dice.happens(0.4);
    const zones = await Promise.all(
      addressed.map(async (of) => {
        const zone = of[place] as TestZone;
        return { zone, ears: await recordZone(zone.target, needs.own, needs.folder) };
      }),
    );
    const at = Date.now();
    const made = await members.hub.api
      .post<{ id: string; expiresAt: string | null; createdAt: string }>("/notifications", {
        ...{ subject: `${kind} ${place}`, alertTone: "chime" },
        ...(kind === "emergency" && { priority: "critical" }),
        ...(isShort && { expiration: SHORT_S }),
        additionalDeviceIds: zones.map(({ zone }) => zone.device),
      })
      .catch(() => null);
    if (!made) unanswered += 1;
    const from = made ? Date.parse(made.createdAt) : at;
    const notAfter = made?.expiresAt ? Date.parse(made.expiresAt) : from + USEFUL_MS[kind];
    if (made) sent.push({ id: made.id, class: kind, at, notAfter, zones });
    else for (const { ears } of zones) ears.close();
  }

  const running = (async () => {
    const most = Math.min(...needs.zones.map(({ length }) => length));
    for (let place = 0; !isStopped && place < most; place++) {
      await send(place);
      for (let waited = 0; !isStopped && waited < everyMs; waited += 100) await pause(100);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await running;
      return { sent, unanswered };
    },
  };
}

/** What was heard of messages, each promise that was broken in words. */
export interface ReceptionSummary {
  emergencies: number;
  routine: number;
  /** Messages at zones that were heard once, several times (in an emergency), never. */
  once: number;
  again: number;
  never: number;
  broken: string[];
}

interface Line {
  deviceId: string;
  level: string;
  reason: string | null;
  endedAt: string | null;
}

/** A play is told from its repetition by its length. */
const SLACK_MS = 150;

/** Holds what was heard against what was asked for, and against what the cloud was told. */
export async function evaluateReception(hub: FieldMember, sent: readonly SentMessage[]): Promise<ReceptionSummary> {
  const hearing: ReceptionSummary = { emergencies: 0, routine: 0, once: 0, again: 0, never: 0, broken: [] };
  for (const message of sent) {
    hearing[message.class === "emergency" ? "emergencies" : "routine"] += 1;
    const lines = (await hub.api.get<{ data: Line[] }>(`/notifications/${message.id}/devices`)).data;
    for (const { zone, ears } of message.zones) {
      const told = lines.filter(({ deviceId }) => deviceId === zone.device);
      const what = `${message.class} ${message.id} at ${zone.site.name}`;
      for (const words of faultsOf(message, ears.heard(), told)) hearing.broken.push(`${what}: ${words}`);
      hearing[timesOf(ears.heard())] += 1;
    }
  }
  return hearing;
}

function soundOf(heard: readonly SoundInterval[]): number {
  return heard.reduce((sum, { ms }) => sum + ms, 0);
}

function timesOf(heard: readonly SoundInterval[]): "never" | "once" | "again" {
  const ms = soundOf(heard);
  if (ms === 0) return "never";
  return ms > CHIME_MS + SLACK_MS ? "again" : "once";
}

function faultsOf(message: SentMessage, heard: readonly SoundInterval[], told: readonly Line[]): string[] {
  const faults: string[] = [];
  const shown = heard.map(({ from, ms }) => `${from - message.at} ms after it for ${Math.round(ms)} ms`).join(", ");
  const [line] = told;
  const is = `it is ${line?.level} (${line?.reason ?? "no reason"}), heard ${shown || "never"}`;
  if (told.length !== 1) faults.push(`it has ${told.length} lines`);
  else if (line?.endedAt === null) faults.push(`nobody told what became of it; ${is}`);
  const times = timesOf(heard);
  if (message.class === "routine" && times === "again") faults.push(`it was heard again; ${is}`);
  if (heard.some(({ from }) => from > message.notAfter))
    faults.push(`it was heard ${message.notAfter - message.at} ms too late; ${is}`);
  const isLong = message.notAfter - message.at > 2 * 60_000;
  if (message.class === "emergency" && isLong && soundOf(heard) < CHIME_MS - SLACK_MS)
    faults.push(`it was not heard whole; ${is}`);
  if (line?.level === "sent" && times === "never") faults.push(`it is said to have sounded; ${is}`);
  // What its end cut off may be told as too late.
  if (line?.level === "expired" && soundOf(heard) >= CHIME_MS - SLACK_MS)
    faults.push(`it is said not to have sounded; ${is}`);
  return faults;
}

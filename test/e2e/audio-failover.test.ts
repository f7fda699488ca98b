import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFailed } from "vitest";
import { type ApiClient, createApiClient, listAll } from "../../src/api-client/api-client.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import { type InitOutput, LOOPBACK_SETTINGS, runInit, serveAppliance } from "../support/carillon-process.ts";
import { externalProgram } from "../support/external-programs.ts";
import { type FfmpegListener, type ListenTarget, listenWithFfmpeg } from "../support/ffmpeg-listener.ts";
import { amplitudeAt, sine } from "../support/signal-analysis.ts";
import { listenToSounds, type SoundListener } from "../support/sound-listener.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { sampleBytes, wavFile } from "../support/wav-file.ts";

/** Time to write everything, and to make the rings ready, also on a machine that does other things. */
const AHEAD_MS = 12_000;
const SECOND_MS = 1_000;
/** Less than the 3 s that a bell would go on for that is not cut short. */
const NEAR_MS = 2_500;
/** Far above what another pitch leaks. */
const AUDIBLE = 0.02;
const [BELL, OTHER_BELL, EMERGENCY, PAGE] = [440, 880, 1_250, 620];
const PITCHES = [BELL, OTHER_BELL, EMERGENCY, PAGE];

interface Zone {
  group: string;
  target: ListenTarget;
  ears: SoundListener;
  ffmpeg: FfmpegListener;
}

/** A zone of its own, with ears and ffmpeg at it, and a group that has it alone. */
async function makeZone(api: ApiClient, { extensionId, endpointId }: InitOutput, place: number): Promise<Zone> {
  const target = { group: `239.${242 + place}.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`, port: 20_520 };
  const { icopId } = await api.post<{ icopId: string }>(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
    ...{ type: "speakers", deviceIdentifier: `zone:${place}`, description: `Zone ${place}` },
    attributes: { Group: target.group, Port: String(target.port), Codec: "PCMU", TTL: "1" },
  });
  const body = { name: `Zone ${place}`, filterType: "REJECT", additionIds: [icopId] };
  const { id: group } = await api.post<{ id: string }>("/device-groups", body);
  return { group, target, ears: await listenToSounds(target), ffmpeg: await listenWithFfmpeg(target) };
}

/** A message of one pitch. */
function message(name: string, hz: number, seconds: number, more: Record<string, string> = {}): FormData {
  const form = new FormData();
  for (const [field, value] of Object.entries({ subject: name, alertTone: "silent", ...more })) form.set(field, value);
  const wav = wavFile({ rateHz: 8_000, channels: 1, bits: 16 }, sampleBytes(sine(hz, seconds, 0.3), 16));
  form.set("audio", new Blob([new Uint8Array(wav)], { type: "audio/wav" }), "pitch.wav");
  return form;
}

const withPriority = (priority: number): Record<string, string> => ({
  extensionSettingsOverrides: JSON.stringify({ [ONPREM_EXTENSION_ID]: { priority } }),
});

/** The pitches that are heard, half a second after half a second; silence is not told, nor the same once more. */
function pitchesOf(sound: Float32Array): number[] {
  const heard: number[] = [];
  for (let from = 0; from + 4_000 <= sound.length; from += 4_000) {
    const loud = PITCHES.filter((hz) => amplitudeAt(sound.subarray(from, from + 4_000), hz) > AUDIBLE);
    for (const hz of loud) if (!heard.includes(hz)) heard.push(hz);
  }
  return heard;
}

externalProgram("ffmpeg").it(
  "the more urgent sounds: of two rings at one instant, an emergency in a bell, a bell in a page",
  async () => {
    const data = makeTempDir();
    const config = join(data, "carillon.yaml");
    writeFileSync(config, LOOPBACK_SETTINGS);
    const first = await runInit(data);
    const daemon = await serveAppliance(data, ["--config", config]);
    onTestFailed(() => console.error(daemon.log()));
    const api = createApiClient(daemon.url, first.token);
    const zones: Zone[] = [];
    try {
      zones.push(...(await Promise.all([0, 1, 2].map((place) => makeZone(api, first, place)))));
      const [twice, alarmed, paged] = zones as [Zone, Zone, Zone];
      const template = async (name: string, ...rest: [number, number, Record<string, string>?]): Promise<string> =>
        (await api.post<{ id: string }>("/message-templates", messageTemplate(name, ...rest))).id;
      const { id: notificationProfileId } = await api.post<{ id: string }>("/notification-profiles", {
        name: "Urgent",
        settings: [{ id: ONPREM_EXTENSION_ID, value: { priority: 1 } }],
      });
      const rings = [
        { messageTemplateId: await template("Other bell", OTHER_BELL, 2), deviceGroupIds: [twice.group] },
        {
          messageTemplateId: await template("Bell", BELL, 2, { notificationProfileId }),
          deviceGroupIds: [twice.group],
        },
        { messageTemplateId: await template("Long bell", BELL, 4), deviceGroupIds: [alarmed.group] },
        { messageTemplateId: await template("Bell in a page", BELL, 1), deviceGroupIds: [paged.group] },
      ];
      const at = Math.ceil((Date.now() + AHEAD_MS) / SECOND_MS) * SECOND_MS;
      await ringAt(api, at, rings);
      await pause(at - 2_000 - Date.now());
      const page = message("Page", PAGE, 4, withPriority(3));
      page.append("deviceGroupIds[]", paged.group);
      await api.post("/notifications", page);
      await pause(at + SECOND_MS - Date.now());
      const emergency = message("Emergency", EMERGENCY, 2, { priority: "critical" });
      emergency.append("deviceGroupIds[]", alarmed.group);
      const called = Date.now();
      await api.post("/notifications", emergency);
      // A receiver may stay with the stream that it has heard first, or change over.
      while (alarmed.ears.heard().length < 2) await pause(20);
      const another = await listenWithFfmpeg(alarmed.target);
      await pause(called + 2_700 - Date.now());

      const sounds = zones.map(({ ears }) => ears.heard());
      const receivers = [...zones.map(({ ffmpeg }) => ffmpeg), another];
      const pitches = await Promise.all(receivers.map(async (ffmpeg) => pitchesOf(await ffmpeg.stop())));
      expect(pitches[1]?.[0]).toBe(BELL);
      expect([pitches[0], pitches[2], pitches[3]]).toEqual([[BELL], [PAGE], [EMERGENCY]]);
      expect(sounds.map(({ length }) => length)).toEqual([1, 2, 1]);
      const [[urgent], [long, alarm], [lone]] = sounds as [Heard, Heard, Heard];
      expectNear([urgent?.at, long?.at], at);
      expectNear([alarm?.at, long?.until], called);
      expect(lone && lone.at < at && lone.until > at + SECOND_MS).toBe(true);
      expect(await notSounded(api)).toEqual(["Bell in a page", "Other bell"]);
    } finally {
      for (const { ears } of zones) ears.close();
      await daemon.end("SIGTERM");
    }
  },
  180_000,
);

type Heard = ReturnType<SoundListener["heard"]>;

function messageTemplate(name: string, hz: number, seconds: number, more: Record<string, string> = {}): FormData {
  const form = message(name, hz, seconds, more);
  form.set("name", name);
  return form;
}

function expectNear(moments: readonly (number | undefined)[], at: number): void {
  for (const moment of moments) expect(Math.abs((moment ?? 0) - at)).toBeLessThan(NEAR_MS);
}

/** Rings all at one instant, today. */
async function ringAt(api: ApiClient, at: number, rings: readonly object[]): Promise<void> {
  const time = new Date(at).toISOString();
  const entries = rings.map((ring) => ({ ...ring, time: time.slice(11, 19) }));
  const { id: ringListId } = await api.post<{ id: string }>("/ring-lists", { name: "All at once", entries });
  const days = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
  const span = { startDate: time.slice(0, 10), endDate: time.slice(0, 10), timeZone: "Etc/UTC", numWeeks: 1 };
  await api.post("/bell-schedules", { name: "All at once", ...span, bellScheduleEntries: days });
}

/** Subjects of the bells that never sounded, since their zone was left to something else: the ledger says so. */
async function notSounded(api: ApiClient): Promise<string[]> {
  const sent = await listAll<{ id: string; subject: string }>(api, "/notifications");
  const skipped = await Promise.all(
    sent.map(async ({ id, subject }) => {
      const [line] = await listAll<{ level: string }>(api, `/notifications/${id}/devices`);
      return line?.level === "skipped" ? [subject] : [];
    }),
  );
  return skipped.flat().sort();
}

import { yieldToEventLoop } from "../../lib/clock.ts";
import { DECLINED_REASON, declinableTemplatePk, filterDecliners } from "../../people/opt-outs.ts";
import type { StoreReader } from "../../store/store.ts";
import { prepareAudio } from "../compose/audio-rendering.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { iterateUsers } from "../recipients/recipient-writer.ts";
import { countLevels, readCounters } from "./counters.ts";
import { type PreviewedDevice, remoteProviderOf } from "./delivery-planner.ts";
import { iterateDevicePreviews } from "./device-previews.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";

/** Recipients and devices that a message would reach. */
export interface NotificationPreview {
  recipientCount: number;
  /** Recipients' devices by type. */
  userDevices: Record<string, number>;
  /** Devices that would be asked, by type. */
  devices: Record<string, number>;
  /** Devices that would not be asked, by reason. */
  notReached: { reason: string; count: number }[];
  /** Devices that would be asked and may not answer; the first 100 of them by name. */
  offline: { count: number; devices: { id: string; name: string; type: string; reason: string }[] };
  /** Devices that would be asked and that another message holds now. */
  inUse: number;
  /** Length of the audio; 0 without audio. */
  soundSeconds: number;
  /** From the send to the last report of a device, estimated from the past; null before the first broadcast. */
  expectedSeconds: number | null;
}

export type PreviewDeps = Pick<
  PipelineStageDeps,
  "store" | "clock" | "log" | "providers" | "audio" | "endpointId" | "memberships" | "activations"
>;

/** Rows handled per turn: some 2 ms. */
const CHUNK_SIZE = 500;
const MAX_NAMED = 100;
/** Past broadcasts considered, and how many of them, the nearest by number of devices, make the estimate. */
const PAST = 50;
const NEAREST = 5;

/** Previews a message with the code that sends one, in chunks, and stores the result with its row. */
export async function writePreview(row: NotificationRow, deps: PreviewDeps): Promise<void> {
  const preview = emptyPreview();
  await previewUsers(row, preview, deps);
  await previewDeviceGroups(row, preview, deps);
  const { renderedAudio } = await prepareAudio(row, deps);
  preview.soundSeconds = Math.round((renderedAudio?.durationMs ?? 0) / 100) / 10;
  preview.expectedSeconds = expectedSeconds(deps.store, {
    soundSeconds: preview.soundSeconds,
    devices: sum(Object.values(preview.devices)),
  });
  await deps.store.write((tx) => {
    tx.run(
      "INSERT OR REPLACE INTO notification_previews (notification, found) SELECT pk, ? FROM notifications WHERE id = ?",
      JSON.stringify(preview),
      row.id,
    );
  });
}

function emptyPreview(): NotificationPreview {
  return {
    recipientCount: 0,
    userDevices: {},
    devices: {},
    notReached: [],
    offline: { count: 0, devices: [] },
    inUse: 0,
    soundSeconds: 0,
    expectedSeconds: null,
  };
}

async function previewUsers(
  row: NotificationRow,
  preview: NotificationPreview,
  { store, clock }: PreviewDeps,
): Promise<void> {
  const template = declinableTemplatePk(store, row);
  for (const users of iterateUsers(store, row.pk, clock.now(), CHUNK_SIZE)) {
    const declined = template === null ? new Set<number>() : filterDecliners(store, template, users);
    const reached = users.filter((pk) => !declined.has(pk));
    preview.recipientCount += reached.length;
    for (const { type, n } of userDevicesOf(reached, store)) {
      preview.userDevices[type] = (preview.userDevices[type] ?? 0) + n;
    }
    for (const { n } of userDevicesOf([...declined], store)) addNotReached(preview, DECLINED_REASON, n);
    await yieldToEventLoop(clock);
  }
}

function userDevicesOf(users: readonly number[], reader: StoreReader): { type: string; n: number }[] {
  if (users.length === 0) return [];
  return reader.all<{ type: string; n: number }>(
    `SELECT type, count(*) AS n FROM user_devices
     WHERE user_pk IN (SELECT value FROM json_each(?)) AND disabled IS NOT 1 AND awaits_verification IS NOT 1 GROUP BY type`,
    JSON.stringify(users),
  );
}

function addNotReached(preview: NotificationPreview, reason: string, count: number): void {
  const known = preview.notReached.find((each) => each.reason === reason);
  if (known) known.count += count;
  else preview.notReached.push({ reason, count });
}

async function previewDeviceGroups(
  row: NotificationRow,
  preview: NotificationPreview,
  deps: PreviewDeps,
): Promise<void> {
  for await (const devices of iterateDevicePreviews(row, { carrier: remoteProviderOf(deps) }, deps))
    for (const device of devices) addDevice(device, preview);
}

function addDevice({ id, name, type, problem, doubt, busy }: PreviewedDevice, preview: NotificationPreview): void {
  if (problem !== null) {
    addNotReached(preview, problem, 1);
    return;
  }
  preview.devices[type] = (preview.devices[type] ?? 0) + 1;
  preview.inUse += busy;
  if (doubt === null) return;
  preview.offline.count++;
  if (preview.offline.devices.length < MAX_NAMED) preview.offline.devices.push({ id, name, type, reason: doubt });
}

/**
 * Expected duration of a message, from earlier ones, and actual duration, in seconds from the send to the last report
 * of a device; null where unknown: before the first broadcast, before its end, for one that was aborted or sent again.
 */
export function expectedAndActualSeconds(
  row: NotificationRow,
  reader: StoreReader,
): { expectedSeconds: number | null; tookSeconds: number | null } {
  const { pk, createdAt, settledAt, abortedAt, retriedAt, programmeMs } = row;
  const isWhole = settledAt !== null && abortedAt === null && retriedAt === null;
  const counts = readCounters(reader, [pk]);
  countLevels(reader, counts);
  const levels = [...(counts.get(pk) ?? [])].filter(([name]) => name.startsWith("level:"));
  const sent = {
    soundSeconds: Math.round((programmeMs ?? 0) / 100) / 10,
    devices: sum(levels.map(([, n]) => n)),
    before: pk,
  };
  return {
    expectedSeconds: expectedSeconds(reader, sent),
    tookSeconds: isWhole ? Math.round((settledAt - createdAt) / 100) / 10 : null,
  };
}

/**
 * The median time that broadcasts to about as many devices took beyond their audio, plus the audio of this one; ignores
 * those after the key `before`.
 */
function expectedSeconds(
  reader: StoreReader,
  sent: { soundSeconds: number; devices: number; before?: number },
): number | null {
  const past = reader.all<{ ms: number; devices: number }>(
    `SELECT settled_at - created_at - coalesce(programme_ms, 0) AS ms,
       (SELECT coalesce(sum(n), 0) FROM notification_counters
        WHERE notification = notifications.pk AND name LIKE 'level:%') AS devices
     FROM notifications
     WHERE stage = 'settled' AND settled_at IS NOT NULL AND aborted_at IS NULL AND retried_at IS NULL AND pk < ?
     ORDER BY pk DESC LIMIT ?`,
    sent.before ?? Number.MAX_SAFE_INTEGER,
    PAST,
  );
  // Ten devices are as far from a hundred as a hundred from a thousand.
  const distance = (devices: number): number => Math.abs(Math.log((devices + 1) / (sent.devices + 1)));
  const nearest = past.sort((a, b) => distance(a.devices) - distance(b.devices)).slice(0, NEAREST);
  const sorted = nearest.map(({ ms }) => Math.max(0, ms)).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  return middle === undefined ? null : Math.round(middle / 100 + sent.soundSeconds * 10) / 10;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

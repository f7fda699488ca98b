import { nextTurn } from "../base/clock.ts";
import type { Reader } from "../store/store.ts";
import type { NotificationRow } from "./compose.ts";
import { countLevels, readCounts } from "./counts.ts";
import { DECLINED, declinedTemplate, declinersAmong } from "./opt-outs.ts";
import { type ForeseenDevice, foreseeDevices, troublesOfProviders } from "./planning.ts";
import { prepareSound } from "./programme.ts";
import { eachUser, endpointKey } from "./recipients.ts";
import { devicesMeant } from "./single-devices.ts";
import type { StageNeeds } from "./stage.ts";

/** Who and what a message would reach. */
export interface Preview {
  recipientCount: number;
  /** Devices of recipients by type. */
  userDevices: Record<string, number>;
  /** Devices that would be called, by type. */
  devices: Record<string, number>;
  /** Devices to which nothing would be sent, by the reason. */
  notReached: { reason: string; count: number }[];
  /** Devices that would be called and may not answer; the first 100 of them by name. */
  offline: { count: number; devices: { id: string; name: string; type: string; reason: string }[] };
  /** Devices that would be called and that another message holds now. */
  inUse: number;
  /** Length of what would be heard; 0 without sound. */
  soundSeconds: number;
  /** From the send to the last word of a device, by the past; null before the first broadcast. */
  expectedSeconds: number | null;
}

/** What a preview needs. */
export type PreviewNeeds = Pick<
  StageNeeds,
  "store" | "clock" | "log" | "providers" | "audio" | "endpointId" | "memberships" | "activations"
>;

/** Rows looked at in one turn: some 2 ms. */
const PIECE = 500;
const MOST_NAMED = 100;
/** Broadcasts of the past that are looked at, and how many of them, the nearest by their devices, are the measure. own choice */
const PAST = 50;
const NEAREST = 5;

/** Foresees a message with the code that sends one, in slices, and keeps what it found with its row. */
export async function writePreview(row: NotificationRow, needs: PreviewNeeds): Promise<void> {
  const preview = emptyPreview();
  await foreseeUsers(row, preview, needs);
  await foreseeGroups(row, preview, needs);
  const { programme } = await prepareSound(row, needs);
  preview.soundSeconds = Math.round((programme?.durationMs ?? 0) / 100) / 10;
  preview.expectedSeconds = expectedSeconds(needs.store, {
    soundSeconds: preview.soundSeconds,
    devices: sum(Object.values(preview.devices)),
  });
  await needs.store.write((tx) => {
    tx.run(
      "INSERT OR REPLACE INTO broadcast_previews (notification, found) SELECT pk, ? FROM notifications WHERE id = ?",
      JSON.stringify(preview),
      row.id,
    );
  });
}

function emptyPreview(): Preview {
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

async function foreseeUsers(row: NotificationRow, preview: Preview, { store, clock }: PreviewNeeds): Promise<void> {
  const template = declinedTemplate(store, row);
  for (const users of eachUser(store, row.pk, clock.now(), PIECE)) {
    const declined = template === null ? new Set<number>() : declinersAmong(store, template, users);
    const reached = users.filter((pk) => !declined.has(pk));
    preview.recipientCount += reached.length;
    for (const { type, n } of userDevicesOf(reached, store)) {
      preview.userDevices[type] = (preview.userDevices[type] ?? 0) + n;
    }
    for (const { n } of userDevicesOf([...declined], store)) addNotReached(preview, DECLINED, n);
    await nextTurn(clock);
  }
}

function userDevicesOf(users: readonly number[], reader: Reader): { type: string; n: number }[] {
  if (users.length === 0) return [];
  return reader.all<{ type: string; n: number }>(
    `SELECT type, count(*) AS n FROM user_devices
     WHERE user_pk IN (SELECT value FROM json_each(?)) AND disabled IS NOT 1 GROUP BY type`,
    JSON.stringify(users),
  );
}

function addNotReached(preview: Preview, reason: string, count: number): void {
  const known = preview.notReached.find((each) => each.reason === reason);
  if (known) known.count += count;
  else preview.notReached.push({ reason, count });
}

async function foreseeGroups(row: NotificationRow, preview: Preview, needs: PreviewNeeds): Promise<void> {
  const { store, clock } = needs;
  const pks = await devicesMeant(row, needs);
  const ours = endpointKey(store, needs.endpointId());
  const troubles = troublesOfProviders(store, needs.providers, row);
  for (let at = 0; at < pks.length; at += PIECE) {
    const piece = pks.slice(at, at + PIECE);
    const elsewhere = await needs.activations.elsewhere(piece);
    for (const device of foreseeDevices(store, row, piece, { ours, troubles, elsewhere })) tell(device, preview);
    await nextTurn(clock);
  }
}

function tell({ id, name, type, words, doubt, busy }: ForeseenDevice, preview: Preview): void {
  if (words !== null) {
    addNotReached(preview, words, 1);
    return;
  }
  preview.devices[type] = (preview.devices[type] ?? 0) + 1;
  preview.inUse += busy;
  if (doubt === null) return;
  preview.offline.count++;
  if (preview.offline.devices.length < MOST_NAMED) preview.offline.devices.push({ id, name, type, reason: doubt });
}

/**
 * What a message was expected to take, by those before it, and what it took, in seconds from the send to the last word of
 * a device; null where that can't be told: before the first broadcast, before its end, for one that somebody ended or
 * sent again.
 */
export function foreseenAndFact(
  row: NotificationRow,
  reader: Reader,
): { expectedSeconds: number | null; tookSeconds: number | null } {
  const { pk, createdAt, settledAt, abortedAt, retriedAt, programmeMs } = row;
  const isWhole = settledAt !== null && abortedAt === null && retriedAt === null;
  const counts = readCounts(reader, [pk]);
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
 * The middle of what the broadcasts to about as many devices took beyond their sound, plus the sound of this one; those
 * after the key `before` are not looked at.
 */
function expectedSeconds(
  reader: Reader,
  sent: { soundSeconds: number; devices: number; before?: number },
): number | null {
  const past = reader.all<{ ms: number; devices: number }>(
    `SELECT settled_at - created_at - coalesce(programme_ms, 0) AS ms,
       (SELECT coalesce(sum(n), 0) FROM broadcast_counts
        WHERE notification = notifications.pk AND name LIKE 'level:%') AS devices
     FROM notifications
     WHERE stage = 'settled' AND settled_at IS NOT NULL AND aborted_at IS NULL AND retried_at IS NULL AND pk < ?
     ORDER BY pk DESC LIMIT ?`,
    sent.before ?? Number.MAX_SAFE_INTEGER,
    PAST,
  );
  // Ten devices beside a hundred are as far apart as a hundred beside a thousand.
  const distance = (devices: number): number => Math.abs(Math.log((devices + 1) / (sent.devices + 1)));
  const nearest = past.sort((a, b) => distance(a.devices) - distance(b.devices)).slice(0, NEAREST);
  const sorted = nearest.map(({ ms }) => Math.max(0, ms)).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  return middle === undefined ? null : Math.round(middle / 100 + sent.soundSeconds * 10) / 10;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

import type { StoreReader, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import type { DevicePlaybackReport } from "./delivery.ts";

/** Playback start of one device, as it reported. */
export interface DeviceStartTime {
  deviceId: string;
  deviceIdentifier: string;
  model: string | null;
  /** Epoch ms; null without a report. */
  startedAt: number | null;
  /** After the first packet was due; null where either is unknown. */
  afterMs: number | null;
  /** It joined after the first packet, at the position of the others: its start says nothing about its latency. */
  late: boolean;
  /** How often it was asked again because it had dropped the audio. */
  askedAgain: number;
}

/** Start skew of the devices of one model. */
export interface ModelSkew {
  model: string;
  devices: number;
  /** After the first packet was due. */
  medianMs: number;
  /** Between the first and the last of them. */
  spreadMs: number;
}

const WRITE = `INSERT INTO notification_device_starts (notification, delivery, model, started_at, asked_again)
  SELECT notification_pk, pk, ?, ?, coalesce(?, 0) FROM deliveries WHERE pk = ?
  ON CONFLICT (notification, delivery) DO UPDATE SET
    model = coalesce(model, excluded.model), started_at = coalesce(started_at, excluded.started_at),
    asked_again = max(asked_again, excluded.asked_again)`;

/** Stores a device's report; its first report of the start counts. */
export function recordDeviceReport(
  tx: Transaction,
  deliveryPk: number,
  { started, askedAgain }: DevicePlaybackReport,
): void {
  if (started === undefined && askedAgain === undefined) return;
  tx.run(WRITE, started?.model ?? null, started?.at ?? null, askedAgain ?? null, deliveryPk);
}

const WRITE_MATCH = "UPDATE deliveries SET match_p_value = ?, match_delay_ms = ?, match_level_db = ? WHERE pk = ?";

/** Stores what a device's microphone recorded. */
export function recordMatch(
  tx: Transaction,
  deliveryPk: number,
  { pValue, delayMs, levelDb }: NonNullable<DevicePlaybackReport["match"]>,
): void {
  tx.run(WRITE_MATCH, pValue, delayMs, levelDb, deliveryPk);
}

/** Maximum number of devices returned. */
const MAX_DEVICES = 5_000;

const FOUND = `SELECT d.id AS deviceId, d.device_identifier AS deviceIdentifier, s.model, s.started_at AS startedAt,
    s.asked_again AS askedAgain, l.accepted_at AS acceptedAt
  FROM notification_device_starts s JOIN deliveries l ON l.pk = s.delivery JOIN devices d ON d.pk = l.device_pk
  WHERE s.notification = ? ORDER BY s.started_at IS NULL, s.started_at, d.device_identifier LIMIT ${MAX_DEVICES}`;

/** Playback starts of a message's devices, the earliest first; at most 5,000. */
export function deviceStartTimes(
  { pk, t0 }: Pick<NotificationRow, "pk" | "t0">,
  reader: StoreReader,
): DeviceStartTime[] {
  type Found = Omit<DeviceStartTime, "afterMs" | "late"> & { acceptedAt: number | null };
  return reader.all<Found & Record<string, string | number | null>>(FOUND, pk).map(({ acceptedAt, ...found }) => ({
    ...found,
    late: t0 !== null && acceptedAt !== null && acceptedAt > t0,
    afterMs: found.startedAt === null || t0 === null ? null : Math.round((found.startedAt - t0) * 10) / 10,
  }));
}

/** The same by model, the slowest first; without late joiners. */
export function startSkewByModel(starts: readonly DeviceStartTime[]): ModelSkew[] {
  const models = new Map<string, number[]>();
  for (const { model, afterMs, late } of starts)
    if (model !== null && afterMs !== null && !late) models.set(model, [...(models.get(model) ?? []), afterMs]);
  return [...models]
    .map(([model, found]) => {
      const sorted = found.sort((a, b) => a - b);
      const [first = 0, last = 0] = [sorted[0], sorted.at(-1)];
      const medianMs = sorted[Math.floor(sorted.length / 2)] ?? 0;
      return { model, devices: sorted.length, medianMs, spreadMs: Math.round((last - first) * 10) / 10 };
    })
    .sort((a, b) => b.medianMs - a.medianMs || (a.model < b.model ? -1 : 1));
}

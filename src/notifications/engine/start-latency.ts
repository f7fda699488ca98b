import type { StoreReader, Transaction } from "../../store/store.ts";

/** Start latency of one model after the first packet, without a start offset. */
export interface ModelStartLatency {
  model: string;
  /** Number of reports it is computed from, the newest ones of the model. */
  reports: number;
  /** Their median: a few faulty devices do not move it. */
  medianMs: number;
  /** Range of nine tenths of them. */
  spreadMs: number;
  /** Start offset of the model, so that it plays together with slower ones. */
  holdMs: number;
  /** Epoch ms of the newest report. */
  measuredAt: number;
}

/** A device's report of its playback start. */
export interface DeviceStartReport {
  deliveryPk: number;
  model: string;
  /** Epoch ms. */
  at: number;
  /** Start offset it was given, ms. */
  heldMs: number;
}

/** Reports kept per model. */
const MAX_REPORTS = 255;
/** With fewer reports a model does not delay others. */
const MIN_REPORTS = 5;
/** A later start is a late joiner, an earlier one a clock that is off. */
const PLAUSIBLE_LATENCY_MS = { from: -100, to: 3_000 };
/** Maximum start offset: a model that is slower still is heard after the others. */
const MAX_START_OFFSET_MS = 500;

const T0 = `SELECT n.t0 FROM deliveries l JOIN notifications n ON n.pk = l.notification_pk
  WHERE l.pk = ? AND n.t0 IS NOT NULL AND coalesce(l.accepted_at, 0) <= n.t0`;
const WRITE = `INSERT INTO model_start_latencies (model, reports, median_ms, spread_ms, measured_at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (model) DO UPDATE SET reports = excluded.reports, median_ms = excluded.median_ms,
    spread_ms = excluded.spread_ms, measured_at = excluded.measured_at`;

/**
 * Learns from devices that reported their start, in the transaction that writes the reports; late joiners are ignored.
 */
export function recordStartReports(tx: Transaction, reports: readonly DeviceStartReport[], now: number): void {
  const byModel = new Map<string, number[]>();
  for (const { deliveryPk, model, at, heldMs } of reports) {
    const t0 = tx.one<{ t0: number }>(T0, deliveryPk)?.t0;
    const delayMs = t0 === undefined ? Number.NaN : at - t0 - heldMs;
    if (!(delayMs >= PLAUSIBLE_LATENCY_MS.from && delayMs <= PLAUSIBLE_LATENCY_MS.to)) continue;
    byModel.set(model, [...(byModel.get(model) ?? []), Math.round(delayMs * 10) / 10]);
  }
  for (const [model, delays] of byModel) {
    const before = tx.one<{ reports: string }>("SELECT reports FROM model_start_latencies WHERE model = ?", model);
    const known = [...((JSON.parse(before?.reports ?? "[]") as number[]) ?? []), ...delays].slice(-MAX_REPORTS);
    const sorted = known.toSorted((a, b) => a - b);
    const spreadMs = percentile(sorted, 0.95) - percentile(sorted, 0.05);
    tx.run(WRITE, model, JSON.stringify(known), percentile(sorted, 0.5), Math.round(spreadMs * 10) / 10, now);
  }
}

function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

const READ = `SELECT model, json_array_length(reports) AS reports, median_ms AS medianMs, spread_ms AS spreadMs,
    measured_at AS measuredAt FROM model_start_latencies ORDER BY median_ms DESC, model`;

/** Start latency of all models, the slowest first. */
export function startLatencies(reader: StoreReader): ModelStartLatency[] {
  const known = reader.all<Omit<ModelStartLatency, "holdMs"> & Record<string, string | number | null>>(READ);
  const sure = known.filter(({ reports }) => reports >= MIN_REPORTS).map(({ medianMs }) => medianMs);
  const fastest = Math.min(...sure);
  const slowest = Math.max(...sure.filter((medianMs) => medianMs <= fastest + MAX_START_OFFSET_MS));
  return known.map((each) => {
    const waits = each.reports >= MIN_REPORTS && each.medianMs < slowest;
    return { ...each, holdMs: waits ? Math.round(slowest - each.medianMs) : 0 };
  });
}

/** Start offset by model, ms; models without one are absent. */
export function startOffsetsByModel(reader: StoreReader): ReadonlyMap<string, number> {
  const held = startLatencies(reader).filter(({ holdMs }) => holdMs > 0);
  return new Map(held.map(({ model, holdMs }) => [model, holdMs]));
}

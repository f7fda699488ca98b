import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import { within } from "../../lib/waits.ts";
import type { FilterCandidate } from "../../plugin-api/index.ts";
import type { StoreReader, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { type WriteLane, writeInChunks } from "./chunked-writes.ts";
import type { DeviceFilters } from "./delivery-providers.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";
import { recordUnreachedChannels } from "./unreached-channels.ts";

/** Devices of one request. */
const REQUEST_DEVICES = 2_000;
/** Time limit of a filter for all devices of a message. */
const TIME_LIMIT_MS = 2_000;
const EMERGENCY = 0;

/** True where a filter is asked about the message. Emergencies reach everybody. */
export function isFiltered(row: NotificationRow, { filters }: Pick<PipelineStageDeps, "filters">): boolean {
  return row.priorityLevel !== EMERGENCY && filters !== undefined && filters.names().length > 0;
}

/**
 * Ends the planned deliveries that filters leave out as skipped; `deferred` ones are those of users that are written
 * while devices already ring. A filter that fails, or is late, leaves out nothing. May be repeated.
 * @source docs/decisions/0508-filters-reports-and-devices-of-extensions.md
 */
export async function filterDeliveries(
  row: NotificationRow,
  deps: PipelineStageDeps,
  lane: WriteLane,
  { deferred = false }: { deferred?: boolean } = {},
): Promise<void> {
  const { filters } = deps;
  if (!filters || !isFiltered(row, deps)) return;
  await Promise.all(filters.names().map((name) => applyFilter(name, filters, row, { deps, lane, deferred })));
}

interface FilterRun {
  deps: PipelineStageDeps;
  lane: WriteLane;
  deferred: boolean;
}

async function applyFilter(name: string, filters: DeviceFilters, row: NotificationRow, run: FilterRun): Promise<void> {
  const { deps, lane } = run;
  const { clock, signal } = deps;
  const found = await within(clock, collectExcluded(name, filters, row, run), { timeoutMs: TIME_LIMIT_MS, signal });
  signal.throwIfAborted();
  const result = found?.value ?? { problem: sentence("filter.late", { seconds: TIME_LIMIT_MS / 1_000 }) };
  if ("problem" in result) {
    const { problem } = result;
    deps.log.warn(
      { event: "filter.failed", plugin: name, notificationId: row.id, reason: problem },
      "Filter failed; the message goes to all its devices.",
    );
    await deps.store.write((tx) => recordUnreachedChannels(tx, row.id, new Map([[name, problem]]), deps), lane);
    return;
  }
  const { excluded, reason } = result;
  let done = 0;
  await writeInChunks(deps, lane, (tx, most) => {
    const piece = excluded.slice(done, done + most);
    skip(tx, piece, reasonOf(name, reason), clock.now());
    done += piece.length;
    return piece.length;
  });
}

/** Asks about all devices before anything is left out, so that a failure in between leaves out nothing. */
async function collectExcluded(
  name: string,
  filters: DeviceFilters,
  row: NotificationRow,
  { deps, deferred }: FilterRun,
): Promise<{ excluded: number[]; reason?: string } | { problem: Sentence }> {
  const excluded: number[] = [];
  let why: { reason?: string } = {};
  for (let after = 0; !deps.signal.aborted; ) {
    const page = readCandidates(deps.store, row.pk, { after, deferred });
    const last = page.at(-1);
    if (!last) break;
    after = last.pk;
    const outcome = await filters.ask(name, {
      notificationId: row.id,
      subject: row.subject ?? "",
      priority: row.priorityLevel ?? 5,
      drill: row.drill === true,
      candidates: page.map(({ pk: _pk, ...candidate }) => candidate),
    });
    if ("problem" in outcome) return outcome;
    const ids = new Set(outcome.excluded);
    for (const { pk, id } of page) if (ids.has(id)) excluded.push(pk);
    if (outcome.reason !== undefined) why = { reason: outcome.reason };
  }
  return { excluded, ...why };
}

type PlannedDevice = FilterCandidate & { pk: number };

function readCandidates(
  reader: StoreReader,
  notification: number,
  { after, deferred }: { after: number; deferred: boolean },
): PlannedDevice[] {
  return reader.all<PlannedDevice & Record<string, string | number | null>>(
    `SELECT l.pk, coalesce(d.id, ud.id, g.id) AS id, l.type, l.device_identifier AS deviceIdentifier, l.name,
       u.id AS userId
     FROM deliveries l LEFT JOIN devices d ON d.pk = l.device_pk LEFT JOIN user_devices ud ON ud.pk = l.user_device_pk
       LEFT JOIN collaboration_groups g ON g.pk = l.collaboration_group_pk LEFT JOIN users u ON u.pk = l.user_pk
     WHERE l.notification_pk = ? AND l.level = 'planned' AND l.ended_at IS NULL AND l.pk > ?
       AND (? OR l.user_device_pk IS NOT NULL) AND coalesce(d.id, ud.id, g.id) IS NOT NULL
     ORDER BY l.pk LIMIT ?`,
    notification,
    after,
    deferred ? 0 : 1,
    REQUEST_DEVICES,
  );
}

function reasonOf(plugin: string, reason: string | undefined): string {
  return reason === undefined || reason === ""
    ? sentence("delivery.filtered", { plugin })
    : sentence("delivery.filtered-because", { plugin, reason });
}

function skip(tx: Transaction, deliveries: readonly number[], reason: string, now: number): void {
  tx.run(
    `UPDATE deliveries SET level = 'skipped', reason = ?, ended_at = ?, updated_at = ?
     WHERE pk IN (SELECT value FROM json_each(?)) AND level = 'planned' AND ended_at IS NULL`,
    reason,
    now,
    now,
    JSON.stringify(deliveries),
  );
}

import bellSchedules from "../resources/bells/bell-schedules.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import { tableName } from "../schema/catalogue.ts";
import type { RowVisibility, StoreReader } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";
import type { OpenState } from "./ring-repository.ts";

/** A bell that rings soon, with the names of its schedule and template. */
export interface UpcomingRing {
  id: string;
  /** Epoch ms. */
  at: number;
  localDate: string;
  localTime: string;
  bellSchedule: { id: string; name: string };
  ringListId: string | null;
  entryId: string;
  messageTemplateId: string;
  /** Null if the caller may not read it. */
  messageTemplate: { id: string; name: string } | null;
  state: Exclude<OpenState, "withdrawn">;
}

type UpcomingRingRow = Omit<UpcomingRing, "bellSchedule" | "messageTemplate"> & {
  scheduleId: string;
  scheduleName: string;
};

/**
 * Upcoming bells of the visible schedules after an instant, earliest first, up to the planning horizon (at least two days).
 */
export function listUpcomingRings(
  reader: StoreReader,
  visibility: RowVisibility,
  after: number,
  limit: number,
): UpcomingRing[] {
  const { sql, params } = buildVisibilitySql(visibility.visible(bellSchedules));
  const found = reader.all<UpcomingRingRow>(
    `SELECT r.id, r.at, r.local_date AS localDate, r.local_time AS localTime, r.ring_list AS ringListId,
       r.entry AS entryId, r.template AS messageTemplateId, r.state, t.id AS scheduleId, t.name AS scheduleName
     FROM bell_rings r CROSS JOIN ${tableName(bellSchedules)} t ON t.id = r.owner
     WHERE r.open = 1 AND r.at > ? AND r.kind = 'bell' AND r.state <> 'withdrawn' AND ${sql}
     ORDER BY r.at, r.id LIMIT ?`,
    after,
    ...params,
    limit,
  );
  const names = new Map<string, UpcomingRing["messageTemplate"]>();
  for (const { messageTemplateId: id } of found) {
    const template = names.has(id) ? null : reader.get(messageTemplates, id, visibility);
    if (!names.has(id)) names.set(id, template && { id, name: template.name });
  }
  return found.map(({ scheduleId, scheduleName, ...ring }) => ({
    ...ring,
    bellSchedule: { id: scheduleId, name: scheduleName },
    messageTemplate: names.get(ring.messageTemplateId) ?? null,
  }));
}

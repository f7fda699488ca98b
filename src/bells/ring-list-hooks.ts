import type { Clock } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import {
  type BellScheduleException,
  RING_LIST_ENTRY_FIELDS,
  type RingListEntry,
} from "../resources/bells/bell-fields.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import type ringLists from "../resources/bells/ring-lists.ts";
import deviceGroups from "../resources/devices/device-groups.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import { parseNestedItems } from "../schema/nested-items.ts";
import type { RowOf } from "../schema/resource.ts";
import { compileValidator } from "../schema/validator.ts";
import { assertReferencesVisible, collectReferences, readNamedRows } from "../store/element-references.ts";
import type { ActorContext, ResourceHooks, StoreReader, Transaction } from "../store/store.ts";
import {
  cycleEntriesOf,
  saveExceptions,
  scheduleExceptionsOf,
  withSupersededExceptions,
} from "./bell-schedule-hooks.ts";
import { formatSecondOfDay, parseSecondOfDay } from "./local-time.ts";

type RingList = RowOf<typeof ringLists>;

const FIELD = "entries";
/** @source docs/decisions/0200-bell-engine-limits.md, Limits */
const MAX_ENTRIES = 500;
const REFERENCES = {
  messageTemplateId: { resource: messageTemplates, kept: "messageTemplateIds" },
  deviceGroupIds: { resource: deviceGroups, kept: "deviceGroupIds" },
  distributionListIds: { resource: distributionLists, kept: "distributionListIds" },
} as const;
const checker = compileValidator(RING_LIST_ENTRY_FIELDS);

/** Validates the entries of a ring list; past exceptions do not block its deletion. @source docs/decisions/0009-ring-lists-and-bell-schedules.md, Ring list */
export function ringListHooks(clock: Clock): ResourceHooks<typeof ringLists> {
  return {
    beforeWrite({ op, before, after, given }, tx, by) {
      if (op === "delete" && before) dropPastExceptions(before, tx, by, clock.now());
      if (!after || !(op === "create" || given.has(FIELD))) return;
      const entries = parseEntries(after.entries ?? [], (before?.entries ?? []) as RingListEntry[]);
      assertReferencesVisible(entries, REFERENCES, { field: FIELD, before, reader: tx, by });
      Object.assign(after, { entries, ...collectReferences(entries, REFERENCES) });
    },
    present: (rows, { reader }) => serializeEntries(rows, reader),
  };
}

/** Exceptions that are over in every time zone are deleted with the last ring list that they use. */
function dropPastExceptions({ id, pk }: RingList, tx: Transaction, by: ActorContext, now: number): void {
  const over = new Date(now - 2 * DAY_MS).toISOString().slice(0, 10);
  const keys = tx.all<{ pk: number }>("SELECT owner AS pk FROM bell_schedules__ring_list_ids WHERE target = ?", pk);
  const rows = tx.getByPks(
    bellSchedules,
    keys.map((key) => key.pk),
  );
  for (const row of rows) {
    const uses = (exception: BellScheduleException): boolean =>
      withSupersededExceptions(exception).some(({ ringListId }) => ringListId === id);
    const kept = scheduleExceptionsOf(row).filter((exception) => exception.endDate > over || !uses(exception));
    if (cycleEntriesOf(row).some(({ ringListId }) => ringListId === id) || kept.some(uses)) continue;
    saveExceptions(row, kept, tx, by);
  }
}

/** Parses the entries, sorted by time. Throws CallerError. */
function parseEntries(input: unknown, before: readonly RingListEntry[]): RingListEntry[] {
  const parts = parseNestedItems<RingListEntry>(preserveEntryIds(input, before), {
    field: FIELD,
    most: MAX_ENTRIES,
    checker,
  });
  const entries = parts.map((part, at) => {
    const seconds = parseSecondOfDay(part.time);
    if (seconds === null)
      throw invalidValue(`${FIELD}[${at}].time`, sentence("field.must-be-a-time-of-day-such-as-07-45-00"));
    return { ...part, time: formatSecondOfDay(seconds) };
  });
  return entries.sort((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0));
}

/** An entry without an id keeps the id of the stored entry with the same time and template, else with the same time. */
function preserveEntryIds(input: unknown, before: readonly RingListEntry[]): unknown {
  if (!Array.isArray(input) || before.length === 0) return input;
  const given = input.map((each: unknown) => (isObject(each) ? each : {}));
  const free = new Map(before.map((entry) => [entry.id, entry]));
  for (const { id } of given) if (typeof id === "string") free.delete(id.toLowerCase());
  const take = (fits: (entry: RingListEntry) => boolean): string | undefined => {
    const found = [...free.values()].find(fits);
    if (found) free.delete(found.id);
    return found?.id;
  };
  const sameTime = (each: Element, entry: RingListEntry) =>
    typeof each.time === "string" && parseSecondOfDay(each.time) === parseSecondOfDay(entry.time);
  const sameRing = (each: Element, entry: RingListEntry) =>
    sameTime(each, entry) && (each.messageTemplateId ?? each["message-template-id"]) === entry.messageTemplateId;
  const ids = given.map((each) => (each.id === undefined ? take((entry) => sameRing(each, entry)) : undefined));
  return input.map((each: unknown, at) => {
    const element = given[at] as Element;
    if (!isObject(each) || element.id !== undefined) return each;
    const id = ids[at] ?? take((entry) => sameTime(element, entry));
    return id === undefined ? each : { ...each, id };
  });
}

type Element = Record<string, unknown>;

function isObject(value: unknown): value is Element {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The entries of a page of lists with the names of their references, in three queries. References that the caller may not read are omitted. */
function serializeEntries(rows: readonly RingList[], reader: StoreReader): { entries: object[] }[] {
  const names = (resource: Parameters<typeof readNamedRows>[1], field: keyof RingList) =>
    readNamedRows(
      reader,
      resource,
      rows.flatMap((row) => row[field] as string[]),
    );
  const templates = names(messageTemplates, "messageTemplateIds");
  const groups = names(deviceGroups, "deviceGroupIds");
  const lists = names(distributionLists, "distributionListIds");
  return rows.map((row) => ({
    entries: (row.entries as RingListEntry[]).map((entry) => {
      const deviceGroupIds = entry.deviceGroupIds.filter((id) => row.deviceGroupIds.includes(id));
      const distributionListIds = entry.distributionListIds.filter((id) => row.distributionListIds.includes(id));
      const seen = row.messageTemplateIds.includes(entry.messageTemplateId);
      return {
        ...entry,
        messageTemplateId: seen ? entry.messageTemplateId : null,
        messageTemplate: (seen && templates.get(entry.messageTemplateId)) || null,
        deviceGroupIds,
        deviceGroups: deviceGroupIds.flatMap((id) => groups.get(id) ?? []),
        distributionListIds,
        distributionLists: distributionListIds.flatMap((id) => lists.get(id) ?? []),
      };
    }),
  }));
}

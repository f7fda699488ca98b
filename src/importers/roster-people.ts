import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SourceList, SourceMessage, SourcePerson } from "./load-source.ts";
import { foldName } from "./record-reader.ts";
import type { RosterRecord } from "./roster-files.ts";
import type { RosterRecords } from "./roster-state.ts";

/** Local days of the appliance. */
export interface LocalDays {
  /** Today as `YYYY-MM-DD`. */
  today: string;
  /** The instant at which a day ends, epoch ms. */
  endOf(day: string): number;
}

/** All records of a roster by file. */
export type Roster = Readonly<Record<string, RosterRecords>>;

/** Records resolved per turn of the event loop: about 1 ms. */
const RECORDS_PER_TURN = 1_000;
/** Names compared per turn: about 1 ms. */
const NAMES_PER_TURN = 500;
/** Longest name of a list, as in the declaration of distribution lists. */
const MAX_LIST_NAME = 140;

/** Key of the list of a school or class; sourced ids are unique per file only. */
const listKey = (kind: "org" | "class", id: string): string => `${kind}:${id}`;

/**
 * People, each with the lists of their schools and classes as of today. A membership ends with the enrolment or with the last
 * day of the class's term; both days belong to it. @source docs/decisions/0541-rosters.md
 */
export async function resolveRoster(
  roster: Roster,
  days: LocalDays,
  warn: (message: SourceMessage) => void,
  clock: Pick<Clock, "defer">,
): Promise<{ people: SourcePerson[]; lists: Map<string, SourceList> }> {
  const lists = await nameLists(roster, clock);
  const memberships = new Map<string, Map<string, number | null>>();
  const add = (user: string, list: string, lastDay: string | null): void => {
    const own = memberships.get(user) ?? new Map<string, number | null>();
    memberships.set(user, own);
    const end = lastDay === null ? null : days.endOf(lastDay);
    const known = own.get(list);
    if (known === undefined) own.set(list, end);
    else if (known !== null) own.set(list, end === null ? null : Math.max(known, end));
  };
  const unknown = (file: string, line: number, column: string, id: string): void => {
    const message = sentence("upload.the-line-is-skipped-column-id-is-not-in-the", { column, id: id.slice(0, 80) });
    if (line > 0) warn({ file: `${file}.csv`, line, column, message });
  };
  const termsOf = terms(roster, days);
  let resolved = 0;
  for (const { line, record } of roster.enrollments?.values() ?? []) {
    if (++resolved % RECORDS_PER_TURN === 0) await yieldToEventLoop(clock);
    const { classSourcedId: taught = "", userSourcedId: user = "" } = record;
    const found = roster.classes?.get(taught);
    if (!found) unknown("enrollments", line, "classSourcedId", taught);
    else if (!roster.users?.has(user)) unknown("enrollments", line, "userSourcedId", user);
    else if (isCurrent(record.beginDate, record.endDate, days)) {
      const term = termsOf(found.record);
      if (term.isCurrent) add(user, listKey("class", taught), earlier(record.endDate ?? null, term.lastDay));
    }
  }
  for (const { line, record } of roster.roles?.values() ?? []) {
    if (++resolved % RECORDS_PER_TURN === 0) await yieldToEventLoop(clock);
    const { userSourcedId: user = "", orgSourcedId: org = "" } = record;
    if (!roster.orgs?.has(org)) unknown("roles", line, "orgSourcedId", org);
    else if (!roster.users?.has(user)) unknown("roles", line, "userSourcedId", user);
    else if (isCurrent(record.beginDate, record.endDate, days)) add(user, listKey("org", org), record.endDate ?? null);
  }
  const rolesOf = new Map<string, string>();
  for (const { record } of roster.roles?.values() ?? []) {
    if (++resolved % RECORDS_PER_TURN === 0) await yieldToEventLoop(clock);
    const { userSourcedId: user = "", role = "" } = record;
    // Who is anything beside a student is none.
    if (!rolesOf.has(user) || role.toLowerCase() !== "student") rolesOf.set(user, role);
  }
  const people: SourcePerson[] = [];
  for (const [key, { line, record }] of roster.users ?? []) {
    if (++resolved % RECORDS_PER_TURN === 0) await yieldToEventLoop(clock);
    const orgs = [...splitIds(record.orgSourcedIds), ...splitIds(record.primaryOrgSourcedId)];
    for (const org of orgs) {
      if (roster.orgs?.has(org)) add(key, listKey("org", org), null);
      else if (roster.orgs?.size) unknown("users", line, "orgSourcedIds", org);
    }
    const given = record.preferredGivenName ?? record.givenName ?? "";
    const family = record.preferredFamilyName ?? record.familyName ?? "";
    const { email = null, sms = null, phone = null, username = "" } = record;
    people.push({
      ...{ file: "users.csv", line, key, email, sms, phone, name: `${given} ${family}`.trim() || username },
      isStudent: (rolesOf.get(key) ?? record.role ?? "").toLowerCase() === "student",
      memberships: memberships.get(key) ?? new Map(),
    });
  }
  return { people, lists };
}

function splitIds(text: string | undefined): string[] {
  return (text ?? "")
    .split(/[,;]/)
    .map((id) => id.trim())
    .filter((id) => id !== "");
}

function isCurrent(begin: string | undefined, end: string | undefined, { today }: LocalDays): boolean {
  return (begin === undefined || begin <= today) && (end === undefined || today <= end);
}

function earlier(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}

/** Whether a class meets today, and the last day of its term; a class without known terms always does. */
function terms(
  roster: Roster,
  days: LocalDays,
): (record: RosterRecord) => { isCurrent: boolean; lastDay: string | null } {
  return ({ termSourcedIds }) => {
    const known = splitIds(termSourcedIds).flatMap((id): RosterRecord[] => {
      const session = roster.academicSessions?.get(id);
      return session ? [session.record] : [];
    });
    if (known.length === 0) return { isCurrent: true, lastDay: null };
    const current = known.filter(({ startDate, endDate }) => isCurrent(startDate, endDate, days));
    const lastDays = current.map(({ endDate }) => endDate ?? "").sort();
    // A term without an end outlasts the others.
    const lastDay = lastDays[0] === "" ? null : (lastDays.at(-1) ?? null);
    return { isCurrent: current.length > 0, lastDay };
  };
}

/**
 * Names of the lists of schools and classes: the title; where several have it, with the school, then with the term, then with
 * code or id. Names are compared by `foldName`.
 */
async function nameLists(roster: Roster, clock: Pick<Clock, "defer">): Promise<Map<string, SourceList>> {
  interface Draft extends Omit<SourceList, "name" | "formerKey"> {
    title: string;
    details: readonly string[];
  }
  const drafts: Draft[] = [];
  let seen = 0;
  const rest = async (): Promise<void> => {
    if (++seen % NAMES_PER_TURN === 0) await yieldToEventLoop(clock);
  };
  for (const [id, { line, record }] of roster.orgs ?? []) {
    await rest();
    drafts.push({ key: listKey("org", id), title: record.name ?? id, details: [id], file: "orgs.csv", line });
  }
  for (const [id, { line, record }] of roster.classes ?? []) {
    await rest();
    const school = roster.orgs?.get(record.schoolSourcedId ?? "")?.record.name ?? "";
    const sessions = splitIds(record.termSourcedIds).flatMap(
      (term) => roster.academicSessions?.get(term)?.record.title ?? [],
    );
    const details = [school, sessions.join(", "), record.classCode ?? "", id];
    drafts.push({
      key: listKey("class", id),
      title: record.title ?? record.classCode ?? id,
      details,
      file: "classes.csv",
      line,
    });
  }
  const lists = new Map<string, SourceList>();
  const taken = new Set<string>();
  let open: { draft: Draft; used: string[] }[] = [];
  for (const draft of drafts) open.push({ draft, used: [] });
  for (let depth = 0; open.length > 0; depth++) {
    const named: { draft: Draft; used: string[]; name: string; folded: string }[] = [];
    const counts = new Map<string, number>();
    for (const { draft, used } of open) {
      await rest();
      const name = listName(draft.title, used);
      const folded = foldName(name);
      named.push({ draft, used, name, folded });
      counts.set(folded, (counts.get(folded) ?? 0) + 1);
    }
    open = [];
    for (const { draft, used, name, folded } of named) {
      await rest();
      const isLast = depth >= draft.details.length;
      if (!isLast && ((counts.get(folded) ?? 0) > 1 || taken.has(folded))) {
        const detail = draft.details[depth] ?? "";
        open.push({ draft, used: detail === "" ? used : [...used, detail] });
        continue;
      }
      taken.add(folded);
      const { key, title, file, line } = draft;
      lists.set(key, { key, name, formerKey: title, file, line });
    }
  }
  return lists;
}

/** Shortens the title, not what tells it from others. */
function listName(title: string, details: readonly string[]): string {
  const suffix = details.length === 0 ? "" : ` (${details.join(", ")})`.slice(0, MAX_LIST_NAME - 20);
  const letters = [...title];
  const room = MAX_LIST_NAME - [...suffix].length;
  return `${letters.length > room ? `${letters.slice(0, room - 1).join("")}…` : title}${suffix}`;
}

import { yieldToEventLoop } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import userDevices from "../resources/people/user-devices.ts";
import users from "../resources/people/users.ts";
import { createDryRun } from "../store/dry-run.ts";
import type { Sync, Transaction } from "../store/store.ts";
import { addWarning, collectError, inChunks, type LoadContext } from "./load-context.ts";
import { LoadAborted, type LoadSource, type SourceList, type SourcePerson } from "./load-source.ts";
import { applyLoadStep, type LoadStep, STEP_RESOURCES } from "./load-steps.ts";
import { foldName } from "./record-reader.ts";

/** Rows read per turn of the event loop. */
const READ_ROWS = 500;
/** Steps between two reports of progress. */
const PROGRESS_STEPS = 200;
/** A list that loses a single member is no sign of a damaged source. @source docs/decisions/0541-rosters.md */
const MIN_LOST_MEMBERS = 2;

/**
 * Plans a load of `source`: creates new rows in the batch of `loading` and adds the changes of others to its steps. Throws
 * LoadAborted if the source has too many errors, or the load would remove too much.
 */
export async function planLoad(loading: LoadContext, known: KnownRows, source: LoadSource): Promise<void> {
  const { progress, counts } = loading;
  counts.peopleRead = source.peopleCount;
  if (counts.linesWithErrors > 0) assertErrorThreshold(loading);
  if (source.peopleCount === 0) throw new LoadAborted("failed", sentence("load.no-person"));
  await progress("comparing", 0, source.peopleCount);
  const plan: Plan = { source, known, present: new Set(), lists: new Map(), lost: new Map(), removedLists: new Set() };
  await planLists(loading, plan);
  let planned = 0;
  for await (const people of source.people()) {
    await inChunks(loading, people, (tx, person) => planPerson(loading, plan, tx, person));
    planned += people.length;
    await progress("comparing", planned, source.peopleCount);
  }
  await planRemovals(loading, plan);
  assertErrorThreshold(loading);
  await assertRemovalThresholds(loading, plan);
  await dryRunSteps(loading);
  assertErrorThreshold(loading);
}

interface KnownUser {
  pk: number;
  id: string;
  name: string;
  email: string | null;
  load_key: string | null;
}

interface KnownList {
  pk: number;
  id: string;
  name: string;
  load_key: string | null;
  /** Name by the source at the last load; null for a list of an earlier release, or of a table. */
  load_name: string | null;
}

/** Rows of earlier loads of the source. */
export interface KnownRows {
  users: Map<string, KnownUser>;
  /** Users without a key, or with one that differs in case only. */
  surplusUsers: KnownUser[];
  lists: KnownList[];
}

interface Plan {
  source: LoadSource;
  known: KnownRows;
  /** Keys of known users that are in the source. */
  present: Set<string>;
  /** Ids of lists by key in the source. */
  lists: Map<string, string>;
  /** Memberships that end, by id of the list. */
  lost: Map<string, number>;
  removedLists: Set<string>;
}

/** Reads the rows of earlier loads. */
export async function readKnownRows(loading: LoadContext): Promise<KnownRows> {
  const known: KnownRows = { users: new Map(), surplusUsers: [], lists: [] };
  const keyOf = keyFolder(loading);
  for await (const user of rowsOf<KnownUser>(loading, "users", "pk, id, name, email, load_key")) {
    const key = user.load_key === null ? null : keyOf(user.load_key);
    if (key === null || known.users.has(key)) known.surplusUsers.push(user);
    else known.users.set(key, user);
  }
  for await (const list of rowsOf<KnownList>(loading, "distribution_lists", "pk, id, name, load_key, load_name")) {
    known.lists.push(list);
  }
  return known;
}

/** Keys of tables are texts that people write; sourced ids are compared exactly. */
function keyFolder({ definition }: LoadContext): (key: string) => string {
  return definition.type === "table" ? foldName : (key) => key;
}

async function* rowsOf<T extends { pk: number }>({ deps, definition }: LoadContext, table: string, columns: string) {
  const sql = `SELECT ${columns} FROM ${table} WHERE load_source_pk = ? AND pk > ? ORDER BY pk LIMIT ${READ_ROWS}`;
  for (let after = 0; ; ) {
    const rows = deps.store.all<T>(sql, definition.pk, after);
    yield* rows;
    const last = rows.at(-1);
    if (!last) return;
    after = last.pk;
    await yieldToEventLoop(deps.clock);
  }
}

/** Finds or creates the lists that people are on; adopts and renames known ones. */
async function planLists(loading: LoadContext, plan: Plan): Promise<void> {
  const { definition, by, counts, steps } = loading;
  const { source, known, lists } = plan;
  const isRoster = definition.type !== "table";
  const byKey = new Map<string, KnownList>();
  const former = new Map<string, KnownList>();
  for (const list of known.lists) {
    const { load_key: key, load_name: loadName } = list;
    const [target, folded] = isRoster && loadName !== null ? [byKey, key ?? ""] : [former, foldName(key ?? "")];
    if (!target.has(folded)) target.set(folded, list);
  }
  const find = ({ key, formerKey }: SourceList): KnownList | undefined => {
    const folded = foldName(formerKey ?? key);
    const found = byKey.get(key) ?? former.get(folded);
    if (found && !byKey.has(key)) former.delete(folded);
    return found;
  };
  await inChunks(loading, [...source.lists.values()], (tx, list) => {
    const found = find(list);
    if (!found && !list.isUsed) return;
    const system = { loadSourceId: definition.id, loadKey: list.key, loadName: isRoster ? list.name : null };
    collectError(loading, list, () => {
      lists.set(list.key, found?.id ?? tx.create(distributionLists, { name: list.name }, by, system).id);
      if (!found) counts.listsCreated++;
      else if (isRoster) steps.push(...relabel(found, list, system));
    });
  });
}

/** Adopts a list of an earlier release under its sourced id, and follows its name unless somebody else has changed it. */
function relabel(found: KnownList, list: SourceList, system: Record<string, unknown>): LoadStep[] {
  if (found.load_name === list.name && found.load_key === list.key) return [];
  const isUnchanged = found.name === (found.load_name ?? found.load_key);
  const input = isUnchanged && found.name !== list.name ? { name: list.name } : {};
  const { file, line } = list;
  return [{ resource: distributionLists.name, op: "update", id: found.id, input, system, file, line }];
}

function planPerson(loading: LoadContext, plan: Plan, tx: Transaction, person: SourcePerson): void {
  const { definition, by, counts, steps } = loading;
  const { key, email, file, line } = person;
  const name = person.name.normalize("NFC");
  const known = plan.known.users.get(key);
  if (known) plan.present.add(key);
  collectError(loading, person, () => {
    const login = loginAddress(tx, email, known?.id ?? null);
    const source = definition.type !== "table" ? "sis-loader" : "user-loader";
    const system = { loadSourceId: definition.id, loadKey: key, source } as const;
    const id = known?.id ?? tx.create(users, { name, email: login }, by, system).id;
    if (!known) counts.usersCreated++;
    else if (known.name !== name || foldName(known.email ?? "") !== foldName(login ?? "")) {
      counts.usersChanged++;
      steps.push({ resource: users.name, op: "update", id, input: { name, email: login }, file, line });
    }
    planDevices(loading, tx, person, { id, pk: known?.pk ?? null, isShared: login !== email });
    const wanted = new Map<string, number | null>();
    for (const [list, end] of person.memberships) {
      const listId = plan.lists.get(list);
      if (listId !== undefined) wanted.set(listId, end);
    }
    if (known) planSubscriptionChanges(loading, plan, tx, known.pk, wanted);
    for (const [distributionListId, end] of wanted) {
      const subscriptionEndDate = end === null ? null : new Date(end).toISOString();
      const input = { userId: id, distributionListId, subscriptionEndDate };
      tx.create(subscriptions, input, by, { loadSource: definition.id });
      counts.subscriptionsCreated++;
    }
  });
}

/** An address logs in one account; others that share it receive messages at it. */
function loginAddress(tx: Transaction, email: string | null, ownId: string | null): string | null {
  if (email === null) return null;
  const holder = tx.one<{ id: string }>("SELECT id FROM users WHERE email = ? COLLATE NOCASE", email);
  return holder && holder.id !== ownId ? null : email;
}

interface OwnDevice {
  id: string;
  type: string;
  address: string | null;
  source: string | null;
}

/** Registers shared addresses, and with `contactDevices` all addresses, as devices; devices of earlier loads follow. */
function planDevices(
  loading: LoadContext,
  tx: Transaction,
  { email, sms, phone, file, line }: SourcePerson,
  { id, pk, isShared }: { id: string; pk: number | null; isShared: boolean },
): void {
  const { definition, by, steps } = loading;
  const isAll = definition.contactDevices === true;
  const wanted: [type: string, address: string][] = [];
  if (email !== null && (isShared || isAll)) wanted.push(["email", email]);
  for (const [type, column, number] of [
    ["SMS", "sms", sms],
    ["phone-call", "phone", phone],
  ] as const) {
    if (!isAll || number === null) continue;
    const plain = number.replace(/[\s()./-]/g, "");
    if (/^\+?\d{3,15}$/.test(plain)) wanted.push([type, plain]);
    else
      addWarning(loading, {
        file,
        line,
        column,
        message: sentence("upload.the-cell-is-skipped-it-is-not-a-telephone-number"),
      });
  }
  const sql =
    "SELECT id, type, device_identifier AS address, load_source AS source FROM user_devices WHERE user_pk = ?";
  const own = pk === null ? [] : tx.all<OwnDevice>(sql, pk);
  const isSame = (device: OwnDevice, [type, address]: [string, string]): boolean =>
    foldName(device.type) === foldName(type) && foldName(device.address ?? "") === foldName(address);
  for (const device of own) {
    if (device.source !== definition.id || wanted.some((each) => isSame(device, each))) continue;
    steps.push({ resource: userDevices.name, op: "remove", id: device.id, input: null, file, line: 0 });
  }
  for (const each of wanted) {
    if (own.some((device) => isSame(device, each))) continue;
    const [type, deviceIdentifier] = each;
    try {
      const input = { userId: id, type, name: deviceIdentifier, deviceIdentifier };
      tx.create(userDevices, input, by, { loadSource: definition.id });
    } catch (error) {
      if ((error as { type?: string }).type !== "limit-exceeded") throw error;
      const message = sentence("upload.the-address-is-not-registered-reason", { reason: (error as Error).message });
      addWarning(loading, { file, line, column: type === "email" ? "email" : null, message });
    }
  }
}

/** Removes from `wanted` the lists that the user is on; plans changes and removals of this source's other memberships. */
function planSubscriptionChanges(
  { deps, definition, counts, steps }: LoadContext,
  { source, lost }: Plan,
  tx: Transaction,
  userPk: number,
  wanted: Map<string, number | null>,
): void {
  const own = tx.all<{ id: string; list: string; source: string | null; end: number | null }>(
    `SELECT s.id, l.id AS list, s.load_source AS source, s.subscription_end_date AS end
     FROM subscriptions s JOIN distribution_lists l ON l.pk = s.distribution_list_pk WHERE s.user_pk = ?`,
    userPk,
  );
  for (const { id, list, source: from, end } of own) {
    const isOwn = from === definition.id;
    const next = wanted.get(list);
    if (next !== undefined) {
      wanted.delete(list);
      if (!isOwn || next === end) continue;
      const input = { subscriptionEndDate: next === null ? null : new Date(next).toISOString() };
      steps.push({ resource: subscriptions.name, op: "update", id, input, file: null, line: 0 });
    } else if (isOwn && source.namesAllLists) {
      if (end === null || end > deps.clock.now()) lost.set(list, (lost.get(list) ?? 0) + 1);
      counts.subscriptionsRemoved++;
      steps.push({ resource: subscriptions.name, op: "remove", id, input: null, file: null, line: 0 });
    }
  }
}

/** Plans the removal of rows of this source that are no longer in it. */
async function planRemovals(
  loading: LoadContext,
  { source, known, present, lists, lost, removedLists }: Plan,
): Promise<void> {
  const { deps, definition, counts, steps } = loading;
  const removal = { op: "remove", input: null, file: null, line: 0 } as const;
  const gone: KnownUser[] = [];
  const slice = createTimeSlice(deps.clock);
  for (const [key, user] of known.users) {
    if (!present.has(key) && !source.keptPeople.has(key)) gone.push(user);
    if (slice.isOver()) await slice.next();
  }
  const memberships = `SELECT l.id AS list FROM subscriptions s JOIN distribution_lists l ON l.pk = s.distribution_list_pk
    WHERE s.user_pk = ? AND s.load_source = ? AND (s.subscription_end_date IS NULL OR s.subscription_end_date > ?)`;
  for (const { id, pk } of [...gone, ...known.surplusUsers]) {
    steps.push({ ...removal, resource: users.name, id });
    counts.usersRemoved++;
    for (const { list } of deps.store.all<{ list: string }>(memberships, pk, definition.id, deps.clock.now())) {
      lost.set(list, (lost.get(list) ?? 0) + 1);
    }
    if (slice.isOver()) await slice.next();
  }
  if (!source.namesAllLists) return;
  const kept = new Set(lists.values());
  for (const { id } of known.lists.filter((list) => !kept.has(list.id))) {
    steps.push({ ...removal, resource: distributionLists.name, id });
    counts.listsRemoved++;
    removedLists.add(id);
  }
}

function assertErrorThreshold({ definition, counts }: LoadContext): void {
  const { linesRead, linesWithErrors } = counts;
  const share = (100 * linesWithErrors) / Math.max(1, linesRead);
  const most = definition.errorThreshold ?? 0;
  if (linesWithErrors === 0 || share <= most) return;
  const figures = sentence("load.lines-with-errors", {
    count: linesWithErrors,
    lines: linesRead,
    percent: Math.round(share),
  });
  throw new LoadAborted("failed", sentence("load.over-limit", { figures, most }));
}

/** Shares of users, of all memberships and of the memberships of each list. */
async function assertRemovalThresholds(loading: LoadContext, { known, lost, removedLists }: Plan): Promise<void> {
  const { deps, definition, run, counts } = loading;
  if (run.confirmed) return;
  const stop = (figures: string): never => {
    throw new LoadAborted("stopped", sentence("load.would-remove", { figures }));
  };
  const percent = (part: number, whole: number): number => (whole === 0 ? 0 : (100 * part) / whole);
  const most = definition.removalThreshold ?? 0;
  const there = known.users.size + known.surplusUsers.length;
  if (percent(counts.usersRemoved, there) > most) {
    const share = Math.round(percent(counts.usersRemoved, there));
    stop(sentence("load.part-of-users", { percent: share, removed: counts.usersRemoved, total: there }));
  }
  const sql = `SELECT count(*) AS count FROM subscriptions WHERE distribution_list_pk = ? AND load_source = ?
    AND (subscription_end_date IS NULL OR subscription_end_date > ?)`;
  const perList: { name: string; ended: number; members: number }[] = [];
  for (const { id, pk, name } of known.lists) {
    const members = deps.store.one<{ count: number }>(sql, pk, definition.id, deps.clock.now())?.count ?? 0;
    perList.push({ name, members, ended: removedLists.has(id) ? members : (lost.get(id) ?? 0) });
    await yieldToEventLoop(deps.clock);
  }
  const sum = (of: "ended" | "members"): number => perList.reduce((total, each) => total + each[of], 0);
  const worst = perList
    .filter(({ ended, members }) => {
      const isMany = ended >= MIN_LOST_MEMBERS;
      return isMany && percent(ended, members) > (definition.listRemovalThreshold ?? 0);
    })
    .sort((a, b) => b.ended - a.ended);
  const [first] = worst;
  if (first) {
    const { name, ended: removed, members: total } = first;
    const share = { percent: Math.round(percent(removed, total)), name, removed, total };
    const more = worst.length - 1;
    stop(more > 0 ? sentence("load.part-of-lists", { ...share, more }) : sentence("load.part-of-list", { ...share }));
  }
  if (percent(sum("ended"), sum("members")) > most) {
    const share = Math.round(percent(sum("ended"), sum("members")));
    stop(sentence("load.part-of-memberships", { percent: share, removed: sum("ended"), total: sum("members") }));
  }
}

/** Counts of a run that a refused step makes smaller. */
const COUNT_OF: Readonly<Record<string, keyof LoadContext["counts"]>> = {
  "users update": "usersChanged",
  "users remove": "usersRemoved",
  "distribution-lists remove": "listsRemoved",
  "subscriptions remove": "subscriptionsRemoved",
};

/** Dry run of all steps: refused ones are reported and left out. */
async function dryRunSteps(loading: LoadContext): Promise<void> {
  const { deps, by, steps, counts, progress } = loading;
  const { store } = createDryRun(deps.store, () => null);
  const good: LoadStep[] = [];
  for (const [at, step] of steps.entries()) {
    deps.signal.throwIfAborted();
    if (at % PROGRESS_STEPS === 0) await progress("checking", at, steps.length);
    const target = STEP_RESOURCES.find(({ name }) => name === step.resource);
    if (!target) throw new BugError("Load step for an unknown resource.", { resource: step.resource });
    try {
      await store.write((tx) => applyLoadStep(tx, step, by) as Sync<void>);
      good.push(step);
    } catch (error) {
      const count = COUNT_OF[`${step.resource} ${step.op}`];
      if (count) counts[count] -= 1;
      collectError(loading, step, () => {
        throw error;
      });
    }
  }
  steps.length = 0;
  for (const step of good) steps.push(step);
}

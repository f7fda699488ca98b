import { buildProviderKey, type IdentityProviderRow } from "../auth/identity-providers.ts";
import { revokeAllTokens } from "../auth/sessions.ts";
import { yieldToEventLoop } from "../lib/clock.ts";
import { CallerError, invalidValue, UpstreamError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { syncUserGroups } from "../permissions/directory-group-members.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import applications from "../resources/security/applications.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";
import { MAX_GROUPS_PER_LOGIN, syncAccount, wouldLoseAllGroups } from "./account-provisioning.ts";
import type { ExternalIdentity, ProviderDeps } from "./provider.ts";
import type { IdentityProviders } from "./providers.ts";

/** Calls `work` at the times of a cron expression; the function returned ends it. */
type Schedule = (expression: string, work: () => void) => () => void;

/** What bringing users in line with their directories is made of. */
export interface DirectorySyncDeps extends Pick<ProviderDeps, "store" | "clock" | "signal"> {
  providers: IdentityProviders;
  events: Events;
  log: Log;
  by: ActorContext;
  schedule: Schedule;
}

/** Users follow their directories: names, addresses, groups; who is gone there has no session, token and group here. */
export interface DirectorySync {
  /**
   * Does it now, or joins the one under way; what came of it stands in the row. `anyway`: also where many have to go. Throws
   * UpstreamError where the directory can't be asked, CallerError `invalid-value` for a provider that is no directory.
   */
  run(row: IdentityProviderRow, anyway?: boolean): Promise<void>;
  /** Does it by the clock from now on. */
  start(): void;
  /** Resolves once none is under way. */
  stop(): Promise<void>;
}

/** Makes it. */
export function createDirectorySync(deps: DirectorySyncDeps): DirectorySync {
  const { store, clock, events, log, by, signal } = deps;
  const inProgress = new Map<string, Promise<void>>();
  let endings: (() => void)[] = [];
  let off: () => void = () => undefined;

  async function recordOutcome(row: IdentityProviderRow, outcome: SyncOutcome): Promise<void> {
    await store.write((tx) => {
      if (!tx.get(identityProviders, row.id)) return;
      const { code, inLine = null, gone = null, words } = outcome;
      const counts = { lastSyncOutcome: code, lastSyncInLine: inLine, lastSyncGone: gone };
      const result = { lastSyncAt: clock.now(), lastSyncResult: words.slice(0, 1_000), ...counts };
      tx.update(identityProviders, row.id, {}, by, result);
    });
  }

  async function runSync(row: IdentityProviderRow, anyway: boolean): Promise<void> {
    try {
      const outcome = await syncDirectory(row, anyway, deps);
      await recordOutcome(row, outcome);
      if (outcome.code === "held-back")
        log.warn({ providerId: row.id, gone: outcome.gone }, "a directory's word was held back");
    } catch (error) {
      if (error instanceof CallerError) throw error;
      await recordOutcome(row, {
        code: "failed",
        words: `Failed: ${error instanceof Error ? error.message : String(error)}`,
      });
      throw error;
    }
  }

  function run(row: IdentityProviderRow, anyway = false): Promise<void> {
    const known = inProgress.get(row.id);
    if (known !== undefined && !anyway) return known;
    const before = known?.catch(() => undefined) ?? Promise.resolve();
    const running = before
      .then(() => runSync(row, anyway))
      .finally(() => {
        if (inProgress.get(row.id) === running) inProgress.delete(row.id);
      });
    inProgress.set(row.id, running);
    return running;
  }

  function runScheduled(id: string): void {
    const row = store.get(identityProviders, id);
    if (!row || signal.aborted) return;
    run(row).catch((error: unknown) => log.warn({ err: error, providerId: id }, "a directory was not asked"));
  }

  function reschedule(): void {
    for (const end of endings) end();
    endings = store
      .find(identityProviders, { type: "ldap", enabled: true })
      .flatMap(({ id, syncSchedule }) => (syncSchedule ? [deps.schedule(syncSchedule, () => runScheduled(id))] : []));
  }

  return {
    run,
    start() {
      reschedule();
      off = events.on("row.changed", ({ resource }) => {
        if (resource === identityProviders.name) reschedule();
      });
    },
    async stop() {
      off();
      for (const end of endings) end();
      endings = [];
      await Promise.allSettled(inProgress.values());
    },
  };
}

/** What came of it. */
interface SyncOutcome {
  code: NonNullable<IdentityProviderRow["lastSyncOutcome"]>;
  inLine?: number;
  gone?: number;
  words: string;
}

/** People whom a directory may take out unasked: so many, or this part of all. own choice: more is more likely a wrong filter */
const REMOVAL_THRESHOLD = { people: 10, part: 0.2 };

async function syncDirectory(
  row: IdentityProviderRow,
  anyway: boolean,
  deps: DirectorySyncDeps,
): Promise<SyncOutcome> {
  const { store, clock, providers, by, signal } = deps;
  const { password } = providers.providerFor(row);
  if (!password) throw invalidValue("type", "Only a directory can be asked for others than who logs in.");
  const known = readKnownUsers(row, store);
  if (known.size === 0) return { code: "nobody-yet", words: "Nobody has logged in by it yet." };
  const [left, bare] = [new Map(known), [] as [userId: string, vouched: ExternalIdentity][]];
  for await (const vouched of password.findPeople(new Set(known.keys()))) {
    if (signal.aborted) throw new UpstreamError("upstream", "The appliance is ending.");
    const userId = left.get(vouched.subject);
    left.delete(vouched.subject);
    if (userId === undefined) continue;
    // Who loses all groups is judged with those who are gone, below.
    if (wouldLoseAllGroups(store, row, userId, vouched.groups)) bare.push([userId, vouched]);
    else await syncUser(row, userId, vouched, deps);
  }
  const gone: string[] = [];
  for (const userId of left.values()) {
    if (hasAccess(store, row, userId)) gone.push(userId);
    await yieldToEventLoop(clock);
  }
  const found = known.size - left.size;
  const taken = gone.length + bare.length;
  if (!anyway) {
    if (found === 0 && taken > 0)
      return { code: "none-found", gone: taken, words: "None of its users is found; nothing was changed." };
    if (taken > Math.max(REMOVAL_THRESHOLD.people, (found + gone.length) * REMOVAL_THRESHOLD.part)) {
      const words = `Held back: ${taken} people would have been taken out. Look at what is searched, or bring them in line anyway.`;
      return { code: "held-back", inLine: found - bare.length, gone: taken, words };
    }
  }
  for (const [userId, vouched] of bare) await syncUser(row, userId, vouched, deps);
  for (const userId of gone) await store.write((tx) => revokeAccess(tx, row, userId, by));
  return {
    code: "in-line",
    ...{ inLine: found, gone: taken },
    words: `Users in line: ${found}. No longer in the directory: ${gone.length}.`,
  };
}

/** Name, address and groups of one user, in slices. */
async function syncUser(
  row: IdentityProviderRow,
  userId: string,
  vouched: ExternalIdentity,
  deps: DirectorySyncDeps,
): Promise<void> {
  const { store, clock, by, signal } = deps;
  const writing = { by, now: clock.now(), makes: row.createsGroups ? MAX_GROUPS_PER_LOGIN : 0 };
  const once = (tx: Transaction): boolean => {
    const user = tx.get(users, userId);
    return user === null || syncAccount(tx, row, user, vouched, writing).isComplete;
  };
  while (!(await store.write(once))) if (signal.aborted) break;
}

/** Whether a user is in one of the directory's groups. */
function hasProviderGroup(reader: StoreReader, { id }: IdentityProviderRow, userId: string): boolean {
  const sql = `SELECT 1 AS n FROM scim_group_members m JOIN scim_groups g ON g.pk = m.scim_group_pk
    WHERE g.identity_provider_id = ? AND m.user_pk = (SELECT pk FROM users WHERE id = ?) LIMIT 1`;
  return reader.one(sql, id, userId) !== null;
}

/** Whether a user has something that ends with it: whoever was taken out before has not. */
function hasAccess(reader: StoreReader, row: IdentityProviderRow, userId: string): boolean {
  const isActedFor = reader.find(applications, { userId }, 1).length > 0;
  return hasProviderGroup(reader, row, userId) || isActedFor || reader.find(userTokens, { userId }, 1).length > 0;
}

/** Ids of the users whom the directory vouches for, by what it calls them. */
function readKnownUsers(row: IdentityProviderRow, store: DirectorySyncDeps["store"]): Map<string, string> {
  const prefix = buildProviderKey(row.id, "");
  const found = store.all<{ id: string; key: string }>(
    "SELECT id, provider_key AS key FROM users WHERE provider_key >= ? AND provider_key < ?",
    prefix,
    `${row.id}!`,
  );
  return new Map(found.map(({ id, key }) => [key.slice(prefix.length), id]));
}

function revokeAccess(tx: Transaction, row: IdentityProviderRow, userId: string, by: ActorContext): void {
  const user = tx.get(users, userId);
  if (!user) return;
  const groups = tx.all<{ id: string }>(
    `SELECT g.id FROM scim_groups g JOIN scim_group_members m ON m.scim_group_pk = g.pk
     WHERE g.identity_provider_id = ? AND m.user_pk = ?`,
    row.id,
    user.pk,
  );
  syncUserGroups(tx, userId, { wanted: [], among: groups.map(({ id }) => id) }, by);
  // Those for ever, too: nobody else would ever take them back.
  revokeAllTokens(tx, userId, by);
  // By its secret an application would get the next one.
  for (const { id } of tx.find(applications, { userId })) tx.update(applications, id, { userId: null }, by);
}

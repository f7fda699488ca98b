import { buildProviderKey, type IdentityProviderRow } from "../auth/identity-providers.ts";
import { revokeAllTokens } from "../auth/sessions.ts";
import { yieldToEventLoop } from "../lib/clock.ts";
import { CallerError, invalidValue, UpstreamError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import { syncUserGroups } from "../permissions/directory-group-members.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import applications from "../resources/security/applications.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";
import { hasProviderGroup, MAX_GROUPS_PER_LOGIN, syncAccount, wouldLoseAllGroups } from "./account-provisioning.ts";
import type { ExternalIdentity, ProviderDeps } from "./provider.ts";
import type { IdentityProviders } from "./providers.ts";

/** Runs `work` on a cron schedule; the returned function cancels it. */
type Schedule = (expression: string, work: () => void) => () => void;

/** Dependencies of the directory sync. */
export interface DirectorySyncDeps extends Pick<ProviderDeps, "store" | "clock" | "signal"> {
  providers: IdentityProviders;
  events: Events;
  log: Log;
  by: ActorContext;
  schedule: Schedule;
}

/**
 * Syncs users with their directories: names, addresses, groups. Users who are no longer in the directory lose their
 * sessions, tokens and groups.
 */
export interface DirectorySync {
  /**
   * Syncs now, or joins the running sync; the outcome is stored in the row. `force` skips the removal threshold. Throws
   * UpstreamError when the directory cannot be reached, CallerError `invalid-value` when the provider is not a
   * directory.
   */
  run(row: IdentityProviderRow, force?: boolean): Promise<void>;
  /** Starts the scheduled syncs. */
  start(): void;
  /** Cancels the schedules; resolves once no sync is running. */
  stop(): Promise<void>;
}

/** Creates the directory sync. */
export function createDirectorySync(deps: DirectorySyncDeps): DirectorySync {
  const { store, clock, events, log, by, signal } = deps;
  const inProgress = new Map<string, Promise<void>>();
  let cancels: (() => void)[] = [];
  let unsubscribe: () => void = () => undefined;

  async function recordOutcome(row: IdentityProviderRow, outcome: SyncOutcome): Promise<void> {
    await store.write((tx) => {
      if (!tx.get(identityProviders, row.id)) return;
      const { code, inLine = null, gone = null, message } = outcome;
      const counts = { lastSyncOutcome: code, lastSyncInLine: inLine, lastSyncGone: gone };
      const result = { lastSyncAt: clock.now(), lastSyncResult: message.slice(0, 1_000), ...counts };
      tx.update(identityProviders, row.id, {}, by, result);
    });
  }

  async function runSync(row: IdentityProviderRow, force: boolean): Promise<void> {
    try {
      const outcome = await syncDirectory(row, force, deps);
      await recordOutcome(row, outcome);
      if (outcome.code === "held-back")
        log.warn(
          { event: "sso.directory_sync_withheld", providerId: row.id, gone: outcome.gone },
          "directory sync result withheld: removal threshold exceeded",
        );
    } catch (error) {
      if (error instanceof CallerError) throw error;
      await recordOutcome(row, {
        code: "failed",
        message: sentence("directory-sync.failed", { reason: error instanceof Error ? error.message : String(error) }),
      });
      throw error;
    }
  }

  function run(row: IdentityProviderRow, force = false): Promise<void> {
    const known = inProgress.get(row.id);
    if (known !== undefined && !force) return known;
    const before = known?.catch(() => undefined) ?? Promise.resolve();
    const running = before
      .then(() => runSync(row, force))
      .finally(() => {
        if (inProgress.get(row.id) === running) inProgress.delete(row.id);
      });
    inProgress.set(row.id, running);
    return running;
  }

  function runScheduled(id: string): void {
    const row = store.get(identityProviders, id);
    if (!row || signal.aborted) return;
    run(row).catch((error: unknown) =>
      log.warn({ event: "sso.directory_sync_failed", err: error, providerId: id }, "directory sync failed"),
    );
  }

  function reschedule(): void {
    for (const cancel of cancels) cancel();
    cancels = store
      .find(identityProviders, { type: "ldap", enabled: true })
      .flatMap(({ id, syncSchedule }) => (syncSchedule ? [deps.schedule(syncSchedule, () => runScheduled(id))] : []));
  }

  return {
    run,
    start() {
      reschedule();
      unsubscribe = events.on("row.changed", ({ resource }) => {
        if (resource === identityProviders.name) reschedule();
      });
    },
    async stop() {
      unsubscribe();
      for (const cancel of cancels) cancel();
      cancels = [];
      await Promise.allSettled(inProgress.values());
    },
  };
}

/** Outcome of a sync. */
interface SyncOutcome {
  code: NonNullable<IdentityProviderRow["lastSyncOutcome"]>;
  inLine?: number;
  gone?: number;
  message: Sentence;
}

/**
 * Removal threshold: a sync that would remove more users than this number and this share of all users is withheld,
 * because a wrong filter is more likely.
 * @source docs/decisions/0402-identity-providers.md, Directory sync
 */
const REMOVAL_THRESHOLD = { users: 10, share: 0.2 };

async function syncDirectory(row: IdentityProviderRow, force: boolean, deps: DirectorySyncDeps): Promise<SyncOutcome> {
  const { store, clock, providers, by, signal } = deps;
  const { password } = providers.providerFor(row);
  if (!password) throw invalidValue("type", sentence("field.must-be-ldap-only-a-directory-can-be-synced"));
  const known = readKnownUsers(row, store);
  if (known.size === 0)
    return { code: "nobody-yet", message: sentence("login.no-user-has-logged-in-with-this-provider-yet") };
  const [missing, withoutGroups] = [new Map(known), [] as [userId: string, identity: ExternalIdentity][]];
  for await (const identity of password.findPeople(new Set(known.keys()))) {
    if (signal.aborted) throw new UpstreamError("upstream", sentence("login.the-appliance-is-shutting-down"));
    const userId = missing.get(identity.subject);
    missing.delete(identity.subject);
    if (userId === undefined) continue;
    // Users who would lose all groups count towards the removal threshold below.
    if (wouldLoseAllGroups(store, row, userId, identity.groups)) withoutGroups.push([userId, identity]);
    else await syncUser(row, userId, identity, deps);
  }
  const gone: string[] = [];
  for (const userId of missing.values()) {
    if (hasAccess(store, row, userId)) gone.push(userId);
    await yieldToEventLoop(clock);
  }
  const found = known.size - missing.size;
  const removals = gone.length + withoutGroups.length;
  if (!force) {
    if (found === 0 && removals > 0)
      return {
        code: "none-found",
        gone: removals,
        message: sentence("login.none-of-the-known-users-was-found-nothing-was-changed"),
      };
    if (removals > Math.max(REMOVAL_THRESHOLD.users, (found + gone.length) * REMOVAL_THRESHOLD.share)) {
      const message = sentence("directory-sync.withheld", { count: removals });
      return { code: "held-back", inLine: found - withoutGroups.length, gone: removals, message };
    }
  }
  for (const [userId, identity] of withoutGroups) await syncUser(row, userId, identity, deps);
  for (const userId of gone) await store.write((tx) => revokeAccess(tx, row, userId, by));
  return {
    code: "in-line",
    ...{ inLine: found, gone: removals },
    message: sentence("directory-sync.done", { found, gone: gone.length }),
  };
}

/** Syncs name, address and groups of one user, in chunks. */
async function syncUser(
  row: IdentityProviderRow,
  userId: string,
  identity: ExternalIdentity,
  deps: DirectorySyncDeps,
): Promise<void> {
  const { store, clock, by, signal } = deps;
  const context = { by, now: clock.now(), remainingGroups: row.createsGroups ? MAX_GROUPS_PER_LOGIN : 0 };
  const syncChunk = (tx: Transaction): boolean => {
    const user = tx.get(users, userId);
    return user === null || syncAccount(tx, row, user, identity, context).isComplete;
  };
  while (!(await store.write(syncChunk))) if (signal.aborted) break;
}

/** True when the user still has groups, tokens or applications to revoke; false once it was removed. */
function hasAccess(reader: StoreReader, row: IdentityProviderRow, userId: string): boolean {
  const isActedFor = reader.find(applications, { userId }, 1).length > 0;
  return hasProviderGroup(reader, row, userId) || isActedFor || reader.find(userTokens, { userId }, 1).length > 0;
}

/** Ids of the directory's users, by subject. */
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
  // Permanent tokens too: nothing else would revoke them.
  revokeAllTokens(tx, userId, by);
  // Otherwise an application could get new tokens with its client secret.
  for (const { id } of tx.find(applications, { userId })) tx.update(applications, id, { userId: null }, by);
}

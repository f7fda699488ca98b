import type { Clock } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import { isUuid, newId } from "../base/ids.ts";
import domains from "../resources/domains/domains.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import scimGroupMembers from "../resources/security/scim-group-members.ts";
import securityGroupMembers from "../resources/security/security-group-members.ts";
import securityGroupPermissions from "../resources/security/security-group-permissions.ts";
import securityGroupScimGroups from "../resources/security/security-group-scim-groups.ts";
import securityGroups from "../resources/security/security-groups.ts";
import userPermissions from "../resources/security/user-permissions.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Store } from "../store/store.ts";
import { createScopes } from "./compiled-scopes.ts";
import { builtInProvider } from "./identity-providers.ts";
import { isLocked, type LockWindow } from "./locks.ts";
import type { Access, Carrier, Principal } from "./principal.ts";
import { idleTimeoutMs } from "./session.ts";
import { hashToken, newToken, type UserToken } from "./tokens.ts";
import { type CompileScope, compileScope, systemScope } from "./user-scope.ts";

/** What `createAccess` needs. */
export interface AccessNeeds {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  /** What somebody may do and see is compiled by it; `compileScope` unless given, for tests of tests. */
  compile?: CompileScope;
}

/** Longer texts are no tokens of ours and are not even hashed. */
const LONGEST_TOKEN = 512;
/** Tokens kept compiled; beyond it the oldest goes. */
const MOST_KEPT = 10_000;
const FLUSH_MS = 60_000;
/** What a request that comes from elsewhere may take. own choice */
const LENT_MS = 30_000;

interface Entry {
  principal: Omit<Principal, "accessToken">;
  carrier: Carrier;
  expires: number | null;
  lock: LockWindow | null;
  /** Of a session, of the console or an application: how long it may stay unused, and since when it is, epoch ms. */
  idle: { ms: number; since: number } | null;
}

/** Resources whose rows make up what users may do. */
const RIGHTS: ReadonlySet<string> = new Set(
  [
    ...[domains, securityGroups, securityGroupMembers, securityGroupPermissions, userPermissions],
    ...[scimGroupMembers, securityGroupScimGroups],
  ].map(({ name }) => name),
);

/**
 * Starts access control over the store. What it compiles per token and user is forgotten as soon as a commit changes
 * users, tokens, groups, members or permissions, before the writer hears of that commit.
 */
export function createAccess({ store, catalogue, clock, events, compile }: AccessNeeds): Access {
  const entries = new Map<string, Entry>();
  const scopes = createScopes({ store, catalogue, compile: compile ?? compileScope });
  const used = new Map<string, number>();
  const everything = systemScope(rootOf(store));

  const forgetWhere = (test: (entry: Entry) => boolean): void => {
    for (const [hash, entry] of entries) if (test(entry)) entries.delete(hash);
  };
  const stopListening = events.on("row.changed", ({ resource, id, op }) => {
    if (RIGHTS.has(resource)) scopes.clear();
    // Nothing is known yet of a new user or token, and an import makes many.
    if (op === "create") return;
    if (resource === userTokens.name) forgetWhere((entry) => entry.principal.tokenId === id);
    if (resource === users.name) forgetWhere((entry) => entry.principal.userId === id);
    if (resource === users.name) scopes.clear();
  });

  const flush = (): void => {
    if (used.size === 0) return;
    const seen = [...used];
    // A hint for people: losing it when a write fails does no harm, and the store reports its own failures.
    void store
      .write((tx) => {
        for (const [id, at] of seen) tx.run("UPDATE user_tokens SET last_used_at = ? WHERE id = ?", at, id);
      })
      .then(() => {
        for (const [id, at] of seen) if (used.get(id) === at) used.delete(id);
      })
      .catch(() => undefined);
  };
  const flushing = clock.every(FLUSH_MS, flush);

  return {
    authenticate(token, carrier = "bearer", isUse = true) {
      if (token === "" || token.length > LONGEST_TOKEN) return null;
      const hash = hashToken(token);
      const entry = entries.get(hash) ?? entryOf(store, store.find(userTokens, { tokenHash: hash }, 1)[0], used);
      if (!entry) return null;
      if (!entries.has(hash)) keep(entries, hash, entry);
      const now = clock.now();
      if (entry.carrier !== carrier || !isGood(entry, now)) return null;
      if (isUse) {
        used.set(entry.principal.tokenId, now);
        if (entry.idle) entry.idle.since = now;
      }
      return { ...entry.principal, accessToken: carrier === "cookie" ? null : token };
    },
    stillValid({ tokenId }) {
      const entry = entryOf(store, store.get(userTokens, tokenId), used);
      return entry !== null && isGood(entry, clock.now());
    },
    scopeOf: scopes.of,
    identityProvider() {
      const rootId = everything.domainId;
      return rootId === null ? null : builtInProvider(rootId);
    },
    lend(userId, scopes) {
      const user = isUuid(userId) ? store.get(users, userId) : null;
      if (!user) throw new CallerError("unauthorized", "There is no such user here.");
      const { token, tokenHash } = newToken();
      const { pk: userPk, name, email, lock } = user;
      const principal = { userId, userPk, name, email, tokenId: newId(), scopes };
      keep(entries, tokenHash, { principal, carrier: "bearer", expires: clock.now() + LENT_MS, lock, idle: null });
      return { token, end: () => void entries.delete(tokenHash) };
    },
    systemBy: (name) => ({ actor: { kind: "system", userId: null, name, address: null }, scope: everything }),
    close() {
      stopListening();
      flushing.cancel();
      flush();
      entries.clear();
      scopes.clear();
    },
  };
}

/** Id of the root domain, looked up until there is one. */
function rootOf(store: Store): () => string | null {
  let rootId: string | null = null;
  return () => {
    rootId ??= store.one<{ id: string }>("SELECT id FROM domains WHERE parent_pk IS NULL")?.id ?? null;
    return rootId;
  };
}

function entryOf(store: Store, token: UserToken | null | undefined, used: ReadonlyMap<string, number>): Entry | null {
  if (!token || token.type === "code" || token.tokenType === "refresh_token") return null;
  const user = store.get(users, token.userId);
  if (!user) return null;
  const { id: userId, pk: userPk, name, email, lock } = user;
  const isSession = token.kind === "session";
  const isInCookie = isSession || token.kind === "device";
  const since = used.get(token.id) ?? token.lastUsedAt ?? token.createdAt;
  return {
    principal: { userId, userPk, name, email, tokenId: token.id, scopes: token.scope?.split(/\s+/) ?? null },
    carrier: isInCookie ? "cookie" : "bearer",
    expires: token.expires,
    lock,
    idle: isSession || token.idles === 1 ? { ms: idleTimeoutMs(user), since } : null,
  };
}

function isGood({ expires, lock, idle }: Entry, now: number): boolean {
  if (expires !== null && expires <= now) return false;
  return !isLocked(lock, now) && (idle === null || now - idle.since < idle.ms);
}

function keep(entries: Map<string, Entry>, hash: string, entry: Entry): void {
  const oldest = entries.size >= MOST_KEPT ? entries.keys().next().value : undefined;
  if (oldest !== undefined) entries.delete(oldest);
  entries.set(hash, entry);
}

import { type AccountLock, isAccountLocked } from "../auth/account-lock.ts";
import { builtInProviderFor } from "../auth/identity-providers.ts";
import type { AccessControl, Principal, TokenTransport } from "../auth/principal.ts";
import { idleTimeoutMs } from "../auth/sessions.ts";
import { generateToken, hashToken, type UserToken } from "../auth/tokens.ts";
import { type AddressSet, createAddressSet } from "../lib/address-set.ts";
import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import { isUuid, newId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
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
import { isSecondFactorRequired } from "./rights.ts";
import { createScopeCache } from "./scope-cache.ts";
import { type CompileScope, compileScope, systemScope } from "./user-scope.ts";

/** Dependencies of access control. */
export interface AccessControlDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  /** Compiles scopes; default `compileScope`. Replaced only by tests that verify the tests. */
  compile?: CompileScope;
}

/** Longer tokens are refused without hashing. */
const MAX_TOKEN_LENGTH = 512;
/** Maximum number of cached tokens; the oldest is evicted. */
const MAX_CACHED_TOKENS = 10_000;
const LAST_USED_FLUSH_MS = 60_000;
/** Lifetime of a temporary token, for one request forwarded by another appliance. */
const TEMPORARY_TOKEN_MS = 30_000;

/** Use of a token that is not stored yet. */
interface TokenUse {
  at: number;
  address: string | null;
}

interface TokenEntry {
  principal: Omit<Principal, "accessToken">;
  transport: TokenTransport;
  expires: number | null;
  lock: AccountLock | null;
  /** Addresses from which the token is valid; null: all. */
  addresses: AddressSet | null;
  /** Idle timeout of a session, ms, and its last use, epoch ms; null for other tokens. */
  idle: { ms: number; since: number } | null;
}

/** Resources whose rows decide about permissions; a change clears the compiled scopes. */
const PERMISSION_RESOURCES: ReadonlySet<string> = new Set(
  [
    ...[domains, securityGroups, securityGroupMembers, securityGroupPermissions, userPermissions],
    ...[scimGroupMembers, securityGroupScimGroups],
  ].map(({ name }) => name),
);

/**
 * Starts access control over the store. Cached tokens and scopes are invalidated by every commit that changes users,
 * tokens, groups, members or permissions, before the writer's promise resolves.
 */
export function createAccessControl({ store, catalogue, clock, events, compile }: AccessControlDeps): AccessControl {
  const entries = new Map<string, TokenEntry>();
  const scopes = createScopeCache({ store, catalogue, compile: compile ?? compileScope });
  const lastUses = new Map<string, TokenUse>();
  const unlimitedScope = systemScope(rootDomainReader(store));

  const evictWhere = (test: (entry: TokenEntry) => boolean): void => {
    for (const [hash, entry] of entries) if (test(entry)) entries.delete(hash);
  };
  const stopListening = events.on("row.changed", ({ resource, id, op }) => {
    if (PERMISSION_RESOURCES.has(resource)) scopes.clear();
    // New users and tokens are not cached yet, and an import creates many.
    if (op === "create") return;
    if (resource === userTokens.name) evictWhere((entry) => entry.principal.tokenId === id);
    if (resource === users.name) evictWhere((entry) => entry.principal.userId === id);
    if (resource === users.name) scopes.clear();
  });

  const flushLastUsed = (): void => {
    if (lastUses.size === 0) return;
    const seen = [...lastUses];
    // For display only: a lost update does no harm, and the store reports its own failures.
    void store
      .write((tx) => {
        for (const [id, { at, address }] of seen) {
          const set = "last_used_at = ?, last_used_address = coalesce(?, last_used_address)";
          tx.run(`UPDATE user_tokens SET ${set} WHERE id = ?`, at, address, id);
        }
      })
      .then(() => {
        for (const [id, use] of seen) if (lastUses.get(id) === use) lastUses.delete(id);
      })
      .catch(() => undefined);
  };
  const flushTimer = clock.every(LAST_USED_FLUSH_MS, flushLastUsed);

  return {
    authenticate(token, transport = "bearer", isUse = true, address = null) {
      if (token === "" || token.length > MAX_TOKEN_LENGTH) return null;
      const hash = hashToken(token);
      const entry =
        entries.get(hash) ?? readTokenEntry(store, store.find(userTokens, { tokenHash: hash }, 1)[0], lastUses);
      if (!entry) return null;
      if (!entries.has(hash)) setBounded(entries, hash, entry, MAX_CACHED_TOKENS);
      const now = clock.now();
      if (entry.transport !== transport || !isValidEntry(entry, now)) return null;
      if (entry.addresses && !(address !== null && entry.addresses.has(address))) return null;
      if (isUse) {
        lastUses.set(entry.principal.tokenId, { at: now, address });
        if (entry.idle) entry.idle.since = now;
      }
      return { ...entry.principal, accessToken: transport === "cookie" ? null : token };
    },
    isStillValid({ tokenId }) {
      const entry = readTokenEntry(store, store.get(userTokens, tokenId), lastUses);
      return entry !== null && isValidEntry(entry, clock.now());
    },
    resolveScope: scopes.get,
    requiresSecondFactor: (userPk) => isSecondFactorRequired(store, userPk),
    identityProvider() {
      const rootId = unlimitedScope.domainId;
      return rootId === null ? null : builtInProviderFor(rootId);
    },
    issueTemporaryToken({ userId, scopes }, appliance) {
      const user = isUuid(userId) ? store.get(users, userId) : null;
      if (!user) throw new CallerError("unauthorized", sentence("request.user-not-found"));
      const { token, tokenHash } = generateToken();
      const { pk: userPk, name, email, lock } = user;
      const principal = { userId, userPk, name, email, tokenId: newId(), scopes, appliance };
      const entry: TokenEntry = {
        principal,
        transport: "bearer",
        expires: clock.now() + TEMPORARY_TOKEN_MS,
        lock,
        addresses: null,
        idle: null,
      };
      setBounded(entries, tokenHash, entry, MAX_CACHED_TOKENS);
      return { token, end: () => void entries.delete(tokenHash) };
    },
    systemContext: (name) => ({ actor: { kind: "system", userId: null, name, address: null }, scope: unlimitedScope }),
    close() {
      stopListening();
      flushTimer.cancel();
      flushLastUsed();
      entries.clear();
      scopes.clear();
    },
  };
}

/** Reads and caches the id of the root domain, which is created after the first start. */
function rootDomainReader(store: Store): () => string | null {
  let rootId: string | null = null;
  return () => {
    rootId ??= store.one<{ id: string }>("SELECT id FROM domains WHERE parent_pk IS NULL")?.id ?? null;
    return rootId;
  };
}

function readTokenEntry(
  store: Store,
  token: UserToken | null | undefined,
  used: ReadonlyMap<string, TokenUse>,
): TokenEntry | null {
  if (!token || token.type === "code" || token.tokenType === "refresh_token") return null;
  const user = store.get(users, token.userId);
  if (!user) return null;
  const { id: userId, pk: userPk, name, email, lock } = user;
  const isSession = token.kind === "session";
  const isInCookie = isSession || token.kind === "device";
  const since = used.get(token.id)?.at ?? token.lastUsedAt ?? token.createdAt;
  return {
    principal: {
      ...{ userId, userPk, name, email, tokenId: token.id, scopes: token.scope?.split(/\s+/) ?? null },
      // Sessions from before an upgrade began with a log-in.
      ...(isSession ? { provenAt: token.provenAt ?? token.createdAt } : {}),
    },
    transport: isInCookie ? "cookie" : "bearer",
    expires: token.expires,
    lock,
    addresses: token.addresses.length > 0 ? createAddressSet(token.addresses) : null,
    idle: isSession || token.idles === 1 ? { ms: idleTimeoutMs(user), since } : null,
  };
}

function isValidEntry({ expires, lock, idle }: TokenEntry, now: number): boolean {
  if (expires !== null && expires <= now) return false;
  return !isAccountLocked(lock, now) && (idle === null || now - idle.since < idle.ms);
}

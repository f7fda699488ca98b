import type { NewPasswords } from "../auth/new-passwords.ts";
import { readPasswordNames } from "../auth/password-names.ts";
import type { AccessControl } from "../auth/principal.ts";
import { removeSecondFactors } from "../auth/second-factors.ts";
import { revokeAllTokens, revokeUserSessions } from "../auth/sessions.ts";
import { createToken, type UserToken, withDefaultExpiry } from "../auth/tokens.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, invalidValue, requiredValue } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { AuditNotes } from "../ops/audit-notes.ts";
import type { PluginHost } from "../plugin-host/plugin-host.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Settings } from "../settings/schema.ts";
import type { AuditRange } from "../store/audit-types.ts";
import type { Store } from "../store/store.ts";

/** A token as the command line shows it; times in ISO 8601. */
export interface TokenSummary {
  id: string;
  userId: string;
  /** Email address of the owner, or the name if there is none. */
  user: string;
  name: string;
  createdAt: string;
  expires: string | null;
  lastUsedAt: string | null;
  lastUsedAddress: string | null;
  addresses: readonly string[];
}

const MAX_LISTED_TOKENS = 10_000;
/** Verified per command, so that a command responds before the client times out. */
const MAX_VERIFIED_ENTRIES = 100_000;

/** Takes named arguments and returns a JSON value; throws CallerError for invalid arguments. */
export type ControlCommand = (args: Readonly<Record<string, unknown>>) => Promise<unknown>;

export interface ControlCommandDeps {
  store: Store;
  access: AccessControl;
  clock: Clock;
  passwords: Pick<NewPasswords, "hash">;
  settings: Pick<Settings["auth"], "tokenLifetimeDays">;
  /** Ends of the audit that are kept outside the database; default: none. */
  auditNotes?: Pick<AuditNotes, "collect">;
}

/**
 * Commands of this machine: through the control socket while the daemon runs, directly on the data while it does not. Access
 * to the data directory implies all permissions, so none are checked here.
 */
export function createControlCommands({
  store,
  access,
  clock,
  passwords,
  settings,
  auditNotes,
}: ControlCommandDeps): Readonly<Record<string, ControlCommand>> {
  const by = access.systemContext("cli");
  const hashNewPassword = async (password: string, user: RowOf<typeof users>): Promise<object> => ({
    passwordHash: await passwords.hash(password, readPasswordNames(store, user)),
    passwordChangedAt: clock.now(),
  });
  return {
    /**
     * `{user, name, expires?, addresses?}` -> TokenSummary with `token`, the secret, which is not stored. `expires` is a
     * time, or `never`.
     */
    "token.create": async ({ user, name, expires, addresses = [] }) => {
      const owner = findUser(store, user);
      const given = { name, addresses, ...(expires != null && { expires: expires === "never" ? null : expires }) };
      const input = withDefaultExpiry(given, settings.tokenLifetimeDays, clock.now());
      const { row, token } = await createToken(store, owner.id, input, by);
      return { ...summarizeToken(row, owner), token };
    },
    /** `{user?}` -> TokenSummary[], oldest first. */
    "token.list": async ({ user }) => {
      const owner = user === undefined || user === null ? null : findUser(store, user);
      const rows = store.find(userTokens, owner ? { userId: owner.id } : {}, MAX_LISTED_TOKENS);
      return rows.flatMap((row) => {
        const holder = owner ?? store.get(users, row.userId);
        return holder ? [summarizeToken(row, holder)] : [];
      });
    },
    /** `{tokenId}` -> TokenSummary of the revoked token. */
    "token.revoke": async ({ tokenId }) => {
      const row = isUuid(tokenId) ? store.get(userTokens, tokenId) : null;
      const holder = row && store.get(users, row.userId);
      if (!row || !holder) throw new CallerError("not-found", sentence("error.token-not-found"));
      await store.remove(userTokens, row.id, by);
      return summarizeToken(row, holder);
    },
    /**
     * `{user, password?, breakGlass?}` -> `{id, user}`: unlocks the account, optionally sets a password (which ends all
     * sessions) and optionally allows password login while the built-in identity provider is disabled.
     */
    "user.unlock": async ({ user, password, breakGlass }) => {
      const found = findUser(store, user);
      const system = typeof password === "string" ? await hashNewPassword(password, found) : {};
      if (breakGlass === true && found.passwordHash === null && typeof password !== "string") {
        throw new CallerError("required", "The user has no password; set one with the same command.");
      }
      const breakGlassFields = breakGlass === true ? { breakGlass } : {};
      // Otherwise another provider would check the password.
      const own = breakGlass === true ? { ...system, providerKey: null } : system;
      await store.update(users, found.id, { lock: null, ...breakGlassFields }, by, own);
      return { id: found.id, user: found.email ?? found.name };
    },
    /** `{user}` -> `{id, user, revoked}`: ends all sessions, tokens, invitations and grants of applications. */
    "user.revoke": async ({ user }) => {
      const found = findUser(store, user);
      const revoked = await store.write((tx) => revokeAllTokens(tx, found.id, by));
      return { id: found.id, user: found.email ?? found.name, revoked };
    },
    /** `{user}` -> `{id, user}`: removes the second factors of a user who has lost them, and ends the user's sessions. */
    "user.resetFactors": async ({ user }) => {
      const found = findUser(store, user);
      await store.write((tx) => {
        if (removeSecondFactors(tx, found.id, by) === 0) {
          throw new CallerError("not-found", sentence("error.the-user-has-no-second-factor-at-this-installation"));
        }
        revokeUserSessions(tx, found.id, by);
      });
      return { id: found.id, user: found.email ?? found.name };
    },
    /** `{after?, noted?}` (see AuditRange) -> AuditVerification, at most MAX_VERIFIED_ENTRIES entries per call. */
    "audit.verify": async ({ noted, ...range }) =>
      store.audit.verify({
        ...range,
        notes: auditNotes ? await auditNotes.collect() : [],
        ...(noted !== undefined && { checkpoint: noted as NonNullable<AuditRange["checkpoint"]> }),
        maxEntries: MAX_VERIFIED_ENTRIES,
      }),
  };
}

/** Further commands that need the running daemon. */
export function createDaemonControlCommands(
  deps: ControlCommandDeps,
  plugins: Pick<PluginHost, "loadNewPlugins">,
): Readonly<Record<string, ControlCommand>> {
  return {
    ...createControlCommands(deps),
    /** `{}` -> names of newly installed plugins, which are now loaded. */
    "plugin.takeUp": () => plugins.loadNewPlugins(),
  };
}

function findUser(store: Store, user: unknown): RowOf<typeof users> {
  if (user === undefined || user === "") throw requiredValue("user");
  if (typeof user !== "string") throw invalidValue("user", sentence("field.must-be-a-string"));
  const byAddress = "SELECT id FROM users WHERE email = ? COLLATE NOCASE";
  const id = isUuid(user) ? user : store.one<{ id: string }>(byAddress, user)?.id;
  const found = id === undefined ? null : store.get(users, id);
  if (!found) throw invalidValue("user", sentence("request.user-not-found"));
  return found;
}

function summarizeToken(row: UserToken, owner: RowOf<typeof users>): TokenSummary {
  return {
    id: row.id,
    userId: owner.id,
    user: owner.email ?? owner.name,
    name: row.name,
    createdAt: isoTime(row.createdAt) as string,
    expires: isoTime(row.expires),
    lastUsedAt: isoTime(row.lastUsedAt),
    lastUsedAddress: row.lastUsedAddress,
    addresses: row.addresses,
  };
}

function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

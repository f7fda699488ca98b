import { hashPassword } from "../auth/passwords.ts";
import type { AccessControl } from "../auth/principal.ts";
import { createToken, type UserToken } from "../auth/tokens.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, invalidValue, requiredValue } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import type { PluginHost } from "../plugin-host/plugin-host.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import { verifyAudit } from "../store/audit-chain.ts";
import type { Store } from "../store/store.ts";

/** A token as the command line shows it; times in API form. */
export interface TokenSummary {
  id: string;
  userId: string;
  /** The owner's address, or the name of an owner without one. */
  user: string;
  name: string;
  createdAt: string;
  expires: string | null;
  lastUsedAt: string | null;
}

const MAX_LISTED_TOKENS = 10_000;
/** Few enough that whoever asked does not give up waiting. */
const MAX_VERIFIED_ENTRIES = 100_000;

/** Takes arguments by name and gives a plain value; throws CallerError for arguments that don't fit. */
export type ControlCommand = (args: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** What orders work on. */
export interface ControlCommandDeps {
  store: Store;
  access: AccessControl;
  clock: Clock;
}

/**
 * What commands on this machine may order: over the control socket while the daemon runs, on the data itself while it
 * does not. Whoever can open the data directory may do everything, so nobody asks for permissions here.
 */
export function createControlCommands({
  store,
  access,
  clock,
}: ControlCommandDeps): Readonly<Record<string, ControlCommand>> {
  const by = access.systemContext("cli");
  return {
    /** `{user, name, expires?}` -> TokenLine with `token`, the clear value, which is told here only. */
    "token.create": async ({ user, name, expires }) => {
      const owner = findUser(store, user);
      const { row, token } = await createToken(store, owner.id, { name, expires: expires ?? null }, by);
      return { ...summarizeToken(row, owner), token };
    },
    /** `{user?}` -> TokenLine[], oldest first. */
    "token.list": async ({ user }) => {
      const owner = user === undefined || user === null ? null : findUser(store, user);
      const rows = store.find(userTokens, owner ? { userId: owner.id } : {}, MAX_LISTED_TOKENS);
      return rows.flatMap((row) => {
        const holder = owner ?? store.get(users, row.userId);
        return holder ? [summarizeToken(row, holder)] : [];
      });
    },
    /** `{tokenId}` -> the TokenLine of what was revoked. */
    "token.revoke": async ({ tokenId }) => {
      const row = isUuid(tokenId) ? store.get(userTokens, tokenId) : null;
      const holder = row && store.get(users, row.userId);
      if (!row || !holder) throw new CallerError("not-found", "There is no such token.");
      await store.remove(userTokens, row.id, by);
      return summarizeToken(row, holder);
    },
    /**
     * `{user, password?, breakGlass?}` -> `{id, user}`: takes the lock away, sets a password, which ends the user's
     * sessions, and lets the password be good while the built-in identity provider is off.
     */
    "user.unlock": async ({ user, password, breakGlass }) => {
      const found = findUser(store, user);
      const system = typeof password === "string" ? await hashNewPassword(password, clock) : {};
      if (breakGlass === true && found.passwordHash === null && typeof password !== "string") {
        throw new CallerError("required", "That user has no password to get in with: give one, too.");
      }
      const glass = breakGlass === true ? { breakGlass } : {};
      // Else another provider would be asked for the password.
      const own = breakGlass === true ? { ...system, providerKey: null } : system;
      await store.update(users, found.id, { lock: null, ...glass }, by, own);
      return { id: found.id, user: found.email ?? found.name };
    },
    /** AuditStretch -> AuditVerdict, at most MOST_VERIFIED entries at a time. */
    "audit.verify": (stretch) => verifyAudit(store, clock, { ...stretch, maxEntries: MAX_VERIFIED_ENTRIES }),
  };
}

/** What commands may order of a daemon beyond that: what runs in it is asked, too. */
export function createDaemonControlCommands(
  needs: ControlCommandDeps,
  plugins: Pick<PluginHost, "loadNewPlugins">,
): Readonly<Record<string, ControlCommand>> {
  return {
    ...createControlCommands(needs),
    /** `{}` -> names of the plugins that were installed since the daemon looked. */
    "plugin.takeUp": () => plugins.loadNewPlugins(),
  };
}

async function hashNewPassword(password: string, clock: Clock): Promise<object> {
  return { passwordHash: await hashPassword(password), passwordChangedAt: clock.now() };
}

function findUser(store: Store, user: unknown): RowOf<typeof users> {
  if (user === undefined || user === "") throw requiredValue("user");
  if (typeof user !== "string") throw invalidValue("user", "It must be a text.");
  const byAddress = "SELECT id FROM users WHERE email = ? COLLATE NOCASE";
  const id = isUuid(user) ? user : store.one<{ id: string }>(byAddress, user)?.id;
  const found = id === undefined ? null : store.get(users, id);
  if (!found) throw invalidValue("user", "There is no user with that address or id.");
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
  };
}

function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

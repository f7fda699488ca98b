import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { builtInProviderFor, ensureBuiltInProvider } from "../auth/identity-providers.ts";
import { createNewPasswords, type NewPasswords } from "../auth/new-passwords.ts";
import { type PasswordNames, readPasswordNames } from "../auth/password-names.ts";
import { generateToken, withDefaultExpiry } from "../auth/tokens.ts";
import type { Clock } from "../lib/clock.ts";
import { BugError, requiredValue, UpstreamError } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { ensureAuthority } from "../ops/tls/certificates.ts";
import brandings from "../resources/branding/brandings.ts";
import endpoints from "../resources/devices/endpoints.ts";
import extensions from "../resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID, ONPREM_NAME } from "../resources/devices/on-premises-extension.ts";
import domains from "../resources/domains/domains.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import notificationProfiles from "../resources/profiles/notification-profiles.ts";
import securityGroupMembers from "../resources/security/security-group-members.ts";
import securityGroups from "../resources/security/security-groups.ts";
import ttsDefaults from "../resources/speech/tts-defaults.ts";
import { defaultSettings } from "../settings/schema.ts";
import type { ActorContext, Transaction } from "../store/store.ts";
import { isInitialized, openApplianceDataOffline } from "./appliance-data.ts";
import { storeLocalEndpoint } from "./local-endpoint.ts";

/** Initial name of the root domain; administrators may rename it. */
const ROOT_DOMAIN_NAME = "Root";

/** The first administrator. */
export interface InitialAdministrator {
  email: string;
  password: string;
}

/** Ids of the initial rows; `token` is not stored and is shown only here. */
export interface InitialData {
  userId: string;
  token: string;
  /** The built-in identity provider, the audience of client credentials. */
  providerId: string;
  extensionId: string;
  endpointId: string;
  domainId: string;
}

/**
 * Sets up an appliance in `dataDir` in one transaction: root domain, administrator with a token for a year, super group
 * Administrators, the on-premises extension and this appliance's endpoint. Throws CallerError for an invalid address or
 * password, UpstreamError (about the data directory) if it is already set up or in use. Closes `passwords`.
 */
export async function initAppliance(
  dataDir: string,
  admin: InitialAdministrator,
  clock: Clock,
  passwords: NewPasswords = createNewPasswords(clock, defaultSettings().auth.passwordMinLength),
): Promise<InitialData> {
  if (admin.email === "") throw requiredValue("email");
  const names = readPasswordNames(null, { email: admin.email });
  const passwordHash = await hashAndClose(passwords, admin.password, names);
  const data = await openApplianceDataOffline(dataDir, clock);
  try {
    if (isInitialized(data.store)) throw alreadyInitializedError(dataDir);
    const by = data.access.systemContext("init");
    const created = await data.store.write((tx) =>
      seedInitialAppliance(tx, by, { ...admin, passwordHash, now: clock.now() }),
    );
    await ensureAuthority(dataDir, clock.now());
    return created;
  } finally {
    await data.close();
  }
}

async function hashAndClose(passwords: NewPasswords, password: string, names: PasswordNames): Promise<string> {
  try {
    return await passwords.hash(password, names);
  } finally {
    await passwords.close();
  }
}

/** Throws like `initAppliance` if `dataDir` is already set up or in use; writes nothing. */
export async function requireUninitialized(dataDir: string, clock: Clock): Promise<void> {
  if (!existsSync(join(dataDir, "carillon.db"))) return;
  const data = await openApplianceDataOffline(dataDir, clock);
  const isSetUp = isInitialized(data.store);
  await data.close();
  if (isSetUp) throw alreadyInitializedError(dataDir);
}

function seedInitialAppliance(tx: Transaction, by: ActorContext, admin: AdministratorInput): InitialData {
  const initialRows = seedInitialData(tx, by);
  const userId = writeAdministrator(tx, by, admin);
  const { token, tokenHash } = generateToken();
  const input = withDefaultExpiry({ userId, name: "init" }, defaultSettings().auth.tokenLifetimeDays, admin.now);
  tx.create(userTokens, input, by, { kind: "permanent", tokenHash });
  return { userId, token, ...initialRows };
}

/** Writes the initial rows of every appliance except its administrator. */
export function seedInitialData(tx: Transaction, by: ActorContext): Omit<InitialData, "userId" | "token"> {
  const rootId = newId();
  tx.create(domains, { name: ROOT_DOMAIN_NAME }, by, { id: rootId, path: rootId, namePath: ROOT_DOMAIN_NAME });
  tx.create(securityGroups, { name: "Administrators", superGroup: true }, by);
  seedMissingDefaults(tx, by);
  const onprem = { name: ONPREM_NAME, type: "endpoint-proxy" };
  const extension = tx.create(extensions, onprem, by, { id: ONPREM_EXTENSION_ID });
  const endpoint = tx.create(endpoints, { extensionId: extension.id, name: hostname() }, by);
  storeLocalEndpoint(tx, endpoint.id);
  return {
    providerId: builtInProviderFor(rootId).id,
    extensionId: extension.id,
    endpointId: endpoint.id,
    domainId: rootId,
  };
}

/** Writes missing singleton rows, as in data of versions that did not have them yet. */
export function seedMissingDefaults(tx: Transaction, by: ActorContext): void {
  const root = tx.find(domains, { parentId: null }, 1)[0];
  if (root && tx.find(notificationProfiles, { default: true }, 1).length === 0) {
    const system = { default: true, domainId: root.id };
    tx.create(notificationProfiles, { name: "Default", isShared: true }, by, system);
  }
  if (root) ensureBuiltInProvider(tx, root.id, by);
  for (const singleton of [brandings, ttsDefaults])
    if (tx.find(singleton, {}, 1).length === 0) tx.create(singleton, {}, by);
}

/** Fields of the first administrator. */
export interface AdministratorInput {
  /** Default: `Administrator`. */
  name?: string | null;
  email: string;
  passwordHash: string;
  /** Epoch ms. */
  now: number;
}

/** Writes a member of the first super group and returns its id. */
export function writeAdministrator(tx: Transaction, by: ActorContext, admin: AdministratorInput): string {
  const { name, email, passwordHash, now } = admin;
  const group = tx.find(securityGroups, { superGroup: true }, 1)[0];
  if (!group) throw new BugError("The super group is missing.");
  const password = { passwordHash, passwordChangedAt: now };
  const user = tx.create(users, { name: name ?? "Administrator", email }, by, password);
  tx.create(securityGroupMembers, { securityGroupId: group.id, userId: user.id }, by);
  return user.id;
}

function alreadyInitializedError(dataDir: string): UpstreamError {
  return new UpstreamError("starting", `The appliance in ${dataDir} is already set up.`, { dataDir });
}

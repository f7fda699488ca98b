import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { builtInProvider, writeBuiltInProvider } from "../access/identity-providers.ts";
import { hashPassword } from "../access/passwords.ts";
import { newToken } from "../access/tokens.ts";
import type { Clock } from "../base/clock.ts";
import { BugError, requiredValue, UpstreamError } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import { prepareAuthority } from "../operations/certificates.ts";
import brandings from "../resources/branding/brandings.ts";
import endpoints from "../resources/devices/endpoints.ts";
import extensions from "../resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID, ONPREM_NAME } from "../resources/devices/onprem.ts";
import domains from "../resources/domains/domains.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import notificationProfiles from "../resources/profiles/notification-profiles.ts";
import securityGroupMembers from "../resources/security/security-group-members.ts";
import securityGroups from "../resources/security/security-groups.ts";
import ttsDefaults from "../resources/speech/tts-defaults.ts";
import type { By, Transaction } from "../store/store.ts";
import { isSetUp, openDataOffline } from "./appliance.ts";

/** Name of the domain that everything begins in. own choice: renamed by whoever sets up domains. */
const ROOT_DOMAIN = "Root";

/** Who administers the new appliance. */
export interface FirstAdmin {
  email: string;
  password: string;
}

/** What an appliance begins with; `token` is shown here and never again. */
export interface FirstData {
  userId: string;
  token: string;
  /** The built-in identity provider, which is the audience of client credentials. */
  providerId: string;
  extensionId: string;
  endpointId: string;
  domainId: string;
}

/**
 * Sets up an appliance in `dataDir`: root domain, administrator with a permanent token, super group Administrators, the
 * extension of the appliances and this one as its endpoint, all in one transaction. Throws CallerError for a bad address
 * or password, UpstreamError (about the data directory) when it is set up already or in use.
 */
export async function initAppliance(dataDir: string, admin: FirstAdmin, clock: Clock): Promise<FirstData> {
  if (admin.email === "") throw requiredValue("email");
  const passwordHash = await hashPassword(admin.password);
  const data = await openDataOffline(dataDir, clock);
  try {
    if (isSetUp(data.store)) throw alreadySetUp(dataDir);
    const by = data.access.systemBy("init");
    const made = await data.store.write((tx) => writeFirstData(tx, by, { ...admin, passwordHash, now: clock.now() }));
    await prepareAuthority(dataDir, clock.now());
    return made;
  } finally {
    await data.close();
  }
}

/** Throws what `initAppliance` would for `dataDir` as it is; makes nothing. */
export async function requireNew(dataDir: string, clock: Clock): Promise<void> {
  if (!existsSync(join(dataDir, "carillon.db"))) return;
  const data = await openDataOffline(dataDir, clock);
  const isUsed = isSetUp(data.store);
  await data.close();
  if (isUsed) throw alreadySetUp(dataDir);
}

function writeFirstData(tx: Transaction, by: By, admin: Administrator): FirstData {
  const ground = writeGround(tx, by);
  const userId = writeAdministrator(tx, by, admin);
  const { token, tokenHash } = newToken();
  tx.create(userTokens, { userId, name: "init" }, by, { kind: "permanent", tokenHash });
  return { userId, token, ...ground };
}

/** Writes what every appliance begins with, apart from its administrator: nobody may do anything yet. */
export function writeGround(tx: Transaction, by: By): Omit<FirstData, "userId" | "token"> {
  const rootId = newId();
  tx.create(domains, { name: ROOT_DOMAIN }, by, { id: rootId, path: rootId, namePath: ROOT_DOMAIN });
  tx.create(securityGroups, { name: "Administrators", superGroup: true }, by);
  completeGround(tx, by);
  const onprem = { name: ONPREM_NAME, type: "endpoint-proxy" };
  const extension = tx.create(extensions, onprem, by, { id: ONPREM_EXTENSION_ID });
  const endpoint = tx.create(endpoints, { extensionId: extension.id, name: hostname() }, by);
  return {
    providerId: builtInProvider(rootId).id,
    extensionId: extension.id,
    endpointId: endpoint.id,
    domainId: rootId,
  };
}

/** Writes the rows that there is one of and that are missing, as in data which was set up before there were such rows. */
export function completeGround(tx: Transaction, by: By): void {
  const root = tx.find(domains, { parentId: null }, 1)[0];
  if (root && tx.find(notificationProfiles, { default: true }, 1).length === 0) {
    const system = { default: true, domainId: root.id };
    tx.create(notificationProfiles, { name: "Default", isShared: true }, by, system);
  }
  if (root) writeBuiltInProvider(tx, root.id, by);
  for (const only of [brandings, ttsDefaults]) if (tx.find(only, {}, 1).length === 0) tx.create(only, {}, by);
}

/** An administrator as it is written. */
export interface Administrator {
  /** `Administrator` unless given. */
  name?: string | null;
  email: string;
  passwordHash: string;
  /** Epoch ms. */
  now: number;
}

/** Writes a member of the first super group and returns its id. */
export function writeAdministrator(tx: Transaction, by: By, admin: Administrator): string {
  const { name, email, passwordHash, now } = admin;
  const group = tx.find(securityGroups, { superGroup: true }, 1)[0];
  if (!group) throw new BugError("There is no super group.");
  const password = { passwordHash, passwordChangedAt: now };
  const user = tx.create(users, { name: name ?? "Administrator", email }, by, password);
  tx.create(securityGroupMembers, { securityGroupId: group.id, userId: user.id }, by);
  return user.id;
}

function alreadySetUp(dataDir: string): UpstreamError {
  return new UpstreamError("starting", `The appliance in ${dataDir} is set up already.`, { dataDir });
}

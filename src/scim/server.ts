import type { AccessControl } from "../auth/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { OwnedByCloudError } from "../lib/errors.ts";
import type { ActorContext, Store } from "../store/store.ts";
import type { AttributeSelection } from "./attribute-selection.ts";
import { GROUP_RESOURCE_TYPE, type ScimResourceType, USER_RESOURCE_TYPE } from "./document.ts";
import {
  createGroupSource,
  createScimGroup,
  deleteScimGroup,
  getProvisionedGroup,
  patchScimGroup,
  replaceScimGroup,
  type ScimGroupRow,
} from "./groups.ts";
import { createScimRequestLog, type ScimRequestLog } from "./request-log.ts";
import { findScimPage, type ScimListQuery } from "./resource-list.ts";
import {
  type SerializedResource,
  serializeScimGroup,
  serializeScimGroupPage,
  serializeScimUserPage,
  serializeScimUsers,
} from "./serializer.ts";
import { findScimToken, scimActorContext } from "./tokens.ts";
import type { ScimUserRow } from "./user-document.ts";
import {
  createScimUser,
  createUserSource,
  deleteScimUser,
  getProvisionedUser,
  patchScimUser,
  replaceScimUser,
} from "./users.ts";

/** Dependencies of the SCIM server. */
export interface ScimServerDeps {
  store: Store;
  access: Pick<AccessControl, "systemContext">;
  clock: Clock;
  /** Public base URL of the appliance. */
  baseUrl(): string;
  /** True when the cloud manages users and groups; default: never. */
  isManagedByCloud?(): boolean;
}

/** A write: body, expected version (null: any) and actor. */
export interface ScimWrite {
  body: unknown;
  ifMatch: string | null;
  by: ActorContext;
}

/** A page of a list: total count and serialized resources. */
export interface ScimListPage {
  total: number;
  texts: readonly string[];
}

/**
 * Operations on one resource type. All throw not-found, ScimRequestError and what the store throws; writes throw
 * OwnedByCloudError when the cloud manages users and groups.
 */
export interface ScimResourceHandler {
  type: ScimResourceType;
  create(write: Omit<ScimWrite, "ifMatch">, shape: AttributeSelection): Promise<SerializedResource>;
  get(id: string, shape: AttributeSelection): Promise<SerializedResource>;
  list(query: ScimListQuery, shape: AttributeSelection): Promise<ScimListPage>;
  replace(id: string, write: ScimWrite, shape: AttributeSelection): Promise<SerializedResource>;
  patch(id: string, write: ScimWrite, shape: AttributeSelection): Promise<SerializedResource>;
  remove(id: string, write: Omit<ScimWrite, "body">): Promise<void>;
}

/** The authenticated directory. */
export interface ScimCaller {
  name: string;
  by: ActorContext;
}

/** SCIM 2.0 provisioning of users and groups by an external directory. */
export interface ScimServer {
  /** The directory of a token; null for an invalid token. */
  authenticate(token: string, address: string | null): ScimCaller | null;
  /** Base URL of the SCIM endpoints. */
  baseUrl(): string;
  handlers: readonly ScimResourceHandler[];
  log: ScimRequestLog;
  counts(): { users: number; groups: number };
}

/** Path of the SCIM endpoints. */
export const SCIM_BASE_PATH = "/scim/v2";

/** Creates the SCIM server. */
export function createScimServer({
  store,
  access,
  clock,
  baseUrl,
  isManagedByCloud = () => false,
}: ScimServerDeps): ScimServer {
  const deps = { store, clock };
  const base = (): string => `${baseUrl().replace(/\/$/, "")}${SCIM_BASE_PATH}`;
  const presenting = () => ({ reader: store, clock, base: base() });
  const serializeUser = (row: ScimUserRow, shape: AttributeSelection): SerializedResource =>
    serializeScimUsers(presenting(), [row], shape)[0] as SerializedResource;
  const serializeGroup = (row: ScimGroupRow, shape: AttributeSelection): Promise<SerializedResource> =>
    serializeScimGroup(presenting(), row, shape);
  const users: ScimResourceHandler = {
    type: USER_RESOURCE_TYPE,
    create: async ({ body, by }, shape) => serializeUser(await createScimUser(deps, body, by), shape),
    get: async (id, shape) => serializeUser(getProvisionedUser(store, id), shape),
    async list(query, shape) {
      const { total, pks } = await findScimPage(createUserSource(store), query, clock);
      return { total, texts: serializeScimUserPage(presenting(), pks, shape) };
    },
    replace: async (id, { body, ifMatch, by }, shape) =>
      serializeUser(await replaceScimUser(deps, id, body, ifMatch, by), shape),
    patch: async (id, { body, ifMatch, by }, shape) =>
      serializeUser(await patchScimUser(deps, id, body, ifMatch, by), shape),
    remove: (id, { ifMatch, by }) => deleteScimUser(deps, id, ifMatch, by),
  };
  const groups: ScimResourceHandler = {
    type: GROUP_RESOURCE_TYPE,
    create: async ({ body, by }, shape) => serializeGroup(await createScimGroup(deps, body, by), shape),
    get: (id, shape) => serializeGroup(getProvisionedGroup(store, id), shape),
    async list(query, shape) {
      const { total, pks } = await findScimPage(createGroupSource(store), query, clock);
      return { total, texts: await serializeScimGroupPage(presenting(), pks, shape) };
    },
    replace: async (id, { body, ifMatch, by }, shape) =>
      serializeGroup(await replaceScimGroup(deps, id, body, ifMatch, by), shape),
    patch: async (id, { body, ifMatch, by }, shape) =>
      serializeGroup(await patchScimGroup(deps, id, body, ifMatch, by), shape),
    remove: (id, { ifMatch, by }) => deleteScimGroup(deps, id, ifMatch, by),
  };
  return {
    authenticate(token, address) {
      const row = findScimToken(deps, token);
      return row && { name: row.name, by: scimActorContext(access, row, address) };
    },
    baseUrl: base,
    handlers: [users, groups].map((kind) => refuseWritesWhenManagedByCloud(kind, isManagedByCloud)),
    log: createScimRequestLog(),
    counts: () => ({ users: createUserSource(store).count(), groups: createGroupSource(store).count() }),
  };
}

/**
 * Refuses writes on a linked appliance: the cloud manages its users and groups, and the next sync would undo a local
 * change.
 */
function refuseWritesWhenManagedByCloud(
  kind: ScimResourceHandler,
  isManagedByCloud: () => boolean,
): ScimResourceHandler {
  const refuse = (): void => {
    if (isManagedByCloud())
      throw new OwnedByCloudError(
        "The cloud manages users and groups of linked appliances. Connect the directory to the cloud instead.",
      );
  };
  return {
    ...kind,
    async create(...given) {
      refuse();
      return kind.create(...given);
    },
    async replace(...given) {
      refuse();
      return kind.replace(...given);
    },
    async patch(...given) {
      refuse();
      return kind.patch(...given);
    },
    async remove(...given) {
      refuse();
      return kind.remove(...given);
    },
  };
}

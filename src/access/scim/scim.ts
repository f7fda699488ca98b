import type { Clock } from "../../base/clock.ts";
import { OwnedElsewhere } from "../../base/errors.ts";
import type { By, Store } from "../../store/store.ts";
import type { Access } from "../principal.ts";
import { GROUPS, type ResourceType, USERS } from "./document.ts";
import {
  createGroup,
  deleteGroup,
  type Group,
  groupSource,
  patchGroup,
  provisionedGroup,
  replaceGroup,
} from "./groups.ts";
import { findPage, type ListQuery } from "./listing.ts";
import { type Presented, presentGroup, presentGroupPage, presentUserPage, presentUsers } from "./presentation.ts";
import { createRequestLog, type RequestLog } from "./request-log.ts";
import type { Shape } from "./shape.ts";
import { byToken, findScimToken } from "./tokens.ts";
import type { User } from "./user-document.ts";
import { createUser, deleteUser, patchUser, provisioned, replaceUser, userSource } from "./users.ts";

/** What `createScim` needs. */
export interface ScimNeeds {
  store: Store;
  access: Pick<Access, "systemBy">;
  clock: Clock;
  /** Where the appliance is reached. */
  baseUrl(): string;
  /** The cloud of an organisation owns users and groups; never unless given. */
  isOfCloud?(): boolean;
}

/** A write: the body, the version that the client knows (null: any), and on whose behalf. */
export interface ScimWrite {
  body: unknown;
  ifMatch: string | null;
  by: By;
}

/** A page of a list: how many there are in all, and JSON texts. */
export interface ListPage {
  total: number;
  texts: readonly string[];
}

/**
 * What can be done with the resources of a kind. All throw not-found, ScimRefusal and what the store throws; writes throw
 * OwnedElsewhere where the cloud does them.
 */
export interface ScimKind {
  type: ResourceType;
  create(write: Omit<ScimWrite, "ifMatch">, shape: Shape): Promise<Presented>;
  get(id: string, shape: Shape): Promise<Presented>;
  list(query: ListQuery, shape: Shape): Promise<ListPage>;
  replace(id: string, write: ScimWrite, shape: Shape): Promise<Presented>;
  patch(id: string, write: ScimWrite, shape: Shape): Promise<Presented>;
  remove(id: string, write: Omit<ScimWrite, "body">): Promise<void>;
}

/** The directory that a request comes from. */
export interface ScimCaller {
  name: string;
  by: By;
}

/** Provisioning of users and groups by a directory outside. */
export interface Scim {
  /** Who presents a token; null when it is not good. */
  authenticate(token: string, address: string | null): ScimCaller | null;
  /** Where it is served. */
  base(): string;
  kinds: readonly ScimKind[];
  log: RequestLog;
  counts(): { users: number; groups: number };
}

/** Where it lies at the appliance. */
export const SCIM_PATH = "/scim/v2";

/** Makes provisioning over the store. */
export function createScim({ store, access, clock, baseUrl, isOfCloud = () => false }: ScimNeeds): Scim {
  const needs = { store, clock };
  const base = (): string => `${baseUrl().replace(/\/$/, "")}${SCIM_PATH}`;
  const presenting = () => ({ reader: store, clock, base: base() });
  const showUser = (row: User, shape: Shape): Presented => presentUsers(presenting(), [row], shape)[0] as Presented;
  const showGroup = (row: Group, shape: Shape): Promise<Presented> => presentGroup(presenting(), row, shape);
  const users: ScimKind = {
    type: USERS,
    create: async ({ body, by }, shape) => showUser(await createUser(needs, body, by), shape),
    get: async (id, shape) => showUser(provisioned(store, id), shape),
    async list(query, shape) {
      const { total, pks } = await findPage(userSource(store), query, clock);
      return { total, texts: presentUserPage(presenting(), pks, shape) };
    },
    replace: async (id, { body, ifMatch, by }, shape) =>
      showUser(await replaceUser(needs, id, body, ifMatch, by), shape),
    patch: async (id, { body, ifMatch, by }, shape) => showUser(await patchUser(needs, id, body, ifMatch, by), shape),
    remove: (id, { ifMatch, by }) => deleteUser(needs, id, ifMatch, by),
  };
  const groups: ScimKind = {
    type: GROUPS,
    create: async ({ body, by }, shape) => showGroup(await createGroup(needs, body, by), shape),
    get: (id, shape) => showGroup(provisionedGroup(store, id), shape),
    async list(query, shape) {
      const { total, pks } = await findPage(groupSource(store), query, clock);
      return { total, texts: await presentGroupPage(presenting(), pks, shape) };
    },
    replace: async (id, { body, ifMatch, by }, shape) =>
      showGroup(await replaceGroup(needs, id, body, ifMatch, by), shape),
    patch: async (id, { body, ifMatch, by }, shape) => showGroup(await patchGroup(needs, id, body, ifMatch, by), shape),
    remove: (id, { ifMatch, by }) => deleteGroup(needs, id, ifMatch, by),
  };
  return {
    authenticate(token, address) {
      const row = findScimToken(needs, token);
      return row && { name: row.name, by: byToken(access, row, address) };
    },
    base,
    kinds: [users, groups].map((kind) => writtenHere(kind, isOfCloud)),
    log: createRequestLog(),
    counts: () => ({ users: userSource(store).count(), groups: groupSource(store).count() }),
  };
}

/** own choice: else who is switched off here would be switched on again by the next word of the cloud, which knows nothing of it. */
function writtenHere(kind: ScimKind, isOfCloud: () => boolean): ScimKind {
  const refuse = (): void => {
    if (isOfCloud())
      throw new OwnedElsewhere("A directory provisions users and groups of linked appliances at the cloud.");
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

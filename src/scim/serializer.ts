import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import users from "../resources/people/users.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import type { StoreReader } from "../store/store.ts";
import type { AttributeSelection } from "./attribute-selection.ts";
import type { ScimDocument } from "./document.ts";
import { buildEtag } from "./etag.ts";
import { buildGroupDocument, groupEtag, readGroupMembers, type ScimGroupRow } from "./groups.ts";
import { ENTERPRISE_SCHEMA_URN, GROUP_SCHEMA_URN, USER_SCHEMA_URN } from "./schemas.ts";
import { buildUserDocument, type ScimUserRow } from "./user-document.ts";

/** Dependencies of the serializer; `base` is the base URL of `/Users` and `/Groups`. */
export interface ScimSerializerDeps {
  reader: StoreReader;
  clock: Pick<Clock, "defer">;
  base: string;
}

/** A serialized resource. */
export interface SerializedResource {
  id: string;
  version: string;
  location: string;
  /** JSON. */
  text: string;
}

/** Maximum number of members in one list response; the page ends early instead of exceeding it. */
const MAX_LISTED_MEMBERS = 20_000;

/** Serializes users in order; one query for their groups. */
export function serializeScimUsers(
  deps: ScimSerializerDeps,
  rows: readonly ScimUserRow[],
  shape: AttributeSelection,
): SerializedResource[] {
  const groups = shape.has("groups") ? readGroupsByUser(deps, rows) : null;
  return rows.map((row) => {
    const version = buildEtag(row);
    const location = `${deps.base}/Users/${row.id}`;
    const { meta, ...attributes } = buildUserDocument(row);
    const document: ScimDocument = {
      schemas:
        attributes[ENTERPRISE_SCHEMA_URN] === undefined ? [USER_SCHEMA_URN] : [USER_SCHEMA_URN, ENTERPRISE_SCHEMA_URN],
      ...attributes,
      ...(groups?.has(row.pk) ? { groups: groups.get(row.pk) } : {}),
      meta: { resourceType: "User", ...(meta as object), location, version },
    };
    return { id: row.id, version, location, text: JSON.stringify(shape.apply(document)) };
  });
}

/** Serializes a page of users by internal keys. */
export function serializeScimUserPage(
  deps: ScimSerializerDeps,
  pks: readonly number[],
  shape: AttributeSelection,
): string[] {
  const rows = orderByKeys(pks, deps.reader.getByPks(users, pks));
  return serializeScimUsers(deps, rows, shape).map(({ text }) => text);
}

/** Serializes a group; members are read in chunks. */
export async function serializeScimGroup(
  deps: ScimSerializerDeps,
  row: ScimGroupRow,
  shape: AttributeSelection,
): Promise<SerializedResource> {
  return { ...(await serializeGroupText(deps, row, shape)), id: row.id };
}

/** Serializes a page of groups by internal keys. */
export async function serializeScimGroupPage(
  deps: ScimSerializerDeps,
  pks: readonly number[],
  shape: AttributeSelection,
): Promise<string[]> {
  const texts: string[] = [];
  let memberCount = 0;
  for (const row of orderByKeys(pks, deps.reader.getByPks(scimGroups, pks))) {
    if (memberCount > MAX_LISTED_MEMBERS) break;
    const { text, members } = await serializeGroupText(deps, row, shape);
    texts.push(text);
    memberCount += members;
  }
  return texts;
}

async function serializeGroupText(
  { reader, clock, base }: ScimSerializerDeps,
  row: ScimGroupRow,
  shape: AttributeSelection,
): Promise<Omit<SerializedResource, "id"> & { members: number }> {
  const location = `${base}/Groups/${row.id}`;
  // The version counts the members, so it is read separately.
  const version = groupEtag(reader, row);
  const { meta, ...attributes } = buildGroupDocument(row);
  const document = {
    schemas: [GROUP_SCHEMA_URN],
    ...attributes,
    meta: { resourceType: "Group", ...(meta as object), location, version },
  };
  const head = JSON.stringify(shape.apply(document));
  if (!shape.has("members")) return { version, location, text: head, members: 0 };
  const parts: string[] = [];
  let members = 0;
  for (const chunk of readGroupMembers(reader, row.pk)) {
    members += chunk.length;
    const shown = chunk.map(({ id, name }) => ({
      value: id,
      $ref: `${base}/Users/${id}`,
      display: name,
      type: "User",
    }));
    const selected = shown.map((member) => (shape.apply({ members: [member] }).members as ScimDocument[])[0]);
    parts.push(JSON.stringify(selected).slice(1, -1));
    await yieldToEventLoop(clock);
  }
  const text = members === 0 ? head : `${head.slice(0, -1)},"members":[${parts.join(",")}]}`;
  return { version, location, text, members };
}

function readGroupsByUser(
  { reader, base }: ScimSerializerDeps,
  rows: readonly ScimUserRow[],
): ReadonlyMap<number, object[]> {
  const lines = reader.all<{ pk: number; id: string; name: string }>(
    `SELECT m.user_pk AS pk, g.id, g.name FROM scim_group_members m JOIN scim_groups g ON g.pk = m.scim_group_pk
     WHERE m.user_pk IN (SELECT value FROM json_each(?)) AND g.identity_provider_id IS NULL ORDER BY m.pk`,
    JSON.stringify(rows.map(({ pk }) => pk)),
  );
  const found = new Map<number, object[]>();
  for (const { pk, id, name } of lines) {
    const shown = { value: id, $ref: `${base}/Groups/${id}`, display: name, type: "direct" };
    found.set(pk, [...(found.get(pk) ?? []), shown]);
  }
  return found;
}

function orderByKeys<R extends { pk: number }>(pks: readonly number[], rows: readonly R[]): R[] {
  const byPk = new Map(rows.map((row) => [row.pk, row]));
  return pks.flatMap((pk) => byPk.get(pk) ?? []);
}

import { type Clock, nextTurn } from "../../base/clock.ts";
import users from "../../resources/people/users.ts";
import scimGroups from "../../resources/security/scim-groups.ts";
import type { Reader } from "../../store/store.ts";
import { ENTERPRISE, GROUP, USER } from "./attributes.ts";
import type { Document } from "./document.ts";
import { type Group, groupDocument, groupVersion, membersOf } from "./groups.ts";
import type { Shape } from "./shape.ts";
import { documentOf, type User } from "./user-document.ts";
import { versionOf } from "./version.ts";

/** What presenting takes; `base` is where `/Users` and `/Groups` lie. */
export interface PresentNeeds {
  reader: Reader;
  clock: Pick<Clock, "soon">;
  base: string;
}

/** A resource as it is answered. */
export interface Presented {
  id: string;
  version: string;
  location: string;
  /** JSON. */
  text: string;
}

/** Members that one list tells; a page ends early rather than tell more. own choice */
const MOST_MEMBERS_LISTED = 20_000;

/** Users as they are answered, in order; their groups are one query. */
export function presentUsers(needs: PresentNeeds, rows: readonly User[], shape: Shape): Presented[] {
  const groups = shape.has("groups") ? groupsOf(needs, rows) : null;
  return rows.map((row) => {
    const version = versionOf(row);
    const location = `${needs.base}/Users/${row.id}`;
    const { meta, ...said } = documentOf(row);
    const document: Document = {
      schemas: said[ENTERPRISE] === undefined ? [USER] : [USER, ENTERPRISE],
      ...said,
      ...(groups?.has(row.pk) ? { groups: groups.get(row.pk) } : {}),
      meta: { resourceType: "User", ...(meta as object), location, version },
    };
    return { id: row.id, version, location, text: JSON.stringify(shape.of(document)) };
  });
}

/** A page of users, by their keys. */
export function presentUserPage(needs: PresentNeeds, pks: readonly number[], shape: Shape): string[] {
  const rows = inOrder(pks, needs.reader.byPks(users, pks));
  return presentUsers(needs, rows, shape).map(({ text }) => text);
}

/** A group as it is answered, its members in slices. */
export async function presentGroup(needs: PresentNeeds, row: Group, shape: Shape): Promise<Presented> {
  return { ...(await groupText(needs, row, shape)), id: row.id };
}

/** A page of groups, by their keys. */
export async function presentGroupPage(needs: PresentNeeds, pks: readonly number[], shape: Shape): Promise<string[]> {
  const texts: string[] = [];
  let told = 0;
  for (const row of inOrder(pks, needs.reader.byPks(scimGroups, pks))) {
    if (told > MOST_MEMBERS_LISTED) break;
    const { text, members } = await groupText(needs, row, shape);
    texts.push(text);
    told += members;
  }
  return texts;
}

async function groupText(
  { reader, clock, base }: PresentNeeds,
  row: Group,
  shape: Shape,
): Promise<Omit<Presented, "id"> & { members: number }> {
  const location = `${base}/Groups/${row.id}`;
  // It counts the members, which a list without them is to be spared.
  const version = groupVersion(reader, row);
  const { meta, ...said } = groupDocument(row);
  const document = {
    schemas: [GROUP],
    ...said,
    meta: { resourceType: "Group", ...(meta as object), location, version },
  };
  const head = JSON.stringify(shape.of(document));
  if (!shape.has("members")) return { version, location, text: head, members: 0 };
  const parts: string[] = [];
  let members = 0;
  for (const slice of membersOf(reader, row.pk)) {
    members += slice.length;
    const shown = slice.map(({ id, name }) => ({
      value: id,
      $ref: `${base}/Users/${id}`,
      display: name,
      type: "User",
    }));
    const kept = shown.map((member) => (shape.of({ members: [member] }).members as Document[])[0]);
    parts.push(JSON.stringify(kept).slice(1, -1));
    await nextTurn(clock);
  }
  const text = members === 0 ? head : `${head.slice(0, -1)},"members":[${parts.join(",")}]}`;
  return { version, location, text, members };
}

function groupsOf({ reader, base }: PresentNeeds, rows: readonly User[]): ReadonlyMap<number, object[]> {
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

function inOrder<R extends { pk: number }>(pks: readonly number[], rows: readonly R[]): R[] {
  const byPk = new Map(rows.map((row) => [row.pk, row]));
  return pks.flatMap((pk) => byPk.get(pk) ?? []);
}

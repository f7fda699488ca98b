import { type Checking, expect, heardWords, refuses } from "./findings.ts";
import type { Heard } from "./target.ts";

/** Puts rows into domains and takes them out again, from the side that the path shows. @source service-api.md, Domain membership paths; decisions.md 4 */
export async function checkMembership(checking: Checking): Promise<void> {
  const { path, rows } = checking;
  const place = await placeOf(checking);
  const [first, second, top] = [await rows.make("domainId"), await rows.make("domainId"), await topDomain(checking)];
  const demote = await place.join(first, {});
  expect(checking, refuses(demote, "demote", "invalid-value"), `without demote: ${heardWords(demote)}`, {
    field: "demote",
  });
  await joined(checking, place, first, { demote: true }, "demote");
  await joined(checking, place, second, {}, "id");
  const promote = await place.join(top, {});
  expect(checking, refuses(promote, "promote", "invalid-value"), `without promote: ${heardWords(promote)}`, {
    field: "promote",
  });
  await joined(checking, place, top, { promote: true }, "promote");
  await joined(checking, place, first, { demote: true }, "demote");
  await joined(checking, place, second, {}, "id");
  const left = await place.leave(first);
  const fine = left.status === 200 && String(left.body?.message).startsWith("deleted ");
  expect(checking, fine, `DELETE answered ${heardWords(left)}`, { operation: "delete" });
  expect(checking, path.fields.length > 0, "no fields");
}

interface Place {
  join(domain: string, how: object): Promise<Heard>;
  leave(domain: string): Promise<Heard>;
}

async function placeOf({ path, rows, target }: Checking): Promise<Place> {
  const [family = "", inner = ""] = [path.at.split("/")[1], path.at.split("/").at(-1)];
  if (inner === "domains") {
    const name = /\{(\w+)\}/.exec(path.at)?.[1] as string;
    const at = `/v1/${family}/${await rows.make(name)}/domains`;
    return {
      join: (id, how) => target.ask("POST", at, { id, ...how }),
      leave: (id) => target.ask("DELETE", `${at}/${id}`),
    };
  }
  const id = await rows.make(idNameOf(inner));
  return {
    join: (domain, how) => target.ask("POST", `/v1/domains/${domain}/${inner}`, { id, ...how }),
    leave: (domain) => target.ask("DELETE", `/v1/domains/${domain}/${inner}/${id}`),
  };
}

async function joined(checking: Checking, place: Place, domain: string, how: object, field: string): Promise<void> {
  const heard = await place.join(domain, how);
  expect(checking, heard.status === 200, `POST answered ${heardWords(heard)}`, { operation: "post", field });
}

async function topDomain({ target }: Checking): Promise<string> {
  const { body } = await target.ask("GET", "/v1/domains?limit=1000");
  const domains = (body?.data ?? []) as { id: string; parentId: string | null }[];
  return domains.find(({ parentId }) => parentId === null)?.id ?? "";
}

/** `messageTemplateId` of `message-templates`. */
function idNameOf(family: string): string {
  return `${family.replace(/s$/, "").replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())}Id`;
}

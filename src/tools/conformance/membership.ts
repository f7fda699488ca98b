import { type CheckContext, describeResponse, expectThat, isRejection } from "./findings.ts";
import type { TargetResponse } from "./target.ts";

/** Puts rows into domains and takes them out again, from the side that the path shows. @source service-api.md, Domain membership paths; decisions.md 4 */
export async function checkMembership(checking: CheckContext): Promise<void> {
  const { path, rows } = checking;
  const place = await membershipEndpointOf(checking);
  const [first, second, top] = [
    await rows.createFresh("domainId"),
    await rows.createFresh("domainId"),
    await topDomain(checking),
  ];
  const demote = await place.join(first, {});
  expectThat(checking, isRejection(demote, "demote", "invalid-value"), `without demote: ${describeResponse(demote)}`, {
    field: "demote",
  });
  await expectJoined(checking, place, first, { demote: true }, "demote");
  await expectJoined(checking, place, second, {}, "id");
  const promote = await place.join(top, {});
  expectThat(
    checking,
    isRejection(promote, "promote", "invalid-value"),
    `without promote: ${describeResponse(promote)}`,
    {
      field: "promote",
    },
  );
  await expectJoined(checking, place, top, { promote: true }, "promote");
  await expectJoined(checking, place, first, { demote: true }, "demote");
  await expectJoined(checking, place, second, {}, "id");
  const left = await place.leave(first);
  const fine = left.status === 200 && String(left.body?.message).startsWith("deleted ");
  expectThat(checking, fine, `DELETE answered ${describeResponse(left)}`, { operation: "delete" });
  expectThat(checking, path.fields.length > 0, "no fields");
}

interface MembershipEndpoint {
  join(domain: string, how: object): Promise<TargetResponse>;
  leave(domain: string): Promise<TargetResponse>;
}

async function membershipEndpointOf({ path, rows, target }: CheckContext): Promise<MembershipEndpoint> {
  const [family = "", inner = ""] = [path.at.split("/")[1], path.at.split("/").at(-1)];
  if (inner === "domains") {
    const name = /\{(\w+)\}/.exec(path.at)?.[1] as string;
    const at = `/v1/${family}/${await rows.createFresh(name)}/domains`;
    return {
      join: (id, how) => target.request("POST", at, { id, ...how }),
      leave: (id) => target.request("DELETE", `${at}/${id}`),
    };
  }
  const id = await rows.createFresh(idNameOf(inner));
  return {
    join: (domain, how) => target.request("POST", `/v1/domains/${domain}/${inner}`, { id, ...how }),
    leave: (domain) => target.request("DELETE", `/v1/domains/${domain}/${inner}/${id}`),
  };
}

async function expectJoined(
  checking: CheckContext,
  place: MembershipEndpoint,
  domain: string,
  how: object,
  field: string,
): Promise<void> {
  const heard = await place.join(domain, how);
  expectThat(checking, heard.status === 200, `POST answered ${describeResponse(heard)}`, { operation: "post", field });
}

async function topDomain({ target }: CheckContext): Promise<string> {
  const { body } = await target.request("GET", "/v1/domains?limit=1000");
  const domains = (body?.data ?? []) as { id: string; parentId: string | null }[];
  return domains.find(({ parentId }) => parentId === null)?.id ?? "";
}

/** `messageTemplateId` of `message-templates`. */
function idNameOf(family: string): string {
  return `${family.replace(/s$/, "").replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())}Id`;
}

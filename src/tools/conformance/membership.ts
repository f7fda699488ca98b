import { type CheckContext, describeResponse, expectThat, isRejection } from "./findings.ts";
import type { TargetResponse } from "./target.ts";

/** Adds rows to domains and removes them, from the side that the path belongs to. @source docs/decisions/0004-domains.md */
export async function checkMembership(context: CheckContext): Promise<void> {
  const { path, rows } = context;
  const endpoint = await membershipEndpointOf(context);
  const [first, second, top] = [
    await rows.createFresh("domainId"),
    await rows.createFresh("domainId"),
    await topDomain(context),
  ];
  const demote = await endpoint.join(first, {});
  expectThat(context, isRejection(demote, "demote", "invalid-value"), `without demote: ${describeResponse(demote)}`, {
    field: "demote",
  });
  await expectJoined(context, endpoint, first, { demote: true }, "demote");
  await expectJoined(context, endpoint, second, {}, "id");
  const promote = await endpoint.join(top, {});
  expectThat(
    context,
    isRejection(promote, "promote", "invalid-value"),
    `without promote: ${describeResponse(promote)}`,
    {
      field: "promote",
    },
  );
  await expectJoined(context, endpoint, top, { promote: true }, "promote");
  await expectJoined(context, endpoint, first, { demote: true }, "demote");
  await expectJoined(context, endpoint, second, {}, "id");
  const deleted = await endpoint.leave(first);
  const isExpected = deleted.status === 200 && String(deleted.body?.message).startsWith("deleted ");
  expectThat(context, isExpected, `DELETE returned ${describeResponse(deleted)}`, { operation: "delete" });
  expectThat(context, path.fields.length > 0, "no fields");
}

interface MembershipEndpoint {
  join(domain: string, flags: object): Promise<TargetResponse>;
  leave(domain: string): Promise<TargetResponse>;
}

async function membershipEndpointOf({ path, rows, target }: CheckContext): Promise<MembershipEndpoint> {
  const [family = "", inner = ""] = [path.at.split("/")[1], path.at.split("/").at(-1)];
  if (inner === "domains") {
    const name = /\{(\w+)\}/.exec(path.at)?.[1] as string;
    const at = `/v1/${family}/${await rows.createFresh(name)}/domains`;
    return {
      join: (id, flags) => target.request("POST", at, { id, ...flags }),
      leave: (id) => target.request("DELETE", `${at}/${id}`),
    };
  }
  const id = await rows.createFresh(idNameOf(inner));
  return {
    join: (domain, flags) => target.request("POST", `/v1/domains/${domain}/${inner}`, { id, ...flags }),
    leave: (domain) => target.request("DELETE", `/v1/domains/${domain}/${inner}/${id}`),
  };
}

async function expectJoined(
  context: CheckContext,
  endpoint: MembershipEndpoint,
  domain: string,
  flags: object,
  field: string,
): Promise<void> {
  const response = await endpoint.join(domain, flags);
  expectThat(context, response.status === 200, `POST returned ${describeResponse(response)}`, {
    operation: "post",
    field,
  });
}

async function topDomain({ target }: CheckContext): Promise<string> {
  const { body } = await target.request("GET", "/v1/domains?limit=1000");
  const domains = (body?.data ?? []) as { id: string; parentId: string | null }[];
  return domains.find(({ parentId }) => parentId === null)?.id ?? "";
}

/** `message-templates` to `messageTemplateId`. */
function idNameOf(family: string): string {
  return `${family.replace(/s$/, "").replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())}Id`;
}

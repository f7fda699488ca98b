import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deprecationHeaders } from "../../src/http/deprecation.ts";
import { ON_PREMISES_FAMILIES, onPremisesPaths } from "../../src/http/on-premises-paths.ts";
import { servedActions } from "../../src/http/served-actions.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { text } from "../../src/schema/field.ts";
import { defineResource } from "../../src/schema/resource.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { type ApiResult, startTestDaemon, type TestDaemon } from "../support/daemon.ts";

const OLD = defineResource({
  name: "old-things",
  doc: "Something on its way out.",
  paths: [{ at: "old-things", deprecated: { since: "2026-01-01", sunset: "2027-01-01", successor: "v1/sites" } }],
  idParam: "oldThingId",
  scope: "organisation",
  replicate: "local",
  fields: { name: text("Name.", { required: true }) },
});

interface Operation {
  parameters: unknown;
  requestBody?: unknown;
  responses: unknown;
  "x-alias-of"?: string;
}

let daemon: TestDaemon;
let paths: Record<string, Record<string, Operation>>;
beforeAll(async () => {
  const declarations = [...(await loadDeclarations([BUILT_IN_DECLARATIONS])), OLD];
  daemon = await startTestDaemon({ declarations });
  paths = (await daemon.call<{ paths: typeof paths }>("GET", "/openapi.json")).body.paths;
});
afterAll(() => daemon.stop());

async function ask(
  method: string,
  path: string,
  body?: object,
  token = daemon.first.token,
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
): Promise<ApiResult<any>> {
  const response = await fetch(`${daemon.url}/api${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body ? JSON.stringify(body) : null,
  });
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
}

async function userWith(...grants: string[]): Promise<string> {
  const user = await daemon.call<{ id: string }>("POST", "/users", {
    name: "Somebody",
    email: `${grants.length}@b.org`,
  });
  for (const grant of grants) {
    const [verb, spec] = grant.split(" ");
    await daemon.call("POST", `/users/${user.body.id}/user-permissions`, { verb, spec });
  }
  const made = await daemon.call<{ token: string }>("POST", `/users/${user.body.id}/tokens`, { name: "test" });
  return made.body.token;
}

describe("families of the appliance", () => {
  it("are described equally under both prefixes, method by method", async () => {
    const actions = servedActions(createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])));
    const below = ON_PREMISES_FAMILIES.flatMap(({ path }) =>
      actions.filter(({ at, outsideVersion }) => !outsideVersion && `${at}/`.startsWith(`${path}/`)),
    );
    expect(below.length).toBeGreaterThan(50);
    for (const action of below) {
      const [alias] = onPremisesPaths(action);
      const method = action.method;
      const [older, newer] = [paths[`/v1/${action.at}`]?.[method], paths[`/${alias?.at}`]?.[method]];
      expect([action.at, newer?.["x-alias-of"]]).toEqual([action.at, `/v1/${action.at}`]);
      expect(newer?.requestBody).toEqual(older?.requestBody);
      expect(newer?.responses).toEqual(older?.responses);
      const given = Object.keys(alias?.family.fixedIds ?? {});
      const parameters = (older?.parameters ?? []) as { name?: string; in?: string }[];
      const left = parameters.filter(({ name = "", in: place }) => place !== "path" || !given.includes(name));
      expect(newer?.parameters).toEqual(left);
    }
  });

  it("return the same rows, with the names of either prefix", async () => {
    const made = await ask("POST", "/onprem/v1/recipient-groups", { name: "Hall", filterType: "REJECT" });
    expect(made.status).toBe(200);
    const { id } = made.body;
    expect((await ask("GET", `/v1/device-groups/${id}`)).body).toEqual(made.body);
    expect((await ask("PUT", `/onprem/v1/recipient-groups/${id}`, { name: "Halls" })).body.name).toBe("Halls");
    const listed = await ask("GET", "/onprem/v1/recipient-groups?limit=1");
    expect(Object.keys(listed.body)).toEqual(["total", "partial", "previous", "next", "data"]);
    expect((await ask("POST", `/onprem/v1/recipient-groups/${id}/clone`)).body.name).toBe("Halls (Copy)");
    expect((await ask("DELETE", "/onprem/v1/recipient-groups", { id })).body.message).toBe(`deleted ${id}`);
    expect((await ask("GET", `/v1/device-groups/${id}`)).status).toBe(404);
  });

  it("reach the appliances without naming their extension", async () => {
    const [own] = (await ask("GET", "/onprem/v1/endpoints")).body.data;
    const older = `/v1/extensions/${ONPREM_EXTENSION_ID}/endpoints/${own.id}`;
    expect((await ask("GET", `/onprem/v1/endpoints/${own.id}`)).body).toEqual((await ask("GET", older)).body);
    expect((await ask("GET", `/onprem/v1/endpoints/${own.id}/devices`)).body.total).toBe(0);
    const other = await ask("PUT", `/onprem/v1/endpoints/${own.id}`, { id: daemon.first.userId });
    expect([other.status, other.body.errors[0].field]).toEqual([400, "id"]);
  });

  it("refuse the same, with the same words", async () => {
    const pairs = [
      ["POST", "/v1/device-groups", "/onprem/v1/recipient-groups", {}],
      ["POST", "/v1/device-groups", "/onprem/v1/recipient-groups", { name: "a", filterType: "MAYBE" }],
      ["GET", "/v1/device-groups?limit=0", "/onprem/v1/recipient-groups?limit=0"],
      ["PATCH", "/v1/device-groups", "/onprem/v1/recipient-groups"],
      ["PUT", "/v1/device-groups", "/onprem/v1/recipient-groups", {}],
      ["GET", "/v1/message-templates/none", "/onprem/v1/messages/none"],
    ] as const;
    for (const [method, older, newer, body] of pairs) {
      const [one, other] = [await ask(method, older, body), await ask(method, newer, body)];
      expect([newer, one.status >= 400]).toEqual([newer, true]);
      expect({ ...other.body, requestId: "" }).toEqual({ ...one.body, requestId: "" });
      expect(other.headers.get("allow")).toBe(one.headers.get("allow"));
    }
  });

  it("ask for the permission of the path below v1", async () => {
    const reader = await userWith("get /device-groups/*");
    expect((await ask("GET", "/onprem/v1/recipient-groups", undefined, reader)).status).toBe(200);
    expect((await ask("POST", "/onprem/v1/recipient-groups", { name: "x" }, reader)).status).toBe(403);
    const misled = await userWith("get /recipient-groups/*", "get /onprem/*");
    expect((await ask("GET", "/onprem/v1/recipient-groups", undefined, misled)).status).toBe(403);
    const nobody = await fetch(`${daemon.url}/api/onprem/v1/recipient-groups`);
    expect(nobody.status).toBe(401);
  });

  it("count a repeated key once, however the path is spelt", async () => {
    const post = (path: string) =>
      fetch(`${daemon.url}/api${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${daemon.first.token}`,
          "content-type": "application/json",
          "idempotency-key": "once",
        },
        body: JSON.stringify({ name: "Once" }),
      }).then((response) => response.json() as Promise<{ id: string }>);
    const [one, other] = [await post("/v1/device-groups"), await post("/onprem/v1/recipient-groups")];
    expect(other.id).toBe(one.id);
  });
});

describe("the sending path of a template", () => {
  it("goes to the recipients named, or to the template's", async () => {
    const list = (await ask("POST", "/v1/distribution-lists", { name: "All" })).body.id;
    const template = (
      await ask("POST", "/onprem/v1/messages", {
        name: "Fire",
        subject: "Fire",
        distributionListIds: [list],
        userIdsCustomizable: true,
      })
    ).body.id;
    const { userId } = daemon.first;
    const sent = await ask("POST", `/onprem/v1/messages/${template}`, { recipients: [{ id: userId, type: "user" }] });
    expect([sent.status, sent.body.messageTemplateId, sent.body.userIds]).toEqual([200, template, [userId]]);
    const own = await ask("POST", `/onprem/v1/messages/${template}`, {});
    expect([own.body.distributionListIds, own.body.userIds]).toEqual([[list], []]);
  });

  it.each([
    ["no list", "all", "recipients", "invalid-value"],
    ["an entry that is none", [1], "recipients[0]", "invalid-value"],
    ["no id", [{ type: "user" }], "recipients[0].id", "required"],
    ["no type", [{ id: "0190b7c2-7f3a-7000-8000-000000000000" }], "recipients[0].type", "required"],
    [
      "another type",
      [{ id: "0190b7c2-7f3a-7000-8000-000000000000", type: "toString" }],
      "recipients[0].type",
      "invalid-value",
    ],
  ])("is refused with %s", async (_case, recipients, field, type) => {
    const template = (await ask("POST", "/v1/message-templates", { name: "A", subject: "B" })).body.id;
    const { status, body } = await ask("POST", `/onprem/v1/messages/${template}`, { recipients });
    expect([status, body.errors[0].field, body.errors[0].type]).toEqual([400, field, type]);
  });

  it("requires the permission to create notifications", async () => {
    const template = (await ask("POST", "/v1/message-templates", { name: "A", subject: "B" })).body.id;
    const token = await userWith("get /message-templates/*", "post /message-templates", "put /message-templates/*");
    const path = `/onprem/v1/messages/${template}`;
    expect((await ask("POST", path, { recipients: [] }, token)).status).toBe(403);
  });
});

describe("versions", () => {
  it.each(["/v2/users", "/v0/users/1", "/v11", "/onprem/v2/bells"])(
    "%s is not found, and the answer says why",
    async (path) => {
      const { status, body } = await ask("GET", path);
      expect([status, body.type]).toEqual([404, "not-found"]);
      expect(body.message).toMatch(/^API version v\d+ is not supported; use v1\.$/);
    },
  );

  it("announce deprecations and their end in every response", async () => {
    const made = await ask("POST", "/v1/old-things", { name: "a" });
    const refused = await ask("POST", "/v1/old-things", {});
    for (const { headers } of [made, refused]) {
      expect(headers.get("deprecation")).toBe("@1767225600");
      expect(headers.get("sunset")).toBe("Fri, 01 Jan 2027 00:00:00 GMT");
      expect(headers.get("link")).toBe('</api/v1/sites>; rel="successor-version"');
    }
    expect(paths["/v1/old-things"]?.get).toMatchObject({
      deprecated: true,
      description: "Deprecated since 2026-01-01, served until 2027-01-01; use `/v1/sites` instead.",
    });
    expect((await ask("GET", "/v1/session")).headers.get("deprecation")).toBeNull();
    expect(deprecationHeaders({ since: "2026-01-01" })).toEqual({ Deprecation: "@1767225600" });
  });
});

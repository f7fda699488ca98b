import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OpenApiDocument } from "../../../../src/http/openapi/document.ts";
import { describeServedApi } from "../../../../src/http/served-actions.ts";
import { createCatalogue } from "../../../../src/schema/catalogue.ts";
import { apiOperations } from "../../../../src/tools/clients/api-operations.ts";
import { writePostmanCollection } from "../../../../src/tools/clients/postman-collection.ts";
import { writePowerShellClient } from "../../../../src/tools/clients/powershell-client.ts";
import { writePythonClient } from "../../../../src/tools/clients/python-client.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../../src/wiring/load-declarations.ts";
import { startTestDaemon, type TestDaemon } from "../../../support/daemon.ts";
import { externalProgram } from "../../../support/external-programs.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";

let document: OpenApiDocument;
beforeAll(async () => {
  document = describeServedApi(createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])));
});

const python = externalProgram("python3");

python.describe("the Python client", () => {
  let daemon: TestDaemon;
  let folder: string;
  beforeAll(async () => {
    daemon = await startTestDaemon();
    folder = makeTempDir();
    writeFileSync(join(folder, "carillon_client.py"), writePythonClient(document));
  });
  afterAll(() => daemon.stop());

  const run = async (lines: readonly string[]): Promise<unknown> => {
    const head = [
      "import json, sys",
      "from carillon_client import ApiError, CarillonClient",
      "carillon = CarillonClient(sys.argv[1], token=sys.argv[2])",
    ];
    const script = [...head, ...lines].join("\n");
    const given = ["-c", script, daemon.url, daemon.first.token];
    return JSON.parse((await promisify(execFile)("python3", given, { cwd: folder })).stdout);
  };

  it("runs the basic workflow", async () => {
    const found = await run([
      "user = carillon.create_users({'name': 'Ann', 'email': 'ann@python.example.org'})",
      "staff = carillon.create_distribution_lists({'name': 'Staff & Söhne'})",
      "carillon.create_users_subscriptions(user['id'], {'distributionListId': staff['id']})",
      "device = {'type': 'Android', 'name': 'Phone', 'deviceIdentifier': 'python'}",
      "carillon.create_users_devices(user['id'], device)",
      "ask = carillon.create_confirmation_requests({'name': 'Safe?', 'options': ['Yes', 'No']})",
      "template = {'name': 'Fire', 'subject': 'Fire', 'confirmationRequestId': ask['id']}",
      "template['distributionListIds'] = [staff['id']]",
      "made = carillon.create_message_templates(template)",
      "sent = carillon.create_notifications({'messageTemplateId': made['id']})",
      "changed = carillon.update_distribution_lists_by_id(staff['id'], {'isSubscribable': True})",
      "listed = carillon.list_distribution_lists(ids=[staff['id']], isSubscribable=True)",
      "print(json.dumps([sent['subject'], sent['recipientCount'], changed['name'], listed['total']]))",
    ]);
    expect(found).toEqual(["Fire", 1, "Staff & Söhne", 1]);
  });

  it("reads lists page by page, and raises what the API refuses", async () => {
    const found = await run([
      "for n in range(5): carillon.create_distribution_lists({'name': 'Page %d' % n})",
      "names = [row['name'] for row in carillon.pages(carillon.list_distribution_lists, q='name:Page', limit=2)]",
      "def refusal(call):",
      "    try: call()",
      "    except ApiError as error: return [error.status, error.type, [each['field'] for each in error.errors]]",
      "missing = refusal(lambda: carillon.get_users_by_id('0190b7c2-7f3a-7000-8000-000000000000'))",
      "wrong = refusal(lambda: carillon.create_users({'name': ''}))",
      "stranger = refusal(lambda: CarillonClient(sys.argv[1] + '/api/').list_users())",
      "print(json.dumps([names, missing, wrong, stranger[:2]]))",
    ]);
    expect(found).toEqual([
      ["Page 0", "Page 1", "Page 2", "Page 3", "Page 4"],
      [404, "not-found", []],
      [400, "required", ["name"]],
      [401, "unauthorized"],
    ]);
  });

  it("renews the token of an application", async () => {
    const { body } = await daemon.call<{ clientId: string; clientSecret: string }>("POST", "/applications", {
      ...{ name: "Scripts", type: "confidential", userId: daemon.first.userId },
      scopes: ["urn:service:distribution-lists:read", "urn:service:users:read"],
    });
    const credentials = JSON.stringify([body.clientId, body.clientSecret, daemon.first.providerId]);
    const found = await run([
      `credentials = json.loads('${credentials}')`,
      "program = CarillonClient(sys.argv[1], credentials=credentials)",
      "tokens = []",
      "def token_after(step):",
      "    step()",
      "    program.list_users()",
      "    tokens.append(program.token)",
      "token_after(lambda: None)",
      "token_after(lambda: None)",
      // The token has expired by the client's clock, then by the server's.
      "token_after(lambda: setattr(program, '_renew_at', 0))",
      "token_after(lambda: setattr(program, 'token', 'carillon_revoked'))",
      "wrong = CarillonClient(sys.argv[1], credentials=[credentials[0], 'wrong', credentials[2]])",
      "def refused():",
      "    try: wrong.list_users()",
      "    except ApiError as error: return error.status",
      "print(json.dumps([[tokens.index(each) for each in tokens], refused()]))",
    ]);
    expect(found).toEqual([[0, 0, 2, 3], 401]);
  });

  it("uploads bytes", async () => {
    const found = await run([
      "load = carillon.create_load_definitions({'name': 'SIS'})",
      "table = 'name,email\\nZoë,zoe@python.example.org\\n'.encode()",
      "stored = carillon.update_load_definitions_file(load['id'], table, content_type='text/csv')",
      "print(json.dumps([load['type'], stored['uploadedAt'] is not None]))",
    ]);
    expect(found).toEqual(["table", true]);
  });
});

describe("generated files", () => {
  it("have every operation once", () => {
    const operations = apiOperations(document);
    const expected = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).filter((operation) => operation["x-alias-of"] === undefined),
    );
    expect(operations).toHaveLength(expected.length);
    const defined = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name);
    const methods = defined(writePythonClient(document), /^ {4}def ([a-z]\w*)\(self/gm);
    expect(new Set(methods).size).toBe(methods.length);
    // `redirect_request`, `request`, `renew` and `pages` beside them.
    expect(methods).toHaveLength(operations.length + 4);
    const functions = defined(writePowerShellClient(document), /^function (Invoke-Carillon\w+)/gm);
    expect([new Set(functions).size, functions.length]).toEqual([operations.length + 1, operations.length + 1]);
    const { item } = JSON.parse(writePostmanCollection(document)) as { item: { item: unknown[] }[] };
    expect(item.slice(1).flatMap((folder) => folder.item)).toHaveLength(operations.length);
  });

  it("have quoted placeholders, examples and variables", () => {
    expect(writePowerShellClient(document)).toContain(
      'Invoke-CarillonRequest -Method PUT -Path "/v1/users/$([uri]::EscapeDataString($UserId))" -Body $Body -Query $Query',
    );
    const { item, variable } = JSON.parse(writePostmanCollection(document));
    expect(variable.map(({ key }: { key: string }) => key)).toEqual(expect.arrayContaining(["url", "token", "userId"]));
    const folder = item.find(({ name }: { name: string }) => name === "distribution-lists");
    const { request } = folder.item.find(({ name }: { name: string }) => name === "createDistributionLists");
    expect(request).toMatchObject({ method: "POST", url: { raw: "{{url}}/api/v1/distribution-lists" } });
    expect(JSON.parse(request.body.raw)).toHaveProperty("name");
  });
});

it("the description has the webhook of triggers", () => {
  const body = document.webhooks.rowChanged?.post?.requestBody as
    | { content: Record<string, { schema: { properties: { type: { enum: string[] } } } }> }
    | undefined;
  const schema = body?.content["application/json"]?.schema;
  expect(schema?.properties.type.enum).toEqual(expect.arrayContaining(["users.created", "ring-lists.deleted"]));
});

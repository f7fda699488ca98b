import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiOperations } from "../../src/tools/clients/api-operations.ts";
import { firstSegment } from "../contract/contract-table.ts";
import { servedOperations } from "../contract/served-operations.ts";
import { createResponseValidator } from "../support/conformance.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

interface Document {
  openapi: string;
  paths: Record<string, Record<string, { operationId: string; security?: []; parameters: { $ref?: string }[] }>>;
  components: { schemas: Record<string, { examples?: unknown[] }> } & Record<string, Record<string, unknown>>;
}

const METHODS = ["get", "post", "put", "delete"];
const families = new Set(
  (await servedOperations()).map(({ operation }) => firstSegment(operation.split(" ")[1] as string)),
);

let daemon: TestDaemon;
let document: Document;
beforeAll(async () => {
  daemon = await startTestDaemon();
  document = (await daemon.call<Document>("GET", "/openapi.json")).body;
});
afterAll(() => daemon.stop());

async function ask(method: string, path: string): Promise<{ status: number; type: string }> {
  const filled = path.replace(/\{\w+\}/g, "0190b7c2-7f3a-7000-8000-000000000000");
  const response = await fetch(`${daemon.url}/api${filled}`, { method: method.toUpperCase() });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return { status: response.status, type: isJson ? String(JSON.parse(text).type) : "" };
}

describe("the API's description", () => {
  it("is valid OpenAPI 3.1", async () => {
    const result = await new Validator().validate(structuredClone(document) as never);
    expect(result.errors ?? []).toEqual([]);
    expect(document.openapi).toBe("3.1.0");
  });

  it("contains only families that are tested one by one", () => {
    expect(new Set(Object.keys(document.paths).map(firstSegment))).toEqual(families);
  });

  it("names every operation once and points to nothing that is not there", () => {
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((each) => each.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(200);
    const refs = [...JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)];
    const lost = refs.filter(([, kind = "", name = ""]) => !document.components[kind]?.[name]).map(([ref]) => ref);
    expect(lost).toEqual([]);
  });

  it.each([...families])("describes exactly what %s serves", async (family) => {
    for (const [path, methods] of Object.entries(document.paths).filter(([each]) => firstSegment(each) === family)) {
      const answers = await Promise.all(METHODS.map((method) => ask(method, path)));
      for (const [at, { status, type }] of answers.entries()) {
        const method = METHODS[at] as string;
        const served = type !== "method-not-allowed";
        expect([method, path, served]).toEqual([method, path, method in methods]);
        // Whoever has no token is refused, unless the operation is open to all.
        const isOpen = (methods[method] as { security?: unknown[] } | undefined)?.security?.length === 0;
        if (served && !isOpen) expect([method, path, status]).toEqual([method, path, 401]);
      }
    }
  });

  it("contains valid examples", () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addFormat("color", true).addFormat("binary", true);
    ajv.addSchema({ ...document, $id: "api" });
    const shown = Object.entries(document.components.schemas).filter(([, { examples }]) => examples);
    expect(shown.length).toBeGreaterThan(100);
    for (const [name, { examples = [] }] of shown) {
      const validate = ajv.compile({ $ref: `api#/components/schemas/${name}` });
      const faults = validate(examples[0]) ? [] : validate.errors;
      expect([name, faults]).toEqual([name, []]);
    }
  });

  it("contains a valid example for every request", () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addFormat("color", true).addFormat("binary", true);
    ajv.addSchema({ ...document, $id: "api" });
    let count = 0;
    for (const { method, path, contentTypes, example } of apiOperations(document as never)) {
      if (!contentTypes.includes("application/json")) continue;
      const pointer = ["paths", path, method, "requestBody", "content", "application/json", "schema"]
        .map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1")))
        .join("/");
      const validate = ajv.compile({ $ref: `api#/${pointer}` });
      expect([method, path, validate(example) ? [] : validate.errors]).toEqual([method, path, []]);
      count += 1;
    }
    expect(count).toBeGreaterThan(250);
  });

  it("describes the response to a bad health, and that of a start", () => {
    const isFit = createResponseValidator(document as never);
    const of = (body: object) => ({
      ...{ method: "GET", path: "/api/health", status: 503, contentType: "application/json" },
      text: JSON.stringify(body),
    });
    expect(isFit(of({ status: "RED", version: "0.2.0", since: "2026-01-12T08:00:00.000Z" }))).toBeNull();
    const starting = { status: 503, type: "starting", message: "Starting.", errors: [], requestId: "1" };
    expect(isFit(of(starting))).toBeNull();
    expect(isFit(of({ color: "RED" }))).not.toBeNull();
  });

  it("answers 304 if unchanged", async () => {
    const first = await fetch(`${daemon.url}/api/v1/openapi.json`);
    const again = await fetch(`${daemon.url}/api/v1/openapi.json`, {
      headers: { "if-none-match": first.headers.get("etag") ?? "" },
    });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });

  it("is readable in a browser, page by page, without scripts and external files", async () => {
    const overview = await (await fetch(`${daemon.url}/api/v1/docs`)).text();
    const families = [...overview.matchAll(/href="\/api\/v1\/docs\/([\w-]+)"/g)].map(([, name]) => name as string);
    expect(families).toContain("notifications");
    for (const family of families) {
      const response = await fetch(`${daemon.url}/api/v1/docs/${family}`);
      const text = await response.text();
      expect([family, response.status, response.headers.get("content-type")]).toEqual([
        family,
        200,
        "text/html; charset=utf-8",
      ]);
      expect(response.headers.get("content-security-policy")).toContain("default-src 'self'");
      expect(text).not.toMatch(/<script|https?:\/\/(?!example)|undefined|\[object/);
      const anchors = [...text.matchAll(/href="#(\w+)"/g)].map(([, name]) => name);
      expect(anchors.filter((name) => !text.includes(`id="${name}"`))).toEqual([]);
    }
    expect((await fetch(`${daemon.url}/api/v1/docs/nothing`)).status).toBe(404);
  });
});

describe("an answer in any test", () => {
  const judge = () => createResponseValidator(document as never);
  const id = "0190b7c2-7f3a-7000-8000-000000000000";
  const fine = { status: 200, contentType: "application/json; charset=utf-8", method: "GET" };

  it.each([
    ["a member that nobody described", "/api/v1/session", { more: 1 }, "additional properties"],
    ["a member that is missing", "/api/v1/session", { userId: undefined }, "userId"],
    ["a value of another kind", "/api/v1/session", { idleTimeout: "30" }, "/idleTimeout"],
  ])("is refused with %s", async (_case, path, change, words) => {
    const { body } = await daemon.call("GET", path.slice("/api/v1".length));
    expect(judge()({ ...fine, path, text: JSON.stringify(body) })).toBeNull();
    expect(judge()({ ...fine, path, text: JSON.stringify({ ...body, ...change }) })).toContain(words);
  });

  it.each([
    ["another status", { path: "/api/v1/session", status: 204, contentType: null }, "status 204"],
    ["another content type", { path: "/api/v1/session", contentType: "text/html" }, "content type text/html"],
    ["an error without its body", { path: `/api/v1/users/${id}`, status: 404, text: '{"status":404}' }, "does not fit"],
    ["a path that is not described", { path: "/api/v1/secrets" }, "is not described"],
    ["a method that is not described", { path: "/api/v1/audit", method: "POST" }, "is not described"],
  ])("is refused with %s", (_case, change, words) => {
    expect(judge()({ ...fine, text: "{}", ...change } as never)).toContain(words);
  });
});

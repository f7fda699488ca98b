import { request } from "node:http";
import { connect } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
let list: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  list = (await api.call("POST", "/distribution-lists", { json: { name: "Staff" } })).body.id;
  for (let at = 0; at < 20; at++) await api.call("POST", "/distribution-lists", { json: { name: `List ${at}` } });
});
afterAll(() => api.close());

/** Exactly what goes over the line: no decoding. */
function raw(method: string, path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    const sent = request(`${api.base}${path}`, {
      method,
      headers: { authorization: `Bearer ${api.token}`, ...headers },
    });
    sent.on("response", (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(chunks) }),
      );
    });
    sent.on("error", reject);
    sent.end();
  });
}

describe("conditional requests", () => {
  it.each([
    ["a row", () => `/distribution-lists/${list}`],
    ["a list", () => "/distribution-lists?limit=2"],
    ["the session", () => "/session"],
  ])("%s that is known is not sent again", async (_what, path) => {
    const first = await raw("GET", path());
    const etag = String(first.headers.etag);
    expect(etag).toMatch(/^"[\w.-]+"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await raw("GET", path(), { "if-none-match": known });
      expect(again).toMatchObject({ status: 304, headers: { etag } });
      expect(again.bytes.length).toBe(0);
      expect(again.headers).not.toHaveProperty("content-length");
    }
    expect((await raw("GET", path(), { "if-none-match": '"other"' })).status).toBe(200);
  });

  it("includes derived fields in the ETag, but not in the row's version", async () => {
    const reader = await api.user("Reader", "get /distribution-lists/*");
    const path = `/distribution-lists/${list}`;
    const mine = await api.call("GET", path);
    const theirs = await api.call("GET", path, { token: reader.token });
    expect(theirs.headers.get("etag")).not.toBe(mine.headers.get("etag"));
    const headers = { "if-match": theirs.headers.get("etag") as string };
    expect((await api.call("PUT", path, { json: { name: "Staff" }, headers })).status).toBe(200);
  });

  it("requires the current version for a change", async () => {
    const path = `/distribution-lists/${list}`;
    const { headers } = await raw("GET", path, { "accept-encoding": "gzip" });
    const matching = { "if-match": `"other", ${headers.etag}` };
    expect((await api.call("PUT", path, { json: { isSubscribable: true }, headers: matching })).status).toBe(200);
    expectError(await api.call("PUT", path, { json: { name: "Late" }, headers: matching }), 409, "conflict");
    expectError(await api.call("DELETE", path, { headers: matching }), 409, "conflict");
    expect((await api.call("PUT", path, { json: { name: "Staff" }, headers: { "if-match": "*" } })).status).toBe(200);
  });
});

describe("fields in the query of a write", () => {
  it("count like fields of the body", async () => {
    const created = await api.call("POST", "/distribution-lists?name=In%20the%20query&isPublic=true");
    expect([created.status, created.body]).toEqual([200, expect.objectContaining({ name: "In the query" })]);
    const at = `/distribution-lists/${created.body.id}`;
    const changed = await api.call("PUT", `${at}?name=Renamed`);
    expect([changed.status, changed.body.name]).toEqual([200, "Renamed"]);
    expect((await api.call("GET", at)).body.name).toBe("Renamed");
    const group = await api.call(
      "POST",
      "/device-groups?name=Q&filterType=OR&filters[0][attribute]=Description&filters[0][comparison]=EQUALS&filters[0][value]=x&additionIds[]=A1&additionIds[]=A2",
    );
    expect(group.body).toMatchObject({
      filters: [{ attribute: "Description", value: "x" }],
      additionIds: ["A1", "A2"],
    });
    const snake = await api.call("PUT", `/device-groups/${group.body.id}?filter-type=AND`);
    expect(snake.body.filterType).toBe("AND");
  });

  it("give way to fields of the body, and are checked like those", async () => {
    const at = `/distribution-lists/${list}`;
    const both = await api.call("PUT", `${at}?name=Query`, { json: { name: "Body" } });
    expect(both.body.name).toBe("Body");
    const form = await api.call("PUT", `${at}?name=Query`, { form: [["name", "Form"]] });
    expect(form.body.name).toBe("Form");
    expectError(await api.call("PUT", `${at}?name=`), 400, "required", "name");
    const dry = await api.call("PUT", `${at}?name=Dry&dryRun=true`);
    expect(dry.body).toMatchObject({ name: "Dry", dryRun: expect.anything() });
    expect((await api.call("GET", at)).body.name).toBe("Form");
  });

  it("never contain credentials", async () => {
    const login = await fetch(`${api.base.replace(/\/v1$/, "")}/login?email=admin@example.org&password=x`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-carillon-console": "1" },
      body: "{}",
    });
    expect(login.status).toBe(400);
  });
});

describe("compression", () => {
  it("long answers are squeezed where that is taken", async () => {
    const plain = await raw("GET", "/distribution-lists");
    const squeezed = await raw("GET", "/distribution-lists", { "accept-encoding": "br, gzip" });
    expect(plain.headers).toMatchObject({ vary: "Accept-Encoding" });
    expect(squeezed.headers).toMatchObject({
      vary: "Accept-Encoding",
      "content-encoding": "gzip",
      etag: `W/${plain.headers.etag}`,
    });
    expect(gunzipSync(squeezed.bytes)).toEqual(plain.bytes);
    expect(squeezed.bytes.length).toBeLessThan(plain.bytes.length / 2);
    const known = { "accept-encoding": "gzip", "if-none-match": String(squeezed.headers.etag) };
    expect((await raw("GET", "/distribution-lists", known)).status).toBe(304);
  });
  it.each(["gzip;q=0", "gzip;q=0.0, br", "identity", "x-gzipped"])("not for %s", async (taken) => {
    const answer = await raw("GET", "/distribution-lists", { "accept-encoding": taken });
    expect(answer.headers).not.toHaveProperty("content-encoding");
  });
  it("short answers go as they are", async () => {
    const answer = await raw("GET", "/session", { "accept-encoding": "gzip" });
    expect(answer.headers).not.toHaveProperty("content-encoding");
  });
});

describe("methods", () => {
  it("HEAD says what GET would, without the body", async () => {
    for (const path of ["/distribution-lists", `/distribution-lists/${list}`]) {
      const got = await raw("GET", path);
      const head = await raw("HEAD", path);
      expect(head.bytes.length).toBe(0);
      const { "x-request-id": _one, date: _date, ...same } = got.headers;
      expect(head).toMatchObject({ status: 200, headers: same });
    }
    expect((await raw("HEAD", "/no-such-path")).status).toBe(404);
  });
  it("OPTIONS says what a path serves, to anybody", async () => {
    const options = async (path: string) => {
      const answer = await api.call("OPTIONS", path, { token: null });
      expect(answer.text).toBe("");
      return `${answer.status} ${answer.headers.get("allow")}`;
    };
    expect(await options("/distribution-lists")).toBe("204 DELETE, GET, HEAD, OPTIONS, POST, PUT");
    expect(await options("/session")).toBe("204 DELETE, GET, HEAD, OPTIONS");
    expectError(await api.call("OPTIONS", "/no-such-path"), 404, "not-found");
  });
});

describe("what a browser may do with data", () => {
  const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";
  it.each([
    ["a row", () => `/distribution-lists/${list}`],
    ["a list", () => "/distribution-lists"],
    ["an error", () => "/no-such-path"],
    ["the event stream", () => "/events"],
  ])("is nothing but to show it: %s", async (_what, path) => {
    const controller = new AbortController();
    const { headers } = await fetch(api.base + path(), {
      headers: { authorization: `Bearer ${api.token}` },
      signal: controller.signal,
    });
    controller.abort();
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-security-policy": policy,
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
  });
  it("goes for requests that are no HTTP, too", async () => {
    const { hostname, port } = new URL(api.base);
    const socket = connect(Number(port), hostname);
    socket.end("hello\r\n\r\n");
    const received = Buffer.concat((await socket.toArray()) as Buffer[]).toString();
    expect(received).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nX-Content-Type-Options: nosniff\r\n/);
  });
});

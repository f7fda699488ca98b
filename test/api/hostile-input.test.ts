import { existsSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SAMPLE_PNG } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";
import { expectError } from "./resource-suite.ts";

const SECRET = "Tr0ub4dor-and-3";
const BOUNDARY = "----edge";
const MULTIPART = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };

const dataDir = makeTempDir();
let api: ApiFixture;
let rowsBefore: unknown;
beforeAll(async () => {
  api = await openApi(dataDir);
});
afterAll(() => api.close());
beforeEach(() => {
  rowsBefore = written();
});
afterEach(() => {
  expect(written()).toEqual(rowsBefore);
  expect(api.logText()).not.toContain(SECRET);
  expect(api.logText()).not.toContain(api.token);
  expect(api.logText()).not.toContain('"level":50');
});

/** Everything that a write leaves behind: rows, records, files. Refused tokens are summed up in the audit, which is no write. */
function written(): unknown {
  const records = api.store.all(
    `SELECT (SELECT count(*) FROM audit_entries WHERE op <> 'credential-refused') audit,
       (SELECT max(seq) FROM changes) seq`,
  );
  const folder = join(dataDir, "files");
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  return { records, files: files.filter((entry) => entry.isFile()).map(({ name }) => name) };
}

function post(body: string | Uint8Array, headers: Record<string, string>): Promise<ReceivedResponse> {
  return api.call("POST", "/message-templates", { body, headers });
}

const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };

describe("JSON", () => {
  it.each([
    ["2 MB", `{"name":"${"x".repeat(2_000_000)}","subject":"s"}`, 413, "too-large"],
    [
      "100,000 levels of arrays",
      `{"name":"n","subject":"s","metadata":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
      400,
      "invalid-value",
    ],
    ["100,000 levels of objects", '{"a":'.repeat(100_000), 400, "invalid-value"],
    ["100,000 members", `{${Array.from({ length: 100_000 }, (_, at) => `"m${at}":1`).join()}}`, 400, "invalid-value"],
    ["cut off", '{"name":"n","subject":"s"', 400, "invalid-value"],
    ["nothing but a blank", " ", 400, "invalid-value"],
    ["a list", "[]", 400, "invalid-value"],
    ["null", "null", 400, "invalid-value"],
    ["a text", '"name"', 400, "invalid-value"],
    ["two values", '{"name":"n"}{"name":"n"}', 400, "invalid-value"],
    ["a prototype", '{"__proto__":{"name":"n","subject":"s"}}', 400, "required"],
    ["a constructor", '{"constructor":{"prototype":{"name":"n"}}}', 400, "required"],
    ["an unpaired surrogate", '{"name":"\\ud800","subject":"s"}', 400, "invalid-value"],
    ["NUL", '{"name":"a\\u0000b","subject":"s"}', 400, "invalid-value"],
    ["an endless number", `{"name":"n","subject":"s","expiration":${"9".repeat(400)}}`, 400, "invalid-value"],
    ["an object for a text", '{"name":{"toString":"x"},"subject":"s"}', 400, "invalid-value"],
  ])("%s", async (_what, body, status, type) => {
    expectError(await post(body, JSON_TYPE), status, type);
  });

  it("rejects invalid UTF-8", async () => {
    expectError(await post(Buffer.from('{"name":"\xff","subject":"s"}', "latin1"), JSON_TYPE), 400, "invalid-value");
  });
  it("2 MB without a length", async () => {
    const chunk = new TextEncoder().encode("x".repeat(100_000));
    let left = 20;
    const endless = new ReadableStream({
      pull(controller) {
        if (left-- > 0) controller.enqueue(chunk);
        else controller.close();
      },
    });
    expectError(await api.call("POST", "/users", { body: endless, headers: JSON_TYPE }), 413, "too-large");
  });
  it("keeps the process able to answer", async () => {
    expect((await api.call("GET", "/users")).status).toBe(200);
  });
});

describe("forms", () => {
  it.each([
    ["2 MB", `name=${"x".repeat(2_000_000)}`, 413, "too-large"],
    ["30,000 parameters", "a=1&".repeat(30_000), 400, "invalid-value"],
    ["100 levels", `name${"[a]".repeat(100)}=1`, 400, "invalid-value"],
    ["a list of 100,000", "userIds[]=1&".repeat(100_000).slice(0, 1_000_000), 400, "invalid-value"],
    ["a far index", "name=n&subject=s&userIds[999999999]=1", 400, "invalid-value"],
    ["a list for a text", "name[]=a&name[]=b&subject=s", 400, "invalid-value"],
    ["an object for a text", "name[a]=b&subject=s", 400, "invalid-value"],
    ["a text twice", "name=a&name=b&subject=s", 400, "invalid-value"],
    ["bad escapes", "name=%zz%&subject=%00", 400, "invalid-value"],
    ["a prototype", "__proto__[name]=n&__proto__[subject]=s", 400, "required"],
    ["JSON that is none", "name=n&subject=s&metadata={", 400, "invalid-value"],
    ["deep JSON", `name=n&subject=s&metadata=${"[".repeat(10_000)}`, 400, "invalid-value"],
    ["two domains", "name=n&subject=s&domain=a&domain=b", 400, "invalid-value"],
  ])("%s", async (_what, body, status, type) => {
    expectError(await post(body, FORM_TYPE), status, type);
  });
});

describe("multipart", () => {
  const field = (name: string, value: string) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const upload = (name: string, value: string) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="a.png"\r\n\r\n${value}\r\n`;
  const end = `--${BOUNDARY}--\r\n`;
  const named = field("name", "n") + field("subject", "s");
  const png = SAMPLE_PNG.toString("latin1");

  it.each([
    ["empty", "", 400, "required"],
    ["cut off in a boundary", `${named}--${BOUNDARY}`, 400, "invalid-value"],
    ["cut off in a head", `${named}--${BOUNDARY}\r\nContent-Dispo`, 400, "invalid-value"],
    [
      "cut off in a field",
      `${field("name", "n")}--${BOUNDARY}\r\nContent-Disposition: form-data; name="subject"\r\n\r\ns`,
      400,
      "invalid-value",
    ],
    ["cut off in a file", `${named}${upload("image", png).slice(0, -20)}`, 400, "invalid-value"],
    ["cut off behind a file", `${named}${upload("image", png)}`, 400, "invalid-value"],
    ["a part without name", `--${BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\nx\r\n${end}`, 400, "invalid-value"],
    ["a part without head, which is skipped", `--${BOUNDARY}\r\n\r\nx\r\n${end}`, 400, "required"],
    ["a huge head", `--${BOUNDARY}\r\nX: ${"x".repeat(50_000)}\r\n\r\nx\r\n${end}`, 400, "invalid-value"],
    ["2 MB of text", field("name", "x".repeat(2_000_000)) + end, 413, "too-large"],
    ["20,000 parts", field("a", "1").repeat(20_000) + end, 413, "too-large"],
    [
      "a page that calls itself a picture",
      named + upload("image", "<html><script>") + end,
      415,
      "unsupported-media-type",
    ],
    [
      "a picture with a name that is too long",
      upload("image", png) + field("name", "n".repeat(300)) + end,
      400,
      "invalid-value",
    ],
    ["two files for one field", named + upload("image", png) + upload("image", png) + end, 400, "invalid-value"],
    ["a text for a file", named + field("image", "abc") + end, 400, "invalid-value"],
    ["a token in the body", field("access_token", "abc") + end, 400, "required"],
  ])("%s", async (_what, body, status, type) => {
    expectError(await post(Buffer.from(body, "latin1"), MULTIPART), status, type);
  });
  it("rejects a missing boundary", async () => {
    expectError(await post("x", { "content-type": "multipart/form-data" }), 400, "invalid-value");
  });
  it("rejects a file larger than the field allows", async () => {
    const big = new File([SAMPLE_PNG, new Uint8Array(21 * 1_048_576)], "a.png");
    const answer = await api.call("POST", "/message-templates", {
      multipart: [
        ["image", big],
        ["name", "n"],
      ],
    });
    expectError(answer, 413, "too-large", "image");
  });
});

describe("kinds of body", () => {
  it.each([
    ["text/plain", "name=n"],
    ["application/xml", "<a/>"],
    ["application/json; charset=utf-16", "{}"],
    ["application/json; charset=latin1", "{}"],
    ["", "{}"],
    ["constructor", "{}"],
  ])("%s", async (type, body) => {
    expectError(await post(body, { "content-type": type }), 415, "unsupported-media-type");
  });
  it("rejects content encoding", async () => {
    expectError(await post("{}", { ...JSON_TYPE, "content-encoding": "gzip" }), 415, "unsupported-media-type");
  });
});

describe("tokens", () => {
  it.each([
    ["none", {}, "", 401, "unauthorized"],
    ["an unknown one", { authorization: `Bearer ${SECRET}` }, "", 401, "unauthorized"],
    ["another scheme", { authorization: `Basic ${SECRET}` }, "", 401, "unauthorized"],
    ["no value", { authorization: "Bearer" }, "", 401, "unauthorized"],
    ["several values", { authorization: "Bearer a b" }, "", 401, "unauthorized"],
    ["a huge one", { authorization: `Bearer ${"a".repeat(12_000)}` }, "", 401, "unauthorized"],
    ["an unknown one in the query", {}, `access_token=${SECRET}`, 401, "unauthorized"],
    ["two in the query", {}, `access_token=${SECRET}&access_token=b`, 400, "invalid-value"],
    ["one in header and query", { authorization: `Bearer ${SECRET}` }, `access_token=${SECRET}`, 400, "invalid-value"],
    ["an object", {}, `access_token[a]=${SECRET}`, 400, "invalid-value"],
  ])("%s", async (_what, headers, query, status, type) => {
    expectError(await api.call("GET", `/users?${query}`, { token: null, headers }), status, type);
  });
  it("answers 401 to an unknown token while the body is still being sent", async () => {
    const big = new File([new Uint8Array(30 * 1_048_576)], "a.png");
    const multipart = [
      ["name", "n"],
      ["image", big],
    ] as const;
    expectError(await api.call("POST", "/message-templates", { token: SECRET, multipart }), 401, "unauthorized");
  });
  it("name the scheme that is wanted", async () => {
    const answer = await api.call("GET", "/users", { token: null });
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });
  it("are taken from header, query and form", async () => {
    const inQuery = await api.call("GET", `/users?access_token=${api.token}`, { token: null });
    expect(inQuery.status).toBe(200);
    const form: [string, string][] = [
      ["access_token", api.token],
      ["name", ""],
    ];
    expectError(await api.call("POST", "/users", { token: null, form }), 400, "required", "name");
    expectError(
      await api.call("POST", "/users", { token: null, form: [["access_token", SECRET]] }),
      401,
      "unauthorized",
    );
    expectError(await api.call("POST", "/users", { form }), 400, "invalid-value");
    expectError(
      await api.call("POST", "/users", { token: null, json: { access_token: api.token } }),
      401,
      "unauthorized",
    );
  });
});

describe("addresses and queries", () => {
  it.each([
    ["a domain that is none", "/users?domain=abc", 400, "invalid-value"],
    ["a long query", `/users?name=${"x".repeat(10_000)}`, 200, ""],
    ["thousands of parameters", `/users?${"a&".repeat(5_000)}`, 200, ""],
    ["a deep query", `/users?a${"[b]".repeat(200)}=1`, 400, "invalid-value"],
    ["a list for a filter", "/users?name[]=a&name[]=b", 400, "invalid-value"],
    ["ids that are none", "/users?ids[]=abc", 400, "invalid-value"],
    ["SQL", "/users?sort=name;DROP TABLE users", 400, "invalid-value"],
    ["no such path", "/nothing", 404, "not-found"],
    ["an id that is none", "/users/abc", 404, "not-found"],
    ["an encoded slash", "/users/a%2Fb", 404, "not-found"],
    ["bad escapes", "/users/%zz", 404, "not-found"],
    ["a way up", "/users/..%2f..%2fetc", 404, "not-found"],
    ["empty segments", "/users//devices", 404, "not-found"],
    ["hundreds of segments", "/a".repeat(500), 404, "not-found"],
    ["another case", "/Users", 404, "not-found"],
    ["outside the API", "/x/no-such-plugin/a", 404, "not-found"],
  ])("%s", async (_what, path, status, type) => {
    const answer = await api.call("GET", path);
    if (status === 200) expect(answer.body.data).toEqual(expect.any(Array));
    else expectError(answer, status, type);
  });
  it("rejects unknown methods", async () => {
    for (const method of ["PATCH", "PROPFIND", "LOCK"]) {
      const answer = await api.call(method, "/users");
      expectError(answer, 405, "method-not-allowed");
      expect(answer.headers.get("allow")).toBe("DELETE, GET, HEAD, OPTIONS, POST, PUT");
    }
  });
  it("another method by parameter, which is off", async () => {
    expect((await api.call("GET", `/users/${api.adminId}?_method=DELETE`)).status).toBe(200);
  });
  it("rejects an acting domain of another organisation", async () => {
    const headers = { "x-service-domain": "3f2504e0-4f89-41d3-9a0c-0305e82c3301" };
    expectError(await api.call("GET", "/users", { headers }), 400, "invalid-value", "domain");
    // The parameter wins.
    expect((await api.call("GET", `/users?domain=${api.rootId}`, { headers })).status).toBe(200);
    const json = { domain: "3f2504e0-4f89-41d3-9a0c-0305e82c3301", name: "n" };
    expectError(await api.call("POST", "/users", { json }), 400, "invalid-value", "domain");
    // In the body too.
    expectError(await api.call("POST", "/users", { json: { domain: api.rootId }, headers }), 400, "required", "name");
    expectError(await api.call("POST", "/users", { json: { name: "n" }, headers }), 400, "invalid-value", "domain");
  });
  it("rejects a deletion without an id", async () => {
    expectError(await api.call("DELETE", "/users"), 400, "required", "id");
    expectError(await api.call("DELETE", "/users?id=abc"), 400, "invalid-value", "id");
    expectError(await api.call("DELETE", "/users", { json: { id: {} } }), 400, "invalid-value", "id");
  });
});

describe("what is no HTTP", () => {
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(api.base);
      let answer = "";
      const socket = connect(Number(port), hostname, () => socket.write(text, "latin1"));
      socket.setEncoding("latin1").on("data", (chunk) => {
        answer += chunk;
      });
      socket.on("error", reject).on("close", () => resolve(answer));
    });
  const auth = () => `Host: localhost\r\nAuthorization: Bearer ${api.token}`;

  it.each([
    ["no request line", () => "hello\r\n\r\n", 400],
    ["no host", () => "GET /api/v1/users HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["a head without end", () => `GET /api/v1/users HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    ["a huge query", () => `GET /api/v1/users?q=${"x".repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
    [
      "two lengths",
      () => `POST /api/v1/users HTTP/1.1\r\n${auth()}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
      400,
    ],
    [
      "length and chunks",
      () =>
        `POST /api/v1/users HTTP/1.1\r\n${auth()}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ["a negative length", () => `POST /api/v1/users HTTP/1.1\r\n${auth()}\r\nContent-Length: -1\r\n\r\n`, 400],
    [
      "a broken chunk",
      () =>
        `POST /api/v1/users HTTP/1.1\r\n${auth()}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`,
      400,
    ],
    ["a line of its own in a header", () => `GET /api/v1/users HTTP/1.1\r\n${auth()}\r\nX: a\x00b\r\n\r\n`, 400],
  ])("%s", async (_what, text, status) => {
    const answer = await raw(text());
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const body = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
    expect(body).toMatchObject({
      status,
      type: expect.any(String),
      message: expect.any(String),
      errors: expect.any(Array),
    });
  });
});

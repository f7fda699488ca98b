import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

let daemon: TestDaemon;
let template: string;
beforeAll(async () => {
  daemon = await startTestDaemon();
  for (const name of ["b", "a", "c", "e", "d"]) await daemon.call("POST", "/distribution-lists", { name });
  template = String((await daemon.call("POST", "/message-templates", { name: "T", subject: "S" })).body.id);
});
afterAll(() => daemon.stop());

const LISTS = "/distribution-lists";

async function send(method: string, path: string, headers: Record<string, string>, body: string | null = null) {
  const response = await fetch(`${daemon.url}/api/v1${path}`, { method, headers, body });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Fault };
}

interface Fault {
  id?: string;
  status: number;
  type: string;
  message: string;
  requestId: string;
  errors: { field: string; type: string; message: string }[];
}

type Row = readonly [claim: string, check: () => Promise<void>];

/** Sentences of the API description and of what was settled about its holes, each with its check. */
const WRITING: readonly Row[] = [
  [
    "creates answer 200 with the resource; deletion answers status, message, resources",
    async () => {
      const made = await daemon.call("POST", LISTS, { name: "x" });
      expect([made.status, made.body.name]).toEqual([200, "x"]);
      const gone = await daemon.call("DELETE", `${LISTS}/${made.body.id}`);
      expect(gone).toMatchObject({ status: 200 });
      expect(gone.body).toEqual({
        status: 200,
        message: `deleted ${made.body.id}`,
        resources: [{ id: made.body.id }],
      });
    },
  ],
  [
    'the string "true" is true, every other string false; a number is a 400',
    async () => {
      for (const [given, kept] of [
        ["true", true],
        ["TRUE", false],
        ["1", false],
        ["yes", false],
        [false, false],
      ]) {
        const { body } = await daemon.call("PUT", `/message-templates/${template}`, { optOut: given });
        expect([given, body.optOut]).toEqual([given, kept]);
      }
      const { status, body } = await daemon.call("PUT", `/message-templates/${template}`, { optOut: 1 });
      expect(`${status} ${body.message}`).toMatch(/^400 Field optOut is not valid\./);
    },
  ],
  [
    "kebab-case spellings of the same names are accepted everywhere, bodies and queries",
    async () => {
      const put = { "subject-customizable": true, "alert-tone": "chime", "tts-type": "body" };
      const { body } = await daemon.call("PUT", `/message-templates/${template}`, put);
      expect(body).toMatchObject({ subjectCustomizable: true, alertTone: "chime", ttsType: "body" });
      const { body: found } = await daemon.call("GET", "/message-templates?tts-type=body&alert-tone=chime");
      expect(found.total).toBe(1);
    },
  ],
  [
    "PUT changes only the fields present; read-only and unknown ones are ignored",
    async () => {
      const put = { body: "B", createdAt: "2000-01-01T00:00:00.000Z", inferredMessageType: "X", nothing: 1 };
      const { body } = await daemon.call("PUT", `/message-templates/${template}`, put);
      expect(body).toMatchObject({ name: "T", subject: "S", body: "B" });
      expect(body).not.toHaveProperty("nothing");
      expect(body.createdAt).not.toMatch(/^2000/);
      expect(body.inferredMessageType).not.toBe("X");
    },
  ],
  [
    "null (or an empty string in forms) clears",
    async () => {
      const at = `/message-templates/${template}`;
      await daemon.call("PUT", at, { body: "B", expiration: 60, metadata: { a: 1 } });
      const cleared = await daemon.call("PUT", at, { body: null, metadata: null });
      expect(cleared.body).toMatchObject({ body: null, metadata: null, expiration: 60 });
      const headers = {
        authorization: `Bearer ${daemon.first.token}`,
        "content-type": "application/x-www-form-urlencoded",
      };
      const { body } = await send("PUT", at, headers, "expiration=");
      expect(body).toMatchObject({ expiration: null, name: "T" });
    },
  ],
  [
    "an id that differs from the path is a 400",
    async () => {
      const id = "0190a000-0000-7000-8000-000000000000";
      const { status, body } = await daemon.call("PUT", `/message-templates/${template}`, { id, name: "N" });
      expect(`${status} ${body.message}`).toMatch(/^400 Field id is not valid\./);
    },
  ],
  [
    "PUT and DELETE work on /resource with the id in body or query",
    async () => {
      const { body: one } = await daemon.call("POST", LISTS, { name: "one" });
      const { body: two } = await daemon.call("POST", LISTS, { name: "two" });
      expect((await daemon.call("PUT", LISTS, { id: one.id, name: "uno" })).body.name).toBe("uno");
      expect((await daemon.call("PUT", `${LISTS}?id=${two.id}`, { name: "due" })).body.name).toBe("due");
      expect((await daemon.call("DELETE", LISTS, { id: one.id })).body.message).toBe(`deleted ${one.id}`);
      expect((await daemon.call("DELETE", `${LISTS}?id=${two.id}`)).body.message).toBe(`deleted ${two.id}`);
      expect((await daemon.call("DELETE", LISTS)).body.message).toBe("Field id is required.");
    },
  ],
  [
    "related resources are embedded next to their id fields, unless include<Name>=false",
    async () => {
      const { data } = (await daemon.call<{ data: { id: string }[] }>("GET", `${LISTS}?name=a`)).body;
      const at = `/message-templates/${template}`;
      await daemon.call("PUT", at, { distributionListIds: [data[0]?.id] });
      expect((await daemon.call("GET", at)).body.distributionLists).toMatchObject([{ name: "a" }]);
      const without = await daemon.call("GET", `${at}?include-distribution-lists=false`);
      expect(without.body).not.toHaveProperty("distributionLists");
    },
  ],
];

const ERRORS: readonly Row[] = [
  [
    "400 required (Field <name> is required.), with every faulty field; the top level names the first",
    async () => {
      const { status, body } = await daemon.call<Fault>("POST", "/message-templates", { body: 7 });
      expect(status).toBe(400);
      expect(body).toMatchObject({ status: 400, type: "required", message: "Field name is required." });
      expect(body.errors.map(({ field, type }) => `${field} ${type}`)).toEqual([
        "name required",
        "subject required",
        "body invalid-value",
      ]);
      expect(body.requestId).toEqual(expect.any(String));
    },
  ],
  [
    "400 invalid-value (Field <name> is not valid.)",
    async () => {
      const { body } = await daemon.call<Fault>("POST", LISTS, { name: 7 });
      expect(body).toMatchObject({ status: 400, type: "invalid-value" });
      // The message may continue with the expected value.
      expect(body.message).toMatch(/^Field name is not valid\.( |$)/);
    },
  ],
  [
    "401 unauthorized without, with a wrong and with a malformed token",
    async () => {
      for (const headers of [{}, { authorization: "Bearer nobody" }, { authorization: "Basic YTpi" }]) {
        const { status, body } = await send("GET", LISTS, headers as Record<string, string>);
        expect([status, body.type]).toEqual([401, "unauthorized"]);
      }
    },
  ],
  [
    "403 forbidden on a visible resource; what the caller may not see is 404",
    async () => {
      const { body: user } = await daemon.call("POST", "/users", { name: "Two", email: "two@example.org" });
      const { body: token } = await daemon.call("POST", `/users/${user.id}/tokens`, { name: "t" });
      const as = String(token.token);
      const hidden = await daemon.call("PUT", `/message-templates/${template}`, { name: "N" }, as);
      expect([hidden.status, hidden.body.type]).toEqual([404, "not-found"]);
      await daemon.call("POST", `/users/${user.id}/user-permissions`, { verb: "get", spec: "/message-templates/*" });
      const seen = await daemon.call("PUT", `/message-templates/${template}`, { name: "N" }, as);
      expect([seen.status, seen.body.type]).toEqual([403, "forbidden"]);
    },
  ],
  [
    "405 with Allow",
    async () => {
      const { status, headers, body } = await daemon.call("POST", "/devices", {});
      expect([status, headers.get("allow"), body.type]).toEqual([405, "GET, HEAD, OPTIONS", "method-not-allowed"]);
    },
  ],
  [
    "409 conflict: row changed since If-Match",
    async () => {
      const headers = {
        authorization: `Bearer ${daemon.first.token}`,
        "content-type": "application/json",
        "if-match": '"0"',
      };
      const { status, body } = await send("PUT", `/message-templates/${template}`, headers, '{"name":"N"}');
      expect([status, body.type]).toEqual([409, "conflict"]);
    },
  ],
  [
    "409 conflict: unique name",
    async () => {
      await daemon.call("POST", "/users", { name: "A", email: "same@example.org" });
      const { status, body } = await daemon.call("POST", "/users", { name: "B", email: "Same@example.org" });
      expect([status, body.type]).toEqual([409, "conflict"]);
    },
  ],
  [
    "409 conflict: Idempotency-Key reused with another body",
    async () => {
      const headers = {
        authorization: `Bearer ${daemon.first.token}`,
        "content-type": "application/json",
        "idempotency-key": "k1",
      };
      const users = [daemon.first.userId];
      const say = (subject: string) =>
        send("POST", "/notifications", headers, JSON.stringify({ subject, userIds: users }));
      const first = await say("one");
      expect(first.status).toBe(200);
      expect((await say("one")).body.id).toBe(first.body.id);
      const other = await say("two");
      expect([other.status, other.body.type]).toEqual([409, "conflict"]);
    },
  ],
  [
    "unknown fields of a message are named beside what else is wrong with it",
    async () => {
      const { body } = await daemon.call("POST", "/notifications", {
        ...{ subject: "S", userIds: [daemon.first.userId], priorty: "critical" },
      });
      expect(body.warnings).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ code: "unknown-field", parameter: "priorty" }),
          expect.objectContaining({ code: "not-deliverable" }),
        ]),
      );
    },
  ],
  [
    "what is said about the end of a message is kept with it",
    async () => {
      const send = async () => {
        const input = { subject: "S", userIds: [daemon.first.userId] };
        return (await daemon.call("POST", "/notifications", input)).body.id;
      };
      const end = async (input: object) =>
        (await daemon.call("POST", `/notifications/${await send()}/activities`, input)).body;
      const details = { askedBy: "Fire brigade", floor: 2 };
      expect(await end({ type: "expire", comment: "It was a drill" })).toMatchObject({
        ...{ type: "expire", details: { comment: "It was a drill" } },
      });
      expect((await end({ type: "abort", details, comment: "Over" })).details).toEqual({ ...details, comment: "Over" });
      expect((await end({ type: "abort", details: JSON.stringify(details) })).details).toEqual(details);
      expect(await end({ type: "abort" })).toMatchObject({ type: "abort", details: null });
      expect(await end({ type: "abort", details: [1] })).toMatchObject({ status: 400, type: "invalid-value" });
      expect(await end({ type: "abort", comment: "x".repeat(1_001) })).toMatchObject({ status: 400 });
    },
  ],
  [
    "the messages of a domain are filtered by their name, which is the subject",
    async () => {
      const { actingDomainId } = (await daemon.call("GET", "/session/domains")).body;
      for (const subject of ["Snow day", "Fire drill"])
        await daemon.call("POST", "/notifications", { subject, userIds: [daemon.first.userId] });
      const { body } = await daemon.call("GET", `/domains/${actingDomainId}/notifications?name=Snow%20day`);
      expect((body.data as { subject: string }[]).map(({ subject }) => subject)).toEqual(["Snow day"]);
    },
  ],
  [
    "413 too-large, 415 unsupported-media-type",
    async () => {
      const headers = { authorization: `Bearer ${daemon.first.token}`, "content-type": "application/json" };
      const large = await send("POST", LISTS, headers, JSON.stringify({ name: "x".repeat(2_000_000) }));
      expect([large.status, large.body.type]).toEqual([413, "too-large"]);
      const xml = await send("POST", LISTS, { ...headers, "content-type": "application/xml" }, "<a/>");
      expect([xml.status, xml.body.type]).toEqual([415, "unsupported-media-type"]);
    },
  ],
];

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const WHO: readonly Row[] = [
  [
    "Authorization: Bearer <ACCESS_TOKEN>",
    async () => expect((await send("GET", LISTS, { authorization: `bearer ${daemon.first.token}` })).status).toBe(200),
  ],
  [
    "form-encoded body parameter access_token; cannot be used with GET",
    async () => {
      const made = await send("POST", LISTS, FORM, `name=byform&access_token=${daemon.first.token}`);
      expect(made.status).toBe(200);
      const gone = await send("DELETE", `${LISTS}/${made.body.id}`, FORM, `access_token=${daemon.first.token}`);
      expect(gone.status).toBe(200);
      const multipart = new FormData();
      multipart.append("name", "x");
      multipart.append("access_token", daemon.first.token);
      const refused = await fetch(`${daemon.url}/api/v1${LISTS}`, { method: "POST", body: multipart });
      expect(refused.status).toBe(401);
    },
  ],
  [
    "URI query parameter access_token, separated from other parameters by &",
    async () => expect((await send("GET", `${LISTS}?limit=1&access_token=${daemon.first.token}`, {})).status).toBe(200),
  ],
  [
    "two ways at once are refused",
    async () => {
      const headers = { authorization: `Bearer ${daemon.first.token}` };
      expect((await send("GET", `${LISTS}?access_token=${daemon.first.token}`, headers)).status).toBe(400);
    },
  ],
  [
    "acting domain: header x-service-domain or parameter domain; the parameter wins and the header is ignored",
    async () => {
      const auth = { authorization: `Bearer ${daemon.first.token}` };
      const wrong = "0190a000-0000-7000-8000-000000000000";
      const root = daemon.first.domainId;
      const statusOf = async (query: string, headers = {}) =>
        (await send("GET", `${LISTS}?${query}`, { ...auth, ...headers })).status;
      expect(await statusOf("", { "x-service-domain": root })).toBe(200);
      expect(await statusOf("", { "x-service-domain": wrong })).toBe(400);
      expect(await statusOf(`domain=${root}`, { "x-service-domain": wrong })).toBe(200);
      expect(await statusOf(`domain=${wrong}`, { "x-service-domain": root })).toBe(400);
      const body = (domain: string) =>
        send(
          "POST",
          LISTS,
          { ...auth, "content-type": "application/json", "x-service-domain": wrong },
          JSON.stringify({ name: "inbody", domain }),
        );
      const refused = await body(wrong);
      expect(refused.body).toMatchObject({ status: 400, type: "invalid-value", errors: [{ field: "domain" }] });
      expect((await body(root)).status).toBe(200);
    },
  ],
];

for (const [title, rows] of Object.entries({ writing: WRITING, errors: ERRORS, "who asks": WHO })) {
  describe(title, () => {
    it.each(rows)("%s", async (_claim, check) => check());
  });
}

import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/http-input/index.ts";
import type { PluginRequest, PluginResponse } from "../../src/plugin-api/index.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";

const SECRET = "correct horse battery";
const running: InlinePlugin[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.close();
});

async function run(sources: unknown, secrets: string | null = null, answer?: HandleHostCall): Promise<InlinePlugin> {
  const clock = createFakeClock();
  const started = await runInline(plugin, { config: { sources, secrets }, clock, ...(answer && { answer }) });
  running.push(started);
  return started;
}

/** One source of that name, with the secret of this file. */
const door = (more: object = {}, answer?: HandleHostCall): Promise<InlinePlugin> =>
  run([{ name: "Door 1", ...more }], `Other=x\nDoor 1 = ${SECRET}\n`, answer);

function said(body: unknown, more: Partial<PluginRequest> = {}): Partial<PluginRequest> & { url: string } {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const { headers, ...rest } = more;
  return {
    url: "/Door%201",
    headers: { authorization: `Bearer ${SECRET}`, ...headers },
    body: Buffer.from(text),
    ...rest,
  };
}

const jsonOf = ({ body }: PluginResponse): unknown => JSON.parse(String(body));
const triggered = ({ calls }: InlinePlugin): unknown[] => calls.map(({ args }) => args[0]);

describe("http-input", () => {
  it("triggers what a source says, and answers once that is stored", async () => {
    const http = await door();
    const answer = await http.request(said({ state: "closed", floor: 2 }));
    expect([answer.status, jsonOf(answer)]).toEqual([202, { taken: true }]);
    expect(http.calls).toMatchObject([
      { method: "trigger", args: [{ source: "Door 1", values: { state: "closed", floor: 2 } }] },
    ]);
  });

  it("takes texts, forms and a state by another name", async () => {
    const http = await door({ stateMember: "contact" });
    await http.request(said("open"));
    const form = { "content-type": "application/x-www-form-urlencoded" };
    await http.request(said("contact=closed&room=12", { headers: form }));
    await http.request(said({ contact: false }, { headers: { "content-type": "application/json" } }));
    await http.request(said("", { url: "/Door%201?contact=ajar" }));
    expect(triggered(http)).toMatchObject([
      { values: { contact: "open", state: "open" } },
      { values: { contact: "closed", room: "12", state: "closed" } },
      { values: { contact: false, state: "false" } },
      { values: { contact: "ajar", state: "ajar" } },
    ]);
  });

  it("knows an event by its header or its member, and each request without one as another", async () => {
    const http = await door({ idMember: "event" });
    await http.request(said({ event: 7 }));
    await http.request(said({ event: 7, more: true }));
    await http.request(said({}, { headers: { "idempotency-key": "7" } }));
    await http.request(said({ event: 8 }));
    await http.request(said({ id: 1 }));
    await http.request(said({ id: 1 }));
    const keys = triggered(http).map((input) => (input as { dedupeKey: string }).dedupeKey);
    expect(new Set(keys.slice(0, 3)).size).toBe(1);
    expect(new Set(keys).size).toBe(4);
  });

  it("asks for the secret of the source, wherever it may stand", async () => {
    const http = await door();
    const basic = `Basic ${Buffer.from(`anybody:${SECRET}`).toString("base64")}`;
    expect((await http.request(said({}, { headers: { authorization: basic } }))).status).toBe(202);
    const wrong: Partial<PluginRequest>[] = [
      { headers: { authorization: "" } },
      { headers: { authorization: "Bearer" } },
      { headers: { authorization: `Bearer ${SECRET}x` } },
      { headers: { authorization: "Basic !" } },
      { headers: { authorization: "" }, url: `/Door%201?secret=${SECRET.replaceAll(" ", "+")}` },
      { url: "/Other" },
      { url: "/" },
      { url: "/%E0%A4%A" },
    ];
    for (const each of wrong) expect((await http.request(said({}, each))).status, JSON.stringify(each)).toBe(401);
    expect(http.calls).toHaveLength(1);
  });

  it("takes a secret in the address, and GET, where the source says so", async () => {
    const http = await door({ inUrl: true });
    const url = `/Door%201?secret=${encodeURIComponent(SECRET)}&state=pressed`;
    expect((await http.request({ url, method: "GET" })).status).toBe(202);
    expect(triggered(http)).toEqual([
      { source: "Door 1", dedupeKey: expect.any(String), values: { state: "pressed" } },
    ]);
    expect((await http.request(said({}, { method: "DELETE" }))).headers).toMatchObject({ allow: "POST, PUT, GET" });
    expect((await (await door()).request(said({}, { method: "GET" }))).status).toBe(405);
  });

  it("hands on calls of sources that may report them, and refuses what is none", async () => {
    const http = await door({ calls: true });
    const call = { callId: "1", state: "ringing", calledNumber: "911", via: "redirect" };
    expect((await http.request(said({ call, trunk: 3 }))).status).toBe(202);
    expect(triggered(http)).toMatchObject([{ values: { trunk: 3 }, call }]);
    const refused = await http.request(said({ call: { ...call, state: "held" } }));
    expect([refused.status, jsonOf(refused)]).toMatchObject([400, { message: expect.stringContaining("call.state") }]);
    const other = await door();
    await other.request(said({ call }));
    expect(triggered(other)).toMatchObject([{ values: { call } }]);
    expect(triggered(other)[0]).not.toHaveProperty("call");
  });

  it("refuses what can't be read and what is too much, and says when it was not stored", async () => {
    const http = await door({ perMinute: 3 }, () => new Error("the disk is full"));
    const bad = await http.request(said("{", { headers: { "content-type": "application/json; charset=utf-8" } }));
    expect([bad.status, jsonOf(bad)]).toMatchObject([400, { message: "the body is no JSON" }]);
    expect((await http.request(said({ text: "x".repeat(65_600) }))).status).toBe(400);
    expect((await http.request(said({}))).status).toBe(503);
    const many = await http.request(said({}));
    expect([many.status, many.headers]).toMatchObject([429, { "retry-after": "60" }]);
  });

  it("leaves out sources that can't be used, and says so", async () => {
    const http = await run(
      [{ name: "" }, { name: "A" }, { name: "B" }, { name: "C", perMinute: 0 }, { name: "D" }, { name: "D" }, 1],
      `B=short\nC=${SECRET}\nD=${SECRET}`,
    );
    expect(http.statuses.map(({ state }) => state)).toEqual(["degraded"]);
    const reason = http.statuses[0]?.reason ?? "";
    for (const words of [
      "[0]: the name",
      "A has no secret",
      "less than 16",
      "perMinute",
      "used twice",
      "[6]: the name",
    ])
      expect(reason).toContain(words);
    expect(reason).not.toContain("short\n");
    expect((await http.request(said({}, { url: "/D" }))).status).toBe(202);
    expect((await run("none")).statuses).toEqual([{ state: "degraded", reason: "sources is not a list" }]);
  });
});

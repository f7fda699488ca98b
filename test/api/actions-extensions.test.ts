import { afterAll, beforeAll, expect, it } from "vitest";
import { ConflictError } from "../../src/lib/errors.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const NOBODY = "00000000-0000-4000-8000-000000000000";
const LINES = [1, 2, 3].map((seq) => ({
  ...{ seq, at: 1_700_000_000_000 + seq, level: "info", message: `line ${seq}`, details: null },
}));

let api: ApiFixture;
let id: string;
const restarted: [string, string][] = [];
beforeAll(async () => {
  const plugins = {
    route: async () => null,
    configFields: () => ({}),
    profileSchema: () => null,
    restart: async (extensionId: string, by: { actor: { name: string } }) => {
      if (restarted.length > 0) throw new ConflictError("It can't be started: it is switched off");
      restarted.push([extensionId, by.actor.name]);
    },
    readLog: (extensionId: string, limit: number, after: number) =>
      extensionId === id ? LINES.filter(({ seq }) => seq > after).slice(-limit) : null,
  };
  api = await openApi(makeTempDir(), { needs: { plugins: plugins as never } });
  id = (await api.call("POST", "/extensions", { json: { name: "Phones", type: "collaboration" } })).body.id;
});
afterAll(() => api.close());

it("restarts the plugin behind an extension in the name of who asks, and answers the extension", async () => {
  const { status, body } = await api.call("POST", `/extensions/${id}/restart`);
  expect([status, body.id, body.name]).toEqual([200, id, "Phones"]);
  expect(restarted).toEqual([[id, "Admin"]]);
  const again = await api.call("POST", `/extensions/${id}/restart`);
  expect([again.status, again.body.type, again.body.message]).toEqual([
    ...[409, "conflict", "It can't be started: it is switched off"],
  ]);
});

it("returns the newest log lines, oldest first, with the number to continue from", async () => {
  const all = await api.call("GET", `/extensions/${id}/log`);
  expect(all.body.data.map(({ seq }: { seq: number }) => seq)).toEqual([1, 2, 3]);
  expect(all.body.data[0]).toEqual({ ...LINES[0], at: "2023-11-14T22:13:20.001Z" });
  const last = await api.call("GET", `/extensions/${id}/log?limit=1`);
  expect([last.body.data.length, last.body.newest]).toEqual([1, 3]);
  expect((await api.call("GET", `/extensions/${id}/log?after=3`)).body).toEqual({ data: [], newest: 3 });
});

it.each(["limit=0", "limit=501", "limit=x", "after=-1", "after=1.5", "limit=1&limit=2"])(
  "refuses the log asked for with %s",
  async (query) => {
    const { status, body } = await api.call("GET", `/extensions/${id}/log?${query}`);
    expect([status, body.type]).toEqual([400, "invalid-value"]);
  },
);

it("answers 404 for an unknown extension, and no lines for one without a plugin", async () => {
  expect((await api.call("POST", `/extensions/${NOBODY}/restart`)).status).toBe(404);
  expect((await api.call("GET", `/extensions/${NOBODY}/log`)).status).toBe(404);
  const other = (await api.call("POST", "/extensions", { json: { name: "Other" } })).body.id;
  expect((await api.call("GET", `/extensions/${other}/log`)).body).toEqual({ data: [], newest: 0 });
});

it("asks for the permission of each path", async () => {
  const reader = await api.user("reader", "get /extensions/*", "put /extensions/*");
  expect((await api.call("POST", `/extensions/${id}/restart`, { token: reader.token })).status).toBe(403);
  expect((await api.call("GET", `/extensions/${id}/log`, { token: reader.token })).status).toBe(403);
  const night = await api.user("night", "get /extensions/*", "get /extensions/*/log", "post /extensions/*/restart");
  expect((await api.call("GET", `/extensions/${id}/log`, { token: night.token })).status).toBe(200);
  expect((await api.call("POST", `/extensions/${id}/restart`, { token: night.token })).status).toBe(409);
});

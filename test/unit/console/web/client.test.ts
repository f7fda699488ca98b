import { describe, expect, it } from "vitest";
import { createClient, isVersionConflict } from "../../../../src/console/web/api/client.ts";
import { routeUrl } from "../../../../src/console/web/api/routes.ts";
import { CallerError, UpstreamError } from "../../../../src/lib/errors.ts";

interface Call {
  address: string;
  method: string | undefined;
  headers: Headers;
  body: unknown;
}

function scene(answer: () => Response) {
  const calls: Call[] = [];
  let loggedOut = 0;
  let unattended = false;
  const answers = { confirms: false, logsIn: false };
  const client = createClient({
    fetch(address, { method, headers, body }) {
      calls.push({ address, method, headers: new Headers(headers), body });
      return Promise.resolve(answer());
    },
    isUnattended: () => unattended,
    onLoggedOut: async () => {
      loggedOut++;
      return answers.logsIn;
    },
    confirmDetach: async (dependents) => answers.confirms && dependents.length > 0,
  });
  const leave = (): void => {
    unattended = true;
  };
  return { client, calls, leave, answers, loggedOut: () => loggedOut };
}

const fault = (status: number, type: string) => () =>
  Response.json(
    { status, type, message: "Field name is required.", errors: [{ field: "name", type, message: "x" }] },
    { status },
  );

describe("the client", () => {
  it("fills and escapes addresses", () => {
    expect(routeUrl("users/{userId}", { userId: "a/b" })).toBe("/api/v1/users/a%2Fb");
    expect(routeUrl("users", {}, { q: "a&b", limit: 5, sort: undefined, ids: ["x", "y"] })).toBe(
      "/api/v1/users?q=a%26b&limit=5&ids%5B%5D=x&ids%5B%5D=y",
    );
  });

  it("wears the console's header on whatever changes something, and only there", async () => {
    const { client, calls } = scene(() => Response.json({}));
    await client.get("users");
    await client.post("users", {}, { name: "A" });
    await client.put("users/{userId}", { userId: "1" }, {});
    await client.remove("session");
    await client.logIn("a@b.example", "secret");
    expect(calls.map(({ headers }) => headers.get("x-carillon-console"))).toEqual([null, "1", "1", "1", "1"]);
    expect(calls[1]).toMatchObject({ address: "/api/v1/users", method: "POST", body: '{"name":"A"}' });
    expect(calls[1]?.headers.get("content-type")).toBe("application/json");
  });

  it("marks automatic requests", async () => {
    const { client, calls, leave } = scene(() => Response.json({}));
    await client.get("users");
    leave();
    await client.get("users");
    await client.post("users", {}, {});
    expect(calls.map(({ headers }) => headers.get("x-carillon-background"))).toEqual([null, "1", null]);
  });

  it("leaves the type of a form to the browser", async () => {
    const { client, calls } = scene(() => Response.json({}));
    await client.post("notifications", {}, new FormData(), { "Idempotency-Key": "k" });
    expect(calls[0]?.headers.get("content-type")).toBeNull();
    expect(calls[0]?.headers.get("idempotency-key")).toBe("k");
  });

  it("throws the API's own faults", async () => {
    const { client } = scene(fault(400, "required"));
    const error = await client.post("users", {}, {}).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallerError);
    expect(error).toMatchObject({ type: "required", faults: [{ field: "name" }] });
  });

  it("reports the end of the session, but not a refused log-in", async () => {
    const { client, loggedOut } = scene(fault(401, "unauthorized"));
    await expect(client.get("users")).rejects.toMatchObject({ type: "unauthorized" });
    expect(loggedOut()).toBe(1);
    await expect(client.logIn("a", "b")).rejects.toMatchObject({ type: "unauthorized" });
    expect(loggedOut()).toBe(1);
  });

  it("sends once more what was refused for lack of a session, if the same person logs in again", async () => {
    let hasSession = false;
    const scened = scene(() => (hasSession ? Response.json({ id: "1" }) : fault(401, "unauthorized")()));
    const { client, calls, answers, loggedOut } = scened;
    await expect(client.post("users", {}, { name: "A" })).rejects.toMatchObject({ type: "unauthorized" });
    expect([calls.length, loggedOut()]).toEqual([1, 1]);
    answers.logsIn = true;
    const sent = client.post("users", {}, { name: "B" });
    hasSession = true;
    await expect(sent).resolves.toEqual({ id: "1" });
    expect(calls.map(({ body }) => body)).toEqual(['{"name":"A"}', '{"name":"B"}', '{"name":"B"}']);
    // It is not asked again and again when the log-in does not help.
    hasSession = false;
    await expect(client.get("users")).rejects.toMatchObject({ type: "unauthorized" });
    expect(loggedOut()).toBe(3);
  });

  it("names the version of the row that it changes, and tells a conflict of versions from one of names", async () => {
    const { client, calls } = scene(() => Response.json({ id: "1" }, { headers: { etag: '"a-1.x"' } }));
    const { row, version } = await client.getVersioned<{ id: string }>("users/{userId}", { userId: "1" });
    expect([row, version]).toEqual([{ id: "1" }, '"a-1.x"']);
    await client.put("users/{userId}", { userId: "1" }, { name: "A" }, {}, version);
    await client.put("users/{userId}", { userId: "1" }, { name: "A" });
    expect(calls.map(({ headers }) => headers.get("if-match"))).toEqual([null, '"a-1.x"', null]);
    const conflict = (field: string | null) =>
      new CallerError("conflict", "x", [{ field, type: "conflict", message: "x" }]);
    expect([isVersionConflict(conflict(null)), isVersionConflict(conflict("name"))]).toEqual([true, false]);
  });

  it("asks before a change that emergencies depend on, and repeats it with detach", async () => {
    const dependents = [{ type: "scenarios", id: "1", name: "Fire", role: "emergency" }];
    const bodies = [() => Response.json({ type: "in-use", message: "x", dependents }, { status: 409 })];
    const { client, calls, answers } = scene(() => (bodies.shift() ?? (() => Response.json({ id: "1" })))());
    const change = () => client.put("device-groups/{deviceGroupId}", { deviceGroupId: "1" }, { additionIds: [] });
    await expect(change()).rejects.toMatchObject({ type: "in-use", context: { dependents } });
    expect(calls).toHaveLength(1);
    bodies.push(() => Response.json({ type: "in-use", message: "x", dependents }, { status: 409 }));
    answers.confirms = true;
    expect(await change()).toEqual({ id: "1" });
    expect(calls.slice(1).map(({ address }) => address)).toEqual([
      "/api/v1/device-groups/1",
      "/api/v1/device-groups/1?detach=true",
    ]);
  });

  it("distinguishes a lost response from a refusal, and ignores error pages of proxies", async () => {
    const broken = createClient({
      fetch: () => Promise.reject(new TypeError("failed")),
      isUnattended: () => false,
      onLoggedOut: async () => false,
      confirmDetach: async () => false,
    });
    await expect(broken.get("users")).rejects.toBeInstanceOf(UpstreamError);
    const { client } = scene(() => new Response("<html>", { status: 502 }));
    await expect(client.get("users")).rejects.toBeInstanceOf(UpstreamError);
  });
});

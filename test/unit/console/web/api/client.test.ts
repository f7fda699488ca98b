import { expect, it } from "vitest";
import { createClient } from "../../../../../src/console/web/api/client.ts";

/** A server whose session is replaced by a change of the password. */
function serve() {
  let session = "old";
  let cookie = "old";
  let logOuts = 0;
  const held: (() => void)[] = [];
  const fetch = async (address: string | URL | Request, { method }: RequestInit = {}): Promise<Response> => {
    const sentWith = cookie;
    if (method === "PUT") {
      session = "new";
      await new Promise<void>((resolve) => held.push(resolve));
      cookie = "new";
      return new Response(null, { status: 204 });
    }
    if (String(address).includes("held")) await new Promise<void>((resolve) => held.push(resolve));
    return sentWith === session
      ? Response.json({ data: [], total: 0 })
      : Response.json({ status: 401 }, { status: 401 });
  };
  const onLoggedOut = async (): Promise<boolean> => {
    logOuts++;
    return false;
  };
  const client = createClient({
    fetch: fetch as typeof globalThis.fetch,
    isUnattended: () => false,
    onLoggedOut,
  } as never);
  const endSession = (): void => {
    session = "none";
  };
  return { client, release: () => held.shift()?.(), endSession, logOuts: () => logOuts };
}

it("sends requests once more that a change of the own password overtook", async () => {
  const { client, release, logOuts } = serve();
  const change = client.put("users/{userId}/password", { userId: "u" }, {});
  const overtaken = client.get("users", {}, {});
  await new Promise((resolve) => setImmediate(resolve));
  expect(logOuts()).toBe(0);
  release();
  await change;
  await expect(overtaken).resolves.toMatchObject({ total: 0 });
  expect(logOuts()).toBe(0);
});

it("reports a session that has ended, before and after a change", async () => {
  const { client, release, endSession, logOuts } = serve();
  const change = client.put("users/{userId}/password", { userId: "u" }, {});
  release();
  await change;
  endSession();
  await expect(client.get("users", {}, {})).rejects.toThrow();
  expect(logOuts()).toBe(1);
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultSettings } from "../../src/settings/schema.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, FROZEN_CLOCK, openApi } from "./api-fixture.ts";

const PASSWORD = "correct horse battery";

let api: ApiFixture;
let root: string;
beforeAll(async () => {
  const defaults = defaultSettings();
  const settings = { ...defaults, api: { ...defaults.api, trustedProxies: ["127.0.0.1"] } };
  api = await openApi(makeTempDir(), { clock: FROZEN_CLOCK, needs: { settings } });
  root = api.base.replace(/\/v1$/, "");
  for (const name of ["Owner", "Other"]) {
    const json = { name, email: `${name.toLowerCase()}@example.org` };
    const { id } = (await api.call("POST", "/users", { json })).body;
    await api.call("PUT", `/users/${id}/password`, { json: { password: PASSWORD } });
  }
});
afterAll(() => api.close());

/** Logs in from an address; resolves with status and cookies. */
async function logIn(from: string, email: string, password: string, cookie = "") {
  const response = await fetch(`${root}/login`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      origin: new URL(root).origin,
      "x-forwarded-for": from,
      ...(cookie ? { cookie } : {}),
    },
    body: JSON.stringify({ email, password }),
  });
  const cookies = response.headers.getSetCookie().map((each) => each.split(";", 1)[0] ?? "");
  return {
    status: response.status,
    cookies,
    browser: cookies.find((each) => each.startsWith("carillon-browser=")) ?? "",
  };
}

describe("an account under password guessing", () => {
  it("logs in from another network, 40 times of 40", async () => {
    const statuses: number[] = [];
    for (let at = 0; at < 40; at++) {
      await logIn(`198.51.100.${at % 4}`, "owner@example.org", `guess number ${at}`);
      statuses.push((await logIn(`203.0.113.${at}`, "owner@example.org", PASSWORD)).status);
    }
    expect(statuses).toEqual(Array(40).fill(204));
    expect((await logIn("198.51.100.9", "owner@example.org", "one guess more")).status).toBe(429);
  });

  it("logs in with a browser that is known, from the very address of the guesser", async () => {
    const { browser } = await logIn("192.0.2.1", "owner@example.org", PASSWORD);
    expect(browser).not.toBe("");
    for (let at = 0; at < 30; at++) await logIn("192.0.2.2", `invented${at}@example.org`, "guess");
    for (let at = 0; at < 8; at++) await logIn("192.0.2.2", "owner@example.org", "guess");
    expect((await logIn("192.0.2.2", "owner@example.org", PASSWORD)).status).toBe(429);
    expect((await logIn("192.0.2.2", "owner@example.org", PASSWORD, browser)).status).toBe(204);
    // The browser is known for this account only, and a forged cookie for none.
    expect((await logIn("192.0.2.2", "other@example.org", PASSWORD, browser)).status).toBe(429);
    const forged = `${browser.slice(0, -2)}00`;
    expect((await logIn("192.0.2.2", "owner@example.org", PASSWORD, forged)).status).toBe(429);
  });

  it("gives no more attempts with a stolen cookie than without, and a new password ends the session", async () => {
    const { browser } = await logIn("192.0.2.65", "other@example.org", PASSWORD);
    const statuses: number[] = [];
    for (let at = 0; at < 8; at++)
      statuses.push((await logIn(`203.0.113.${at}`, "other@example.org", "guess", browser)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429, 429]);
    expect((await logIn("203.0.113.77", "other@example.org", PASSWORD)).status).toBe(204);
    const { id } = (await api.call("GET", "/users?email=other@example.org")).body.data[0];
    const changed = await api.call("PUT", `/users/${id}/password`, { json: { password: "mules carry nine lamps" } });
    expect(changed.status).toBe(204);
    expect((await logIn("203.0.113.1", "other@example.org", "mules carry nine lamps", browser)).status).toBe(204);
  });

  it("shares a browser with four others", async () => {
    let cookie = "";
    for (let at = 0; at < 7; at++) {
      const json = { name: `Colleague ${at}`, email: `colleague${at}@example.org` };
      const { id } = (await api.call("POST", "/users", { json })).body;
      await api.call("PUT", `/users/${id}/password`, { json: { password: PASSWORD } });
      cookie = (await logIn("192.0.2.129", json.email, PASSWORD, cookie)).browser;
    }
    expect(cookie.split("=")[1]?.split(".")).toHaveLength(5);
    expect(cookie.length).toBeLessThan(2_500);
  });
});

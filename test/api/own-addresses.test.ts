import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AccountMessage } from "../../src/plugin-api/index.ts";
import userDevices from "../../src/resources/people/user-devices.ts";
import { defaultSettings } from "../../src/settings/schema.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const DAY_MS = 86_400_000;

const sent: AccountMessage[] = [];
const sender = {
  isAvailable: () => true,
  send: async (message: AccountMessage) => {
    sent.push(message);
    return null;
  },
};
const clock = createFakeClock();
let api: ApiFixture;
let serial = 0;

beforeAll(async () => {
  const settings = { ...defaultSettings(), site: { country: "DE" } };
  api = await openApi(makeTempDir(), { clock, mailSender: sender, textSender: sender, needs: { settings } });
});
afterAll(() => api.close());

async function person() {
  const { id, token } = await api.user(`Person ${++serial}`);
  const call = (method: string, path: string, json?: object) =>
    api.call(method, `/users/${id}/devices${path}`, { token, ...(json && { json }) });
  const add = async (type: string, deviceIdentifier: string, more: object = {}) =>
    call("POST", "", { type, deviceIdentifier, ...more });
  const sendCode = (deviceId: string) => call("POST", `/${deviceId}/verification-code`);
  const verify = (deviceId: string, code: string) => call("POST", `/${deviceId}/verification`, { code });
  return { id, token, call, add, sendCode, verify };
}

const lastCode = (): string => /\d{6}/.exec(sent.at(-1)?.text ?? "")?.[0] ?? "";
const otherCode = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, "0");

describe("addresses that users add to their own account", () => {
  it.each([
    ["email", "someone@example.org"],
    ["SMS", "+49 170 1234567"],
    ["phone-call", "030 123456"],
  ])("await a code, which goes to the address alone: %s", async (type, address) => {
    const { add, call, sendCode, verify } = await person();
    const { status, body } = await add(type, address, { verified: true, awaitsVerification: false });
    expect([status, body.verified, body.awaitsVerification]).toEqual([200, false, true]);
    expect((await sendCode(body.id)).status).toBe(204);
    expect(sent.at(-1)?.to).toBe(address);
    expect((await verify(body.id, `${lastCode().slice(0, 3)} ${lastCode().slice(3)}`)).status).toBe(204);
    const row = (await call("GET", `/${body.id}`)).body;
    expect([row.verified, row.awaitsVerification]).toEqual([true, false]);
    expect((await verify(body.id, lastCode())).status).toBe(409);
    expect((await sendCode(body.id)).status).toBe(409);
  });

  it("cannot be called verified, nor exchanged after the proof", async () => {
    const { add, call, sendCode, verify } = await person();
    const { id } = (await add("SMS", "+491701234500")).body;
    for (const change of [{ verified: true }, { awaitsVerification: false }, { disabled: false, verified: "true" }])
      await call("PUT", `/${id}`, change);
    expect((await call("GET", `/${id}`)).body).toMatchObject({ verified: false, awaitsVerification: true });
    await sendCode(id);
    await verify(id, lastCode());
    for (const change of [{ deviceIdentifier: "+491701234599" }, { type: "phone-call" }]) {
      expect((await call("PUT", `/${id}`, { ...change, verified: true })).body).toMatchObject({
        verified: false,
        awaitsVerification: true,
      });
      await api.store.write((tx) => {
        tx.update(userDevices, id, { verified: true }, api.system, { awaitsVerification: false });
      });
    }
    const app = (await add("desktop", "+491701234598")).body;
    expect(app.awaitsVerification).toBe(false);
    expect((await call("PUT", `/${app.id}`, { type: "SMS" })).body.awaitsVerification).toBe(true);
    const code = (await sendCode(app.id)) && lastCode();
    await call("PUT", `/${app.id}`, { deviceIdentifier: "+491701234597" });
    expect((await verify(app.id, code)).status).toBe(400);
  });

  it("cannot be verified by guessing, with an old code or for others", async () => {
    const { add, sendCode, verify, id: owner } = await person();
    const { id } = (await add("email", "guessed@example.org")).body;
    expect((await verify(id, "000000")).status).toBe(400);
    await sendCode(id);
    const code = lastCode();
    for (const wrong of [otherCode(code), "000", "x".repeat(64), `${code}0`, code.slice(1)])
      expect((await verify(id, wrong)).status).toBe(400);
    expect((await verify(id, code)).status, "after five guesses").toBe(400);
    await sendCode(id);
    await clock.advance(10 * 60_000);
    expect((await verify(id, lastCode())).status, "after ten minutes").toBe(400);
    const other = await person();
    for (const path of ["verification-code", "verification"]) {
      const answer = await api.call("POST", `/users/${owner}/devices/${id}/${path}`, {
        token: other.token,
        json: { code: lastCode() },
      });
      expect([403, 404]).toContain(answer.status);
      const mixed = await api.call("POST", `/users/${other.id}/devices/${id}/${path}`, {
        token: other.token,
        json: { code: lastCode() },
      });
      expect([403, 404]).toContain(mixed.status);
      const admin = await api.call("POST", `/users/${owner}/devices/${id}/${path}`, {
        token: api.token,
        json: { code: lastCode() },
      });
      expect(admin.status).toBe(403);
    }
  });

  it("get few codes a day, per account and per address in any spelling", async () => {
    await clock.advance(DAY_MS);
    const before = sent.length;
    const spellings = ["+49 171 7654321", "0171/7654321", "0049 171 7654321", "+49 (0)171 7654321"];
    const statuses: number[] = [];
    for (const spelling of spellings) {
      const { add, sendCode } = await person();
      const { id } = (await add("SMS", spelling)).body;
      for (let n = 0; n < 3; n++) statuses.push((await sendCode(id)).status);
    }
    expect(statuses.filter((status) => status === 204)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(9);
    expect(sent.length - before).toBe(3);
    const { add, sendCode, call } = await person();
    const byAccount: number[] = [];
    for (let n = 0; n < 8; n++) {
      const { id } = (await add("email", `plus+${n}@example${n}.org`)).body;
      byAccount.push((await sendCode(id)).status);
      await call("DELETE", `/${id}`);
    }
    expect(byAccount.filter((status) => status === 204)).toHaveLength(5);
    await clock.advance(DAY_MS);
    const { id } = (await add("email", "tomorrow@example.org")).body;
    expect((await sendCode(id)).status).toBe(204);
  });

  it.each([
    ["a premium rate number", "+49 900 1234567"],
    ["one in national form", "0900 1234567"],
    ["a number of another country", "+1 876 555 1234"],
    ["a satellite number", "+881 6 12345678"],
    ["an international network", "+882 16 1234567"],
    ["a short code", "11833"],
    ["one with the other prefix", "00 43 1 5350500"],
    ["none", "call me"],
  ])("are refused in words: %s", async (_what, number) => {
    const { add, call } = await person();
    for (const type of ["SMS", "phone-call"]) {
      const { status, body } = await add(type, number);
      expect(status).toBe(400);
      expect(JSON.stringify(body)).toMatch(/Must/);
    }
    const { id } = (await add("SMS", "+491701234596")).body;
    expect((await call("PUT", `/${id}`, { deviceIdentifier: number })).status).toBe(400);
  });
});

describe("addresses that others enter", () => {
  it("count at once: those of administrators, of the account itself and of apps", async () => {
    const { id, add } = await person();
    const path = `/users/${id}/devices`;
    const json = { type: "SMS", deviceIdentifier: "+43 1 5350500" };
    const made = await api.call("POST", path, { token: api.token, json });
    expect([made.status, made.body.awaitsVerification]).toEqual([200, false]);
    expect((await add("apns", "0123456789abcdef")).body.awaitsVerification).toBe(false);
    const waiting = (await add("email", "by-admin@example.org")).body;
    const put = await api.call("PUT", `${path}/${waiting.id}`, { token: api.token, json: { verified: true } });
    expect(put.body).toMatchObject({ verified: true, awaitsVerification: false });
    const own = await api.call("POST", `/users/${api.adminId}/devices`, { token: api.token, json });
    expect(own.body.awaitsVerification).toBe(false);
  });
});

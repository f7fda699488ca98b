import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/speakers/index.ts";
import { createRegistrationLimits } from "../../plugins/speakers/registration-limits.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
import { withMemoryState } from "./memory-state.ts";
import { JOIN_SECRET } from "./speakers-fixture.ts";

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(config: Record<string, unknown> = {}): Promise<InlinePlugin> {
  const running = await runInline(plugin, {
    config: { joinSecret: JOIN_SECRET, openToAll: false, rules: [], ...config },
    answer: withMemoryState(() => undefined),
  });
  closing.push(() => running.close());
  return running;
}

const macOf = (n: number): string => `0200${n.toString(16).padStart(8, "0")}`;

function register(running: InlinePlugin, mac: string, secret: string | null, remoteAddress: string) {
  const headers = secret === null ? {} : { authorization: `Bearer ${secret}` };
  return running.request({ url: "/register", headers, body: Buffer.from(JSON.stringify({ mac })), remoteAddress });
}

function poll(running: InlinePlugin, mac: string, token: string, remoteAddress: string) {
  const headers = { authorization: `Bearer ${token}` };
  return running.request({ url: `/agents/${mac}/beat`, headers, body: Buffer.from('{"port":5004}'), remoteAddress });
}

describe("registrations of agents", () => {
  it.each([
    ["wrong join secrets from the agent's own address", () => "10.0.0.1", "a wrong secret of some length"],
    [
      "wrong join secrets from many addresses",
      (n: number) => `10.9.${n >> 8}.${n & 255}`,
      "a wrong secret of some length",
    ],
    ["no join secret from the agent's own address", () => "10.0.0.1", null],
    ["no join secret from many addresses", (n: number) => `10.9.${n >> 8}.${n & 255}`, null],
  ])("lets 40 of 40 agents in at once during a flood of 600: %s", async (_what, addressOf, secret) => {
    const running = await open({ openToAll: true });
    const flood = await Promise.all(
      Array.from({ length: 600 }, (_, n) => register(running, macOf(0x1000 + n), secret, addressOf(n))),
    );
    expect(flood.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(secret === null ? 200 : 0);
    let joined = 0;
    for (let n = 0; n < 40; n++) {
      const { status, body } = await register(running, macOf(n), JOIN_SECRET, "10.0.0.1");
      await register(running, macOf(0x5000 + n), secret, addressOf(n));
      const token = status === 201 ? JSON.parse(String(body)).token : "";
      if ((await poll(running, macOf(n), token, "10.0.0.1")).status === 200) joined++;
    }
    expect(joined).toBe(40);
  });

  it("throttle who guesses join secrets, by network", async () => {
    const running = await open();
    const guess = (address: string) => register(running, macOf(1), `guess number ${address} of many`, address);
    const statuses = [];
    for (let n = 0; n < 30; n++) statuses.push((await guess("10.0.0.66")).status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    const refused = await guess("10.0.0.66");
    expect(Number(refused.headers?.["retry-after"])).toBeGreaterThan(0);
    expect((await guess("10.0.0.67")).status).toBe(401);
    const v6 = [];
    for (let n = 1; n <= 30; n++) v6.push((await guess(`2001:db8::${n.toString(16)}`)).status);
    expect(v6.filter((status) => status === 429)).toHaveLength(20);
    expect((await guess("2001:db8:0:1::1")).status).toBe(401);
    expect((await guess("::ffff:10.0.0.66")).status).toBe(429);
  });

  it("leave room for invited agents, and do not hold the number of others for ever", async () => {
    const running = await open({ openToAll: true });
    const tries = [];
    for (let n = 0; n < 300; n++)
      tries.push((await register(running, macOf(n), null, `10.9.${n >> 8}.${n & 255}`)).status);
    expect(tries.filter((status) => status === 201)).toHaveLength(200);
    const clock = createFakeClock();
    const limits = createRegistrationLimits(clock);
    for (let n = 0; n < 200; n++) expect(limits.takeUninvited(`10.9.${n >> 8}.${n & 255}`)).toBe(0);
    expect(limits.takeUninvited("10.1.1.1")).toBeGreaterThan(0);
    await clock.advance(86_400_000);
    for (let n = 0; n < 20; n++) expect(limits.takeUninvited(`10.2.2.${n}`)).toBe(0);
    expect(limits.takeUninvited("10.1.1.2")).toBeGreaterThan(0);
  });

  it("remember a bounded number of networks, and agents with the secret in all of them", () => {
    const clock = createFakeClock();
    const limits = createRegistrationLimits(clock);
    for (let n = 0; n < 100_000; n++) limits.takeWrongSecret(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
    expect(limits.takeInvited()).toBe(0);
    for (let n = 1; n < 600; n++) limits.takeInvited();
    expect(limits.takeInvited()).toBeGreaterThan(0);
  });
});

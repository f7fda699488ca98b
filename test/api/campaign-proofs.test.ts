import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { AccountMessage } from "../../src/plugin-api/index.ts";
import distributionLists from "../../src/resources/lists/distribution-lists.ts";
import subscriptions from "../../src/resources/people/subscriptions.ts";
import userDevices from "../../src/resources/people/user-devices.ts";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
let serial = 0;
let list: { id: string; path: string };
let email: string;
let phone: string;
/** What has passed, ms. */
let passed = 0;
let [hasMail, hasText] = [true, true];
let refusal: string | null = null;
const mails: AccountMessage[] = [];
const texts: AccountMessage[] = [];
const pass = (ms: number): void => {
  passed += ms;
};
const clock: Clock = { ...systemClock, now: () => systemClock.now() + passed, monotonicMs: () => passed };

const senderInto = (sent: AccountMessage[], isAvailable: () => boolean) => ({
  isAvailable,
  send: async (message: AccountMessage) => {
    if (refusal === null) sent.push(message);
    return refusal;
  },
});

beforeAll(async () => {
  const notificationService = { send: async () => undefined };
  api = await openApi(makeTempDir(), {
    ...{ clock, needs: { notificationService: notificationService as never } },
    mailSender: senderInto(mails, () => hasMail),
    textSender: senderInto(texts, () => hasText),
  });
});
beforeEach(async () => {
  serial += 1;
  // Earlier attempts of the address are forgotten.
  passed += 24 * 3_600_000;
  [hasMail, hasText, refusal] = [true, true, null];
  mails.length = 0;
  texts.length = 0;
  email = `parent${serial}@example.org`;
  phone = `+4917012345${String(serial).padStart(2, "0")}`;
  const json = { name: `Snow ${serial}`, isSubscribable: true, campaign: { welcomeMessage: "Welcome" } };
  const { body } = await api.call("POST", "/distribution-lists", { json });
  list = { id: body.id, path: `/join/${body.id}` };
});
afterAll(() => api.close());

const page = async (path: string, form?: Record<string, string>, language = "en") => {
  const origin = api.base.slice(0, -"/api/v1".length);
  const posted = form && { method: "POST", body: new URLSearchParams(form) };
  const answer = await fetch(origin + path, { ...posted, headers: { "accept-language": language } });
  return { status: answer.status, text: await answer.text() };
};
const join = (form: Record<string, string>, language?: string) => page(list.path, { name: "Ann", ...form }, language);
const linkIn = (message: AccountMessage | undefined) =>
  /\/confirm-join\/[0-9a-f]+/.exec(message?.text ?? "")?.[0] ?? "";
const actionIn = ({ text }: { text: string }) => /action="([^"]+)"/.exec(text)?.[1] ?? "";
const codeIn = (message: AccountMessage | undefined) => /\d{6}/.exec(message?.text ?? "")?.[0] ?? "";
const members = () => api.store.find(subscriptions, { distributionListId: list.id });
const devicesOf = (userId: string) =>
  api.store
    .find(userDevices, { userId })
    .map(({ type, deviceIdentifier, verified }) => [type, deviceIdentifier, verified]);

describe("an e-mail address", () => {
  it("counts when its mailed link was opened and confirmed; opening alone does nothing", async () => {
    const asked = await join({ email });
    expect([asked.status, asked.text]).toEqual([200, expect.stringContaining(`We sent a link to ${email}`)]);
    expect(members()).toEqual([]);
    expect(api.store.find(users, { email })).toEqual([]);
    const opened = await page(linkIn(mails[0]));
    expect([opened.status, opened.text]).toEqual([200, expect.stringContaining(`receive its messages at ${email}`)]);
    expect(members()).toEqual([]);
    const confirmed = await page(linkIn(mails[0]), {});
    expect(confirmed.text).toContain(`You have joined Snow ${serial}`);
    const [member] = members();
    expect(devicesOf(member?.userId ?? "")).toEqual([["email", email, true]]);
  });

  it("is confirmed by as many people behind one address as have a link", async () => {
    for (let at = 0; at < 10; at++) await join({ email: `parent${serial}.${at}@example.org` });
    const statuses = [];
    for (const mail of mails) statuses.push((await page(linkIn(mail), {})).status);
    expect([statuses, members().length]).toEqual([Array.from({ length: 10 }, () => 200), 10]);
  });

  it("of somebody else brings that person one mail, and subscribes nobody", async () => {
    const owner = await api.store.create(users, { name: "Owner", email }, api.system);
    await join({ email, phone });
    expect([mails.length, texts.length]).toEqual([1, 0]);
    expect([members(), devicesOf(owner.id)]).toEqual([[], []]);
  });

  it("that is invalid is refused before anything is sent", async () => {
    const answer = await join({ email: "no address" });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("This email address is not valid.")]);
    expect(mails).toEqual([]);
  });

  it("is mailed three times, then not before 20 minutes are over", async () => {
    const statuses = [];
    for (let at = 0; at < 4; at++) statuses.push((await join({ email })).status);
    expect([statuses, mails.length]).toEqual([[200, 200, 200, 429], 3]);
    passed += 20 * 60_000;
    expect((await join({ email })).status).toBe(200);
  });

  it("whose mail no server takes is not said to be on its way", async () => {
    refusal = "mail server mx.example.org: timed out";
    const answer = await join({ email });
    expect([answer.status, answer.text]).toEqual([502, expect.stringContaining("could not be sent")]);
    expect(answer.text).not.toContain("mx.example.org");
    expect(answer.text).toContain(`value="${email}"`);
  });

  it("is asked for in the visitor's language", async () => {
    expect((await join({ email }, "de")).text).toContain("Sehen Sie in Ihr Postfach");
    expect(mails[0]).toMatchObject({ language: "de", subject: `Snow ${serial} beitreten?` });
  });
});

describe("a mailed link", () => {
  it.each([
    ["too old", () => pass(24 * 3_600_000)],
    [
      "of a list that is no longer open to everybody",
      () => api.store.update(distributionLists, list.id, { isSubscribable: false }, api.system),
    ],
  ])("is refused: %s", async (_what, change) => {
    await join({ email });
    await change();
    expect((await page(linkIn(mails[0]), {})).status).toBe(404);
    expect(members()).toEqual([]);
  });

  it("is refused when it is forged", async () => {
    await join({ email });
    const forged = linkIn(mails[0]).replace(/.{4}$/, "0000");
    expect((await page(forged)).status).toBe(404);
    expect((await page(forged, {})).status).toBe(404);
  });

  it("can be opened twice", async () => {
    await join({ email });
    await page(linkIn(mails[0]), {});
    expect((await page(linkIn(mails[0]), {})).status).toBe(200);
    expect(members()).toHaveLength(1);
  });
});

describe("a phone number", () => {
  it("counts when the code of its text message was typed", async () => {
    const asked = await join({ phone });
    expect([asked.status, asked.text]).toEqual([200, expect.stringContaining(`We sent a code to ${phone}`)]);
    expect([members(), texts[0]?.to]).toEqual([[], phone]);
    expect((await page(actionIn(asked), { code: ` ${codeIn(texts[0])} ` })).text).toContain("You have joined");
    expect(devicesOf(members()[0]?.userId ?? "")).toEqual([["SMS", phone, true]]);
  });

  it("does not count by a wrong code; after five the code is worthless", async () => {
    const action = actionIn(await join({ phone }));
    const wrong = codeIn(texts[0]) === "000000" ? "000001" : "000000";
    const statuses = [];
    for (let at = 0; at < 5; at++) statuses.push((await page(action, { code: wrong })).status);
    expect(statuses).toEqual([400, 400, 400, 400, 400]);
    expect((await page(action, { code: codeIn(texts[0]) })).status).toBe(429);
    expect(members()).toEqual([]);
  });

  it("does not count by a code of another number, nor without one", async () => {
    const action = actionIn(await join({ phone }));
    await join({ phone: "+4917099999999" });
    expect((await page(action, { code: codeIn(texts[1]) })).status).toBe(
      codeIn(texts[0]) === codeIn(texts[1]) ? 200 : 400,
    );
    expect((await page(action, {})).status).toBe(400);
    expect((await page(action)).status).toBe(404);
  });

  it("is proven after the e-mail address where both are given", async () => {
    await join({ email, phone });
    expect([mails.length, texts.length]).toEqual([1, 0]);
    expect((await page(linkIn(mails[0]))).text).toContain(`You will also receive them at ${phone}`);
    const asked = await page(linkIn(mails[0]), {});
    expect([asked.text, texts.length]).toEqual([expect.stringContaining(`We sent a code to ${phone}`), 1]);
    expect(members()).toEqual([]);
    await page(actionIn(asked), { code: codeIn(texts[0]) });
    expect(devicesOf(members()[0]?.userId ?? "")).toEqual([
      ["email", email, true],
      ["SMS", phone, true],
    ]);
  });
});

describe("an address whose channel is not set up", () => {
  it("joins without a proof, and is marked as such", async () => {
    [hasMail, hasText] = [false, false];
    expect((await join({ email, phone })).text).toContain("You have joined");
    expect(devicesOf(members()[0]?.userId ?? "")).toEqual([
      ["email", email, false],
      ["SMS", phone, false],
    ]);
  });
});

describe("an account that a stranger registered", () => {
  const register = async (): Promise<string> => {
    [hasMail, hasText] = [false, false];
    await join({ email, phone });
    return members()[0]?.userId ?? "";
  };

  it("loses the stranger's number when an administrator sets its password", async () => {
    const userId = await register();
    await api.call("PUT", `/users/${userId}/password`, { json: { password: "staple battery horse" } });
    expect(devicesOf(userId)).toEqual([["email", email, false]]);
  });

  it("loses the stranger's number when its owner sets a first password by a mailed link", async () => {
    const userId = await register();
    hasMail = true;
    expect((await api.call("POST", `/users/${userId}/password-link`, { json: {} })).status).toBe(204);
    const token = /#([0-9a-f]+)/.exec(mails.at(-1)?.text ?? "")?.[1] ?? "";
    const reset = await api.call("POST", "/api/login/password", {
      token: null,
      json: { token, password: "staple battery horse" },
    });
    expect([reset.status, devicesOf(userId)]).toEqual([204, [["email", email, false]]]);
  });

  it("keeps what was proven", async () => {
    const userId = await register();
    const [, number] = api.store.find(userDevices, { userId });
    await api.store.update(userDevices, number?.id ?? "", { verified: true }, api.system);
    await api.call("PUT", `/users/${userId}/password`, { json: { password: "staple battery horse" } });
    expect(devicesOf(userId)).toHaveLength(2);
  });
});

import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/ip-phones/index.ts";
import { type AudioTarget, DEFAULT_PROFILE, type DeliveryItem } from "../../src/plugin-api/index.ts";
import { advanceUntil } from "../support/advance-until.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
import {
  itemsResponse,
  okResponse,
  type ScriptedPhone,
  type ScriptedResponse,
  startScriptedPhone,
} from "./scripted-phone.ts";
import { deliveryTo } from "./simulator-fixture.ts";

const SOUND: AudioTarget = { group: "239.192.16.1", port: 20480, codec: "PCMU", ttl: 1, ssrc: 7 };
const RTP = "RTPMRx:239.192.16.1:20480";
const PAGE_SHOWN = itemsResponse([0, "Success", "http://x/page"]);
const ACCEPTED = itemsResponse([0, "Success", "http://x/page"], [0, "Success", RTP]);

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Stage {
  phone: ScriptedPhone;
  phones: InlinePlugin;
  clock: FakeClock;
  deliver(changes?: Partial<DeliveryItem>): void;
}

/** A scripted phone and a plugin whose clock the test moves. */
async function stage(...script: readonly ScriptedResponse[]): Promise<Stage> {
  const phone = await startScriptedPhone(...script);
  const clock = createFakeClock();
  const config = { pushUser: "bell", pushPassword: "secret" };
  const phones = await runInline(plugin, { config, ports: ["auth"], watches: ["callmgr-clusters"], clock });
  closing.push(phone.stop, phones.close);
  const deliver = (changes: Partial<DeliveryItem> = {}): void =>
    phones.deliver(deliveryTo(phone.device, 1, { audio: SOUND, ...changes }));
  return { phone, phones, clock, deliver };
}

/** Turns the clock a little, again and again, until there is a report. */
async function outcomeOf({ phones, clock }: Stage) {
  await advanceUntil(clock, () => phones.outcomes.length > 0);
  return phones.outcomes.map(({ level, details }) => ({ level, ...details }));
}

describe("ip-phones and push responses", () => {
  it.each<[string, ScriptedResponse, object]>([
    ["both items done", ACCEPTED, { level: "accepted" }],
    [
      "items in the order in which they ended",
      itemsResponse([0, "Success", RTP], [0, "", "http://x"]),
      { level: "accepted" },
    ],
    [
      "the text refused",
      itemsResponse([0, "Success", RTP], [6, "Timed &quot;out&quot;", "http://x"]),
      { level: "accepted", reason: 'the phone refused the text: Timed "out" (status 6)' },
    ],
    [
      "the sound refused",
      itemsResponse([6, "URI not found", RTP], [0, "", "http://x"]),
      { level: "failed", reason: "the phone refused the audio: URI not found (status 6)", retryable: false },
    ],
    [
      "no word about the sound",
      itemsResponse([0, "Success", "http://x"]),
      { level: "failed", reason: "invalid response from the phone", retryable: false },
    ],
    [
      "error 2",
      okResponse('<CiscoIPPhoneError Number="2"/>'),
      { level: "failed", reason: "response framing error on the phone (error 2)", retryable: false },
    ],
    [
      "error 3",
      okResponse('<CiscoIPPhoneError Number="3"/>'),
      { level: "failed", reason: "internal error on the phone (error 3)", retryable: true },
    ],
    [
      "an unknown error",
      okResponse('<CiscoIPPhoneError Number="17"></CiscoIPPhoneError>'),
      { level: "failed", reason: "the phone refused the push with error 17", retryable: false },
    ],
    [
      "nothing in its answer",
      okResponse(""),
      { level: "failed", reason: "invalid response from the phone", retryable: false },
    ],
    [
      "a web page",
      okResponse("<html/>"),
      { level: "failed", reason: "invalid response from the phone", retryable: false },
    ],
    [
      "404",
      "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
      { level: "failed", reason: "pushes are not supported (HTTP 404)", retryable: false },
    ],
    [
      "503",
      "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
      { level: "failed", reason: "the phone responded with HTTP 503", retryable: true },
    ],
    [
      "a redirect, which is not followed",
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
      { level: "failed", reason: "the phone responded with HTTP 302", retryable: false },
    ],
    ["no HTTP", "SSH-2.0-x\r\n\r\n", { level: "failed", reason: "invalid HTTP response", retryable: false }],
    ["half an answer", ACCEPTED.slice(0, -9), { level: "failed", reason: "invalid HTTP response", retryable: false }],
    ["a closed connection", "", { level: "failed", reason: "connection closed without a response", retryable: true }],
    [
      "more than anybody reads",
      `HTTP/1.1 200 OK\r\n\r\n${"x".repeat(70_000)}`,
      { level: "failed", reason: "response longer than 65536 bytes", retryable: false },
    ],
  ])("%s", async (_, line, expected) => {
    const test = await stage(line);
    test.deliver();
    expect(await outcomeOf(test)).toEqual([expected]);
  });

  it("pushes page and audio in one request, with credentials", async () => {
    const test = await stage(ACCEPTED);
    test.deliver({ profile: { ...DEFAULT_PROFILE, volume: "Maximum" } });
    await outcomeOf(test);
    const [head = "", body = ""] = test.phone.requests[0]?.split("\r\n\r\n") ?? [];
    expect(head.split("\r\n")[0]).toBe("POST /CGI/Execute HTTP/1.1");
    expect(head).toContain(`Authorization: Basic ${Buffer.from("bell:secret").toString("base64")}`);
    expect(head).toContain("Content-Type: application/x-www-form-urlencoded");
    const page = new URL("page/", test.phones.urls.auth).href;
    expect(new URLSearchParams(body).get("XML")).toMatch(
      new RegExp(
        `^<\\?xml version="1.0" encoding="UTF-8"\\?>\n<CiscoIPPhoneExecute><ExecuteItem Priority="0" URL="${page}[\\w-]{22}"/>` +
          `<ExecuteItem Priority="0" URL="${RTP}:100"/></CiscoIPPhoneExecute>$`,
      ),
    );
  });

  it.each([
    ["as an item", itemsResponse([0, "Success", "http://x"], [1, "busy", RTP]), false],
    ["as a whole", okResponse('<CiscoIPPhoneError Number="1"/>'), true],
  ])("takes over a phone that receives another stream, reported as %s", async (_, busy, pageAgain) => {
    const test = await stage(busy, itemsResponse([0, "Success", "RTPRx:Stop"]), ACCEPTED);
    test.deliver();
    expect(await outcomeOf(test)).toEqual([{ level: "accepted" }]);
    const pushes = test.phone.requests.map((request) => decodeURIComponent(request.split("\r\n\r\n")[1] ?? ""));
    expect(pushes).toHaveLength(3);
    expect(pushes[1]).toContain('URL="RTPRx:Stop"');
    expect(pushes[2]?.includes("/page/")).toBe(pageAgain);
  });

  it.each([
    [1, [{ level: "skipped", reason: "phone in use" }]],
    [2, [{ level: "accepted" }]],
  ])("recognizes its own stream on a phone in use, attempt %i", async (attempt, expected) => {
    const stopped = itemsResponse([0, "Success", "RTPRx:Stop"]);
    const test = await stage(PAGE_SHOWN, okResponse('<CiscoIPPhoneError Number="1"/>'), stopped, ACCEPTED);
    const profile = { ...DEFAULT_PROFILE, skipPhonesInUse: true };
    test.deliver({ profile, attempt });
    expect(await outcomeOf(test)).toEqual(expected);
  });

  it("fails for now if a phone stays busy", async () => {
    const test = await stage(okResponse('<CiscoIPPhoneError Number="1"/>'));
    test.deliver();
    expect(await outcomeOf(test)).toEqual([
      { level: "failed", reason: "the phone keeps receiving another stream", retryable: true },
    ]);
  });

  it.each([
    [null, "it did not call AUTH, which must be its authentication URL", false],
    ["wrong", "it called back with another user or password", false],
    ["secret", "it was authorized, possibly too late", true],
  ])("explains a refusal by the phone's callback, password %s", async (password, words, retryable) => {
    const refuse = async (): Promise<string> => {
      const query = new URLSearchParams({ UserID: "bell", devicename: test.phone.device.deviceIdentifier });
      if (password !== null) await fetch(`${test.phones.urls.auth}?${query}&Password=${password}`);
      return okResponse('<CiscoIPPhoneError Number="4"/>');
    };
    const test = await stage(refuse);
    test.deliver();
    const reason = `the phone refused the push user: ${words.replace("AUTH", test.phones.urls.auth ?? "")}`;
    expect(await outcomeOf(test)).toEqual([{ level: "failed", reason, retryable }]);
  });

  it("retries a phone whose callback may have timed out", async () => {
    const refuse = async (): Promise<string> => {
      await test.clock.advance(3_000);
      return okResponse('<CiscoIPPhoneError Number="4"/>');
    };
    const test = await stage(refuse);
    test.deliver();
    await test.phone.asked(1);
    expect((await outcomeOf(test))[0]).toMatchObject({ level: "failed", retryable: true });
  });

  it("treats 401 as a refusal", async () => {
    const test = await stage("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
    test.deliver();
    expect((await outcomeOf(test))[0]?.reason).toMatch(/^the phone refused the push user: it did not call/);
  });

  it("waits 5 s for a response", async () => {
    const test = await stage("silence");
    test.deliver();
    await test.phone.asked(1);
    await test.clock.advance(4_999);
    expect(test.phones.outcomes).toEqual([]);
    await test.clock.advance(1);
    expect(await outcomeOf(test)).toEqual([{ level: "failed", reason: "no response within 5 s", retryable: true }]);
  });

  it("reports a refused connection", async () => {
    const test = await stage(ACCEPTED);
    await test.phone.stop();
    closing.shift();
    test.deliver();
    expect(await outcomeOf(test)).toEqual([{ level: "failed", reason: "connection refused", retryable: true }]);
  });
});

import { type AddressInfo, createServer } from "node:net";
import { createTransport, type SendMailOptions } from "nodemailer";
import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/mail-input/index.ts";
import type { TriggerInput } from "../../src/plugin-api/index.ts";
import { unusedPort } from "../support/free-port.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";

const TOKEN = "correct-horse-battery";
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Run {
  input: InlinePlugin;
  /** Hands a mail over as a relay does; resolves with the server's last words. */
  send(mail: SendMailOptions): Promise<string>;
  triggered(): TriggerInput[];
}

async function run(config: object = {}, answer?: HandleHostCall): Promise<Run> {
  const port = await unusedPort();
  const usual = { listenAddress: "127.0.0.1", port, relays: ["127.0.0.0/8"], senders: ["head@school.example.org"] };
  const rest = { token: TOKEN, authenticationServer: null, perMinute: 30 };
  const input = await runInline(plugin, {
    config: { ...usual, ...rest, ...config },
    watches: ["m2m-inputs"],
    ...(answer && { answer }),
  });
  closing.push(() => input.close());
  const transport = createTransport({ host: "127.0.0.1", port, ignoreTLS: true, connectionTimeout: 10_000 });
  const usualMail = {
    from: "Head <Head@School.example.org>",
    to: "Fire@bells.example.org",
    subject: `Fire [${TOKEN}]`,
    text: "Leave",
  };
  return {
    input,
    send: (mail) =>
      transport.sendMail({ ...usualMail, ...mail }).then(
        ({ response }: { response: string }) => response,
        (error: Error & { response?: string }) => error.response ?? error.message,
      ),
    triggered: () => triggersOf(input),
  };
}

const triggersOf = (input: InlinePlugin): TriggerInput[] =>
  input.calls.filter(({ method }) => method === "trigger").map(({ args }) => args[0] as TriggerInput);

/** The host of an appliance on which mail to these recipients is set up. */
const withInputs =
  (sources: readonly string[]): HandleHostCall =>
  ({ method }) =>
    method === "resources.list" ? sources.map((source) => ({ source })) : undefined;

describe("mail-input", () => {
  it("triggers one deduplicated input per recipient, without the token", async () => {
    const { send, triggered, input } = await run();
    expect(input.statuses).toMatchObject([{ state: "ok" }]);
    const messageId = "<1@school.example.org>";
    const text = "Leave the hall,\nplease.\n-- \nHead of school";
    const to = ["Fire@bells.example.org", "drill@bells.example.org"];
    expect(await send({ subject: `Fire ${TOKEN} in the hall`, text, messageId, to })).toMatch(/^250/);
    expect(await send({ text, messageId })).toMatch(/^250/);
    expect(
      await send({ html: "<style>p {}</style><p>Leave <b>now</b> &amp;<br>wait&#33;</p>", text: undefined }),
    ).toMatch(/^250/);
    const [fire, drill, again, html] = triggered();
    expect(fire).toMatchObject({
      source: "fire",
      values: {
        ...{ state: "mail", from: "head@school.example.org", fromName: "Head", subject: "Fire in the hall" },
        body: "Leave the hall,\nplease.",
      },
    });
    expect(drill?.source).toBe("drill");
    expect(again?.dedupeKey).toBe(fire?.dedupeKey);
    expect(html?.dedupeKey).not.toBe(fire?.dedupeKey);
    expect(html?.values.body).toBe("Leave now &\nwait!");
    expect(JSON.stringify(triggered())).not.toContain(TOKEN);
  });

  it("refuses unknown senders and missing tokens, and ignores automatic replies", async () => {
    const { send, triggered } = await run({ senders: ["@school.example.org"] });
    expect(await send({ from: "eve@elsewhere.example.org" })).toMatch(/^550 .*not allowed/);
    expect(await send({ from: "eve@evil-school.example.org" })).toMatch(/^550 .*not allowed/);
    expect(await send({ from: ["head@school.example.org", "eve@example.org"] as unknown as string })).toMatch(/^550/);
    expect(await send({ subject: "Fire" })).toMatch(/^550 .*token/);
    expect(await send({ subject: `Fire x${TOKEN}` })).toMatch(/^550 .*token/);
    expect(await send({ headers: { "Auto-Submitted": "auto-replied" } })).toMatch(/^250/);
    expect(await send({ envelope: { from: "", to: "fire@bells.example.org" } })).toMatch(/^250/);
    expect(triggered()).toEqual([]);
    expect(await send({})).toMatch(/^250/);
    expect(triggered().length).toBe(1);
    const strange = await run({ relays: ["192.0.2.0/24"] });
    expect(await strange.send({})).toMatch(/^550 .*relay not allowed/);
  });

  it("refuses recipients for which nothing is set up, until something is", async () => {
    const sources = ["Fire"];
    const { send, triggered, input } = await run({}, withInputs(sources));
    expect(await send({ to: "noise@bells.example.org" })).toMatch(/^550 .*unknown recipient/);
    expect(await send({ to: ["noise@bells.example.org", "FIRE@bells.example.org"] })).toMatch(/^250/);
    expect(triggered().map(({ source }) => source)).toEqual(["fire"]);
    sources.push("drill");
    input.changed("m2m-inputs", "1");
    await expect.poll(() => send({ to: "drill@bells.example.org" })).toMatch(/^250/);
  });

  it("accepts all recipients where they can't be read or are more than a list shows", async () => {
    const unreadable = await run({}, ({ method }) => (method === "resources.list" ? new Error("busy") : undefined));
    expect(await unreadable.send({ to: "noise@bells.example.org" })).toMatch(/^250/);
    const many = await run({}, withInputs(Array.from({ length: 1_000 }, (_, at) => `input ${at}`)));
    expect(await many.send({ to: "noise@bells.example.org" })).toMatch(/^250/);
  });

  it("decodes windows-1252 and ignores replies, bulk mail and reports", async () => {
    const { send, triggered } = await run();
    const head = (more: string): string =>
      `From: head@school.example.org\r\nTo: fire@appliance\r\nSubject: ${TOKEN} Fire\r\nDate: ${new Date().toUTCString()}\r\nMessage-ID: <w1@x>\r\n${more}\r\n`;
    const envelope = { from: "head@school.example.org", to: "fire@bells.example.org" };
    const text = Buffer.from("52e973756d6520937994209620353020800d0a", "hex");
    const type =
      "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=windows-1252\r\nContent-Transfer-Encoding: 8bit\r\n";
    for (const field of [
      "X-Autoreply: yes",
      "Precedence: bulk",
      "Precedence: auto_reply",
      "Content-Type: multipart/report; boundary=x",
    ])
      expect(await send({ envelope, raw: head(`${field}\r\n`) })).toMatch(/^250/);
    expect(triggered()).toEqual([]);
    expect(await send({ envelope, raw: Buffer.concat([Buffer.from(head(type)), text]) })).toMatch(/^250/);
    expect(triggered()).toMatchObject([{ source: "fire", values: { subject: "Fire", body: "Résume “y” – 50 €" } }]);
  });

  it("trusts only the relay's authentication results", async () => {
    const { send, triggered } = await run({ authenticationServer: "mx.example.org" });
    const proven = (value: string, more: object = {}) =>
      // Prepared: the sender's library would encode what stands in quotes.
      send({ headers: { "Authentication-Results": { prepared: true, value }, ...more } });
    expect(await send({})).toMatch(/^550 .*not authenticated/);
    for (const wrong of [
      "evil.example.org; dkim=pass header.d=school.example.org",
      "mx.example.org; dkim=fail header.d=school.example.org",
      "mx.example.org; dkim=pass header.d=evil.example.org; spf=pass",
      "mx.example.org; dmarc=none (dmarc=pass header.from=school.example.org)",
      "mx.example.org; dmarc=none (a (b) dmarc=pass ; dmarc=pass header.from=school.example.org)",
      'mx.example.org; spf=pass smtp.mailfrom="; dmarc=pass header.from=school.example.org ;"@evil.example.org',
      'mx.example.org; spf=pass smtp.mailfrom="a\\"; dmarc=pass header.from=school.example.org ;"@evil.example.org',
      'mx.example.org; dkim=pass reason="x header.d=school.example.org" header.d=evil.example.org',
      "mx.example.org; dkim=pass header.d=evil.example.org header.d=school.example.org",
      'mx.example.org; dmarc=pass header.from=school.example.org "',
    ])
      expect(await proven(wrong), wrong).toMatch(/^550/);
    expect(triggered()).toEqual([]);
    expect(await proven("mx.example.org 1; spf=fail; dkim=pass (ok) header.d=school.example.org header.s=a")).toMatch(
      /^250/,
    );
    expect(await proven("MX.example.org; dmarc=pass (p=none) header.from=school.example.org")).toMatch(/^250/);
    expect(await proven('mx.example.org; dkim/1 = pass reason="a; b" header.d="school.example.org"')).toMatch(/^250/);
    expect(triggered().length).toBe(3);
  });

  it("rejects replayed mails", async () => {
    const { send, triggered } = await run();
    const hours = (count: number): Date => new Date(Date.now() + count * 3_600_000);
    expect(await send({ date: hours(-1.1) })).toMatch(/^550 .*within an hour/);
    expect(await send({ date: hours(25) })).toMatch(/^550 .*within an hour/);
    expect(await send({ date: hours(-0.9) })).toMatch(/^250/);
    expect(triggered().length).toBe(1);
  });

  it("responds 451 if storing failed or the rate limit is exceeded", async () => {
    let full = true;
    const { send } = await run({ perMinute: 2 }, () => (full ? new Error("the disk is full") : undefined));
    expect(await send({})).toMatch(/^451/);
    full = false;
    expect(await send({})).toMatch(/^250/);
    expect(await send({})).toMatch(/^451 .*rate limit/);
    const taken = await run({ port: Number((await busyPort()).port) });
    expect(taken.input.statuses).toMatchObject([{ state: "down", reason: expect.stringContaining("EADDRINUSE") }]);
  });

  it.each([
    [{ senders: [] }, "senders must be set"],
    [{ senders: "all" }, "list of mail addresses"],
    [{ token: "short" }, "token"],
    [{ token: "with spaces in it" }, "token"],
    [{ relays: ["10.0.0.0/40"] }, "relays"],
  ])("reports missing configuration in %j", async (config, words) => {
    const { input } = await run(config);
    expect(input.statuses).toMatchObject([{ state: "unconfigured", reason: expect.stringContaining(words) }]);
  });
});

async function busyPort(): Promise<AddressInfo> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(() => resolve())));
  return server.address() as AddressInfo;
}

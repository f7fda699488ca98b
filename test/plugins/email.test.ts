import { createVerify, generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/email/index.ts";
import { isMailAddress } from "../../plugins/email/mail.ts";
import { openSmtpClient } from "../../plugins/email/smtp-client.ts";
import { createCertificateAuthority, issueServerCertificate } from "../../src/ops/tls/certificate-authority.ts";
import type { DeliveryItem } from "../../src/plugin-api/index.ts";
import { unusedPort } from "../support/free-port.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type HandleHostCall, type HostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { type MailServerRules, openTestMailServer, type TestMailServer } from "./mail-server.ts";
import { itemOf } from "./test-appliance.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(rules?: MailServerRules, place?: { host: string; port: number }): Promise<TestMailServer> {
  const server = await openTestMailServer(rules, place);
  closing.push(server.close);
  return server;
}

/** As the host hands it over: with all defaults. */
const USUAL = {
  host: "127.0.0.1",
  fallbackHosts: null,
  security: "none",
  certificateAuthority: null,
  username: null,
  password: null,
  from: "bells@school.example.org",
  fromName: "North School",
  replyTo: null,
  language: "en",
  connections: 2,
  dkimSelector: null,
  dkimPrivateKey: null,
  returnDomain: null,
  returnListenAddress: "127.0.0.1",
  returnPort: 2_526,
  returnRelays: ["127.0.0.1"],
};

async function run(config: object, answer?: HandleHostCall): Promise<InlinePlugin> {
  const started = await runInline(plugin, { config: { ...USUAL, ...config }, ...(answer && { answer }) });
  closing.push(() => started.close());
  return started;
}

/** A mail to a person, `of` says what matters to the test. */
function mailTo(deliveryId: number, address: string, of: Partial<DeliveryItem> = {}): DeliveryItem {
  const device = { id: `0198f3a0-0000-7000-8000-${String(deliveryId).padStart(12, "0")}`, deviceIdentifier: address };
  const recipient = { id: "0198f3a0-0000-7000-8000-0000000000aa", name: "Ada Byron", answers: null };
  return itemOf(deliveryId, { device: { ...device, attributes: {} }, recipient, ...of });
}

describe("e-mail", () => {
  it("sends text, picture and a response link, all escaped", async () => {
    const server = await open();
    const email = await run({ port: server.port, replyTo: "office@school.example.org" });
    const imagePath = join(makeTempDir(), "plan.png");
    writeFileSync(imagePath, Buffer.from("89504e470d0a1a0a", "hex"));
    const answers = { options: ["I am safe", '<b>"Help"</b>'], url: "https://bells.example.org/answer/0a1b" };
    const declineUrl = "https://bells.example.org/decline/0c1d";
    const named = { id: "0198f3a0-0000-7000-8000-0000000000aa", name: 'Ada "Countess" Byron, PhD' };
    const recipient = { ...named, answers, declineUrl };
    const text = {
      subject: "Fire <drill>\r\nBcc: all@example.org",
      body: "Leave & wait.\n\nThen <come> back.",
      short: "",
    };
    email.deliver(mailTo(1, "ada@example.org", { recipient, text, imagePath, drill: true, class: "emergency" }));
    await email.outcome(1, "accepted");
    const [mail] = server.mails;
    expect(mail?.envelope).toEqual({ from: "bells@school.example.org", to: ["ada@example.org"] });
    expect(mail?.from).toMatchObject({ address: "bells@school.example.org", name: "North School" });
    expect(mail?.to).toEqual([{ address: "ada@example.org", name: 'Ada "Countess" Byron, PhD' }]);
    expect(mail?.replyTo).toMatchObject([{ address: "office@school.example.org" }]);
    expect(mail?.bcc ?? []).toEqual([]);
    expect(mail?.subject).toContain("Fire <drill>");
    expect(mail?.text).toContain("This is a drill.");
    expect(mail?.text).toContain('I am safe / <b>"Help"</b>\nhttps://bells.example.org/answer/0a1b');
    expect(mail?.text).toContain(`No more messages of this kind:\n${declineUrl}`);
    expect(mail?.html).toContain(`<a href="${declineUrl}"`);
    expect(mail?.html).toContain("<p>Leave &amp; wait.</p><p>Then &lt;come&gt; back.</p>");
    expect(mail?.html).toContain("&lt;b&gt;&quot;Help&quot;&lt;/b&gt;");
    expect(mail?.attachments).toMatchObject([{ contentId: "<picture>", disposition: "inline", mimeType: "image/png" }]);
    expect(mail?.raw).toMatch(/^Auto-Submitted: auto-generated\r$/m);
    const headerOf = (name: string) => mail?.headers.find(({ key }) => key === name)?.value;
    expect(headerOf("list-unsubscribe")).toBe(`<${declineUrl}>`);
    expect(headerOf("list-unsubscribe-post")).toBe("List-Unsubscribe=One-Click");
    expect(mail?.raw).toMatch(/^Importance: high\r$/im);
    expect(mail?.messageId).toBe(
      "<0190a1b2-0000-7000-8000-000000000001.0198f3a0-0000-7000-8000-000000000001@school.example.org>",
    );
    expect(email.statuses.at(-1)).toMatchObject({ state: "ok" });
  });

  it("adds its texts in the language of the recipient, else in that of its settings", async () => {
    const server = await open();
    const email = await run({ port: server.port });
    const recipient = { id: "0198f3a0-0000-7000-8000-0000000000aa", name: "Ada", answers: null };
    email.deliver(
      mailTo(1, "ada@example.org", { recipient: { ...recipient, language: "de-DE" }, drill: true }),
      mailTo(2, "bob@example.org", { recipient: { ...recipient, language: "fr-FR" }, drill: true }),
    );
    await Promise.all([1, 2].map((each) => email.outcome(each, "accepted")));
    const textTo = (address: string) => server.mails.find(({ envelope }) => envelope.to.includes(address))?.text;
    expect(textTo("ada@example.org")).toContain("Dies ist eine Übung.");
    expect(textTo("bob@example.org")).toContain("This is a drill.");
  });

  it("distinguishes permanent from temporary refusals, and accepts only addresses", async () => {
    const server = await open({
      refuse: (address) =>
        address.startsWith("gone") ? { code: 550, words: "no such user" } : { code: 451, words: "try later" },
    });
    const email = await run({ port: server.port });
    email.deliver(
      mailTo(1, "gone@example.org"),
      mailTo(2, "full@example.org"),
      mailTo(3, "a@example.org, b@example.org"),
      mailTo(4, "sent@example.org", { reached: "accepted" }),
    );
    const [gone, full, list] = await Promise.all([1, 2, 3].map((each) => email.outcome(each, "failed")));
    expect(gone).toMatchObject({ details: { reason: expect.stringContaining("no such user"), retryable: false } });
    expect(full).toMatchObject({ details: { reason: expect.stringContaining("try later"), retryable: true } });
    expect(list).toMatchObject({ details: { retryable: false } });
    expect(email.levels(4)).toEqual([]);
    expect(email.statuses.at(-1)).toMatchObject({ state: "ok" });
  });

  it("fails queued mails while the server is unreachable", async () => {
    const server = await open();
    await server.close();
    const email = await run({ port: server.port, connections: 1 });
    email.deliver(...[1, 2, 3].map((each) => mailTo(each, `p${each}@example.org`)));
    const failed = await Promise.all([1, 2, 3].map((each) => email.outcome(each, "failed")));
    const details = { reason: expect.stringContaining("connection failed"), retryable: true };
    for (const each of failed) expect(each).toMatchObject({ details });
    expect(email.statuses.at(-1)).toMatchObject({ state: "down" });
  });

  it("offers no one-click opt-out over HTTP, and none where a message may not be declined", async () => {
    const server = await open();
    const email = await run({ port: server.port });
    const recipient = { id: "0198f3a0-0000-7000-8000-0000000000aa", name: "Ada", answers: null };
    email.deliver(
      mailTo(1, "ada@example.org", { recipient: { ...recipient, declineUrl: "http://10.0.0.1/decline/0c1d" } }),
      mailTo(2, "bob@example.org"),
    );
    await Promise.all([1, 2].map((each) => email.outcome(each, "accepted")));
    const listHeaders = (address: string) =>
      server.mails
        .find(({ envelope }) => envelope.to.includes(address))
        ?.headers.filter(({ key }) => key.startsWith("list-"));
    expect(listHeaders("ada@example.org")).toMatchObject([{ value: "<http://10.0.0.1/decline/0c1d>" }]);
    expect(listHeaders("bob@example.org")).toEqual([]);
  });

  it("goes to the next server while the one before is away, and back after a minute", async () => {
    const second = await open();
    const { port } = second;
    const settings = { ...USUAL, security: "none", port, hosts: ["127.0.0.2", "127.0.0.3", "127.0.0.1"] } as const;
    let now = 0;
    const client = openSmtpClient({ ...settings, dkim: null }, { monotonicMs: () => now });
    closing.push(async () => client.close());
    const send = () => client.send({ from: USUAL.from, to: "ada@example.org", text: "Snow day" });
    expect(await send()).toEqual({ taken: true, level: "accepted" });
    const first = await open({}, { host: "127.0.0.2", port });
    now = 59_999;
    expect(await send()).toMatchObject({ taken: true });
    expect([first.mails.length, second.mails.length]).toEqual([0, 2]);
    now = 60_000;
    expect(await send()).toMatchObject({ taken: true });
    expect([first.mails.length, second.mails.length]).toEqual([1, 2]);
  });

  it("names the first server when none can be reached, and asks no other after a refusal", async () => {
    const server = await open({ refuse: () => ({ code: 550, words: "no such user" }) });
    const email = await run({ fallbackHosts: ["127.0.0.2"], port: server.port });
    email.deliver(mailTo(1, "gone@example.org"));
    expect(await email.outcome(1, "failed")).toMatchObject({ details: { retryable: false } });
    await server.close();
    const lost = await run({ fallbackHosts: ["127.0.0.2"], port: server.port });
    lost.deliver(mailTo(2, "ada@example.org"));
    const { details } = await lost.outcome(2, "failed");
    expect(details).toMatchObject({ reason: expect.stringContaining("mail server 127.0.0.1:"), passing: true });
  });

  it("sends by priority and skips cancelled mails", async () => {
    const server = await open();
    const email = await run({ port: server.port, connections: 1 });
    await email.said(({ state }) => state === "ok");
    email.deliver(
      mailTo(1, "first@example.org"),
      mailTo(2, "routine@example.org"),
      mailTo(3, "urgent@example.org", { priority: 0 }),
      mailTo(4, "called-off@example.org"),
    );
    email.stop("aborted", 4);
    await server.came(3);
    expect(server.mails.map(({ envelope }) => envelope.to[0])).toEqual([
      "urgent@example.org",
      "first@example.org",
      "routine@example.org",
    ]);
    expect(email.levels(4)).toEqual([]);
  });

  it("authenticates only over trusted TLS", async () => {
    const now = Date.now();
    const authority = await createCertificateAuthority("mail", now);
    const { certificate: cert, key } = await issueServerCertificate(authority, ["127.0.0.1"], now);
    const server = await open({
      authOptional: false,
      cert,
      key,
      onAuth: ({ username, password }, _session, done) =>
        username === "bells" && password === "sesame" ? done(null, { user: username }) : done(new Error("no")),
    });
    const login = { port: server.port, security: "starttls", username: "bells", password: "sesame" };
    const trusting = await run({ ...login, certificateAuthority: authority.certificate });
    trusting.deliver(mailTo(1, "ada@example.org"));
    await trusting.outcome(1, "accepted");
    const strange = await run(login);
    expect(await strange.said(({ state }) => state === "down")).toMatchObject({
      reason: expect.stringContaining("certificate"),
    });
    const wrong = await run({ ...login, password: "guess", certificateAuthority: authority.certificate });
    expect(await wrong.said(({ state }) => state === "down")).toMatchObject({
      reason: expect.stringContaining("authentication failed"),
    });
    const plain = await open();
    const strict = await run({ port: plain.port, security: "starttls" });
    await strict.said(({ state }) => state === "down");
    expect(plain.mails).toEqual([]);
  });

  it("signs mails with DKIM", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const server = await open();
    const dkimPrivateKey = privateKey.export({ type: "pkcs8", format: "pem" });
    const email = await run({ port: server.port, dkimSelector: "bells", dkimPrivateKey });
    email.deliver(mailTo(1, "ada@example.org"));
    await email.outcome(1, "accepted");
    const raw = server.mails[0]?.raw ?? "";
    const header = /^DKIM-Signature: ((?:.|\r\n[ \t])*)/m.exec(raw)?.[1] ?? "";
    const tags = new Map(
      header.split(";").map((tag) => {
        const [name = "", ...value] = tag.split("=");
        return [name.trim(), value.join("=").replace(/\s/g, "")] as const;
      }),
    );
    expect(Object.fromEntries(tags)).toMatchObject({ d: "school.example.org", s: "bells", a: "rsa-sha256" });
    const verify = createVerify("sha256").update(signedOf(raw, tags.get("h") ?? "", header));
    expect(verify.verify(publicKey, tags.get("b") ?? "", "base64")).toBe(true);
  });

  it("reports missing configuration", async () => {
    const none = await run({ host: null });
    none.deliver(mailTo(1, "ada@example.org"));
    expect(await none.outcome(1, "failed")).toMatchObject({ details: { reason: "host must be set" } });
    expect(none.statuses).toMatchObject([{ state: "unconfigured" }]);
  });

  it.each([
    ["ada@example.org", true],
    ["ada+bells@sub.example.org", true],
    ["ada@example.org,eve@example.org", false],
    ["Ada <ada@example.org>", false],
    ["ada@example.org\r\nBcc: eve@example.org", false],
    ["ada", false],
    ["", false],
  ])("accepts %j as an address: %s", (text, is) => expect(isMailAddress(text)).toBe(is));
});

describe("bounces", () => {
  /** What a mail server says of a mail that it could not deliver. */
  const report = (action: string, status: string, said: string): string =>
    [
      "From: MAILER-DAEMON@mx.example.org",
      "Subject: Undelivered Mail",
      "Auto-Submitted: auto-replied",
      'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
      "",
      "--b\r\n\r\nI'm sorry.\r\nAction: failed\r\n",
      "--b\r\nContent-Type: message/delivery-status\r\n",
      `Reporting-MTA: dns; mx.example.org\r\n\r\nFinal-Recipient: rfc822; ada@example.org\r\nAction: ${action}`,
      `Status: ${status}\r\nDiagnostic-Code: smtp; ${said}\r\n`,
      "--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: Fire\r\n\r\n--b--",
    ].join("\r\n");

  it("fail their delivery with the server's text, and deactivate unknown mailboxes", async () => {
    const server = await open();
    const returnPort = await unusedPort();
    const state = new Map<unknown, unknown>();
    const answer = ({ method, args }: HostCall) =>
      method === "state.get"
        ? state.get(args[0])
        : method === "state.set"
          ? void state.set(args[0], args[1])
          : undefined;
    const config = { port: server.port, returnDomain: "back.example.org", returnPort };
    const email = await run(config, answer);
    email.deliver(...[1, 2, 3].map((each) => mailTo(each, `p${each}@example.org`)));
    await server.came(3);
    const address = (n: number): string =>
      server.mails.find(({ envelope }) => envelope.to[0] === `p${n}@example.org`)?.envelope.from ?? "";
    expect(address(1)).toMatch(/^return\+1\.[0-9a-f]{20}@back\.example\.org$/);
    const transport = createTransport({ host: "127.0.0.1", port: returnPort, ignoreTLS: true });
    const back = (to: string, raw: string): Promise<string> =>
      transport.sendMail({ envelope: { from: "", to }, raw }).then(
        ({ response }) => response,
        (error: { response?: string }) => error.response ?? "",
      );
    expect(await back(address(1), report("delayed", "4.4.1", "later"))).toMatch(/^250/);
    expect(await back(address(1), report("failed", "5.1.1", "550 5.1.1\r\n <ada>: no such user"))).toMatch(/^250/);
    expect(await back(address(2), report("failed", "5.2.2", "552 full"))).toMatch(/^250/);
    expect(
      await back(address(3), "Auto-Submitted: auto-replied\r\nFrom: postmaster@x\r\nSubject: Away\r\n\r\nHi"),
    ).toMatch(/^250/);
    expect(await back(address(3), "From: <MAILER-DAEMON@x>\r\nSubject: failure notice\r\n\r\nHi")).toMatch(/^250/);
    const forged = address(1).replace(/\.[0-9a-f]{4}/, ".0000");
    expect(await back(forged, report("failed", "5.1.1", "x"))).toMatch(/^550.*unknown recipient/);
    const failures = email.outcomes.filter(({ level }) => level === "failed");
    expect(failures.map(({ deliveryId, details }) => [deliveryId, details.reason, details.gone])).toEqual([
      [1, "the mail bounced: 550 5.1.1 <ada>: no such user", true],
      [2, "the mail bounced: 552 full", false],
      [3, "the mail bounced: failure notice", false],
    ]);
    expect(failures.every(({ details }) => details.returned && details.retryable === false)).toBe(true);
    transport.close();
  });

  it("are asked for where the server reports failures", async () => {
    const server = await open({ hideDSN: false });
    const returnPort = await unusedPort();
    const email = await run({ port: server.port, returnDomain: "back.example.org", returnPort });
    email.deliver(mailTo(7, "ada@example.org"));
    await email.outcome(7, "accepted");
    expect(server.mails[0]?.dsn).toMatchObject({ ret: "HDRS", envid: "7" });
  });

  it("go to the sender if the port cannot be opened, which is reported", async () => {
    const server = await open();
    const email = await run({ port: server.port, returnDomain: "back.example.org", returnPort: server.port });
    email.deliver(mailTo(1, "ada@example.org"));
    await server.came(1);
    expect(server.mails[0]?.envelope.from).toBe("bells@school.example.org");
    expect(await email.said(({ state }) => state === "degraded")).toMatchObject({
      reason: expect.stringContaining("bounces cannot be received"),
    });
  });
});

describe("a mail about an account", () => {
  const MAIL = {
    ...{ to: "ada@example.org", name: "Ada\r\nBcc: all@example.org", language: "de" as const },
    ...{ subject: "Neues Passwort festlegen", text: "Guten Tag,\n\nhttps://bells.example.org/reset-password#0a1b" },
  };

  it("is plain text to one address, with a link that shows where it leads", async () => {
    const server = await open();
    const email = await run({ port: server.port });
    expect(await email.accountMessage(MAIL)).toBeNull();
    const [mail] = server.mails;
    expect(mail).toMatchObject({
      envelope: { from: "bells@school.example.org", to: ["ada@example.org"] },
      ...{ subject: "Neues Passwort festlegen" },
      text: "Guten Tag,\n\nhttps://bells.example.org/reset-password#0a1b\n\n-- \nGesendet von North School\n",
    });
    expect([mail?.html, mail?.bcc]).toEqual([undefined, undefined]);
  });

  it.each(["ada", "ada@example.org, all@example.org", "<ada@example.org>\r\nRCPT TO:<all@example.org>"])(
    "is not sent to %j",
    async (to) => {
      const server = await open();
      const email = await run({ port: server.port });
      expect(await email.accountMessage({ ...MAIL, to })).toBe("the device identifier must be a mail address");
      expect(server.mails).toEqual([]);
    },
  );

  it("that the server refuses says why", async () => {
    const server = await open({ refuse: () => ({ code: 550, words: "5.1.1 no such mailbox" }) });
    const email = await run({ port: server.port });
    expect(await email.accountMessage(MAIL)).toContain("5.1.1 no such mailbox");
  });
});

/** What a signature is over: the headers it names and itself without its value, relaxed. @source RFC 6376 §3.4.2, §3.7 */
function signedOf(raw: string, names: string, own: string): string {
  const unfolded = raw.slice(0, raw.indexOf("\r\n\r\n")).replace(/\r\n[ \t]+/g, " ");
  const headers = new Map(
    unfolded.split("\r\n").map((line) => {
      const at = line.indexOf(":");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1)] as const;
    }),
  );
  const relaxed = (name: string, value: string): string => `${name}:${value.replace(/\s+/g, " ").trim()}`;
  const own0 = own.replace(/\r\n[ \t]+/g, " ").replace(/(\bb=)[^;]*$/, "$1");
  const lines = names.split(":").map((name) => relaxed(name, headers.get(name) ?? ""));
  return [...lines, relaxed("dkim-signature", own0)].join("\r\n");
}

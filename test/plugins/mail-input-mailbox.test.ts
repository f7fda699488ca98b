import { afterEach, expect, it } from "vitest";
import plugin from "../../plugins/mail-input/index.ts";
import type { TriggerInput } from "../../src/plugin-api/index.ts";
import { type MailboxPeer, startDovecot } from "../support/dovecot.ts";
import { externalProgram } from "../support/external-programs.ts";
import { unusedPort } from "../support/free-port.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";

const TOKEN = "correct-horse-battery";
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function startMailbox(): Promise<MailboxPeer> {
  const peer = await startDovecot();
  closing.push(() => peer.stop());
  return peer;
}

async function follow(peer: MailboxPeer, config: object = {}, answer?: HandleHostCall): Promise<InlinePlugin> {
  const { username: imapUsername, password: imapPassword, certificate: imapCertificateAuthority } = peer;
  const listener = { listenAddress: "127.0.0.1", port: await unusedPort(), relays: ["127.0.0.1"], perMinute: 30 };
  const rules = { senders: ["head@school.example.org"], token: TOKEN, authenticationServer: null };
  const mailbox = {
    ...{ imapHost: "127.0.0.1", imapPort: peer.securePort, imapSecurity: "tls", imapMailbox: "INBOX" },
    ...{ imapUsername, imapPassword, imapCertificateAuthority },
  };
  const input = await runInline(plugin, {
    config: { ...listener, ...rules, ...mailbox, ...config },
    watches: ["m2m-inputs"],
    answer: answer ?? (({ method }) => (method === "resources.list" ? [{ source: "fire" }] : undefined)),
  });
  closing.push(() => input.close());
  return input;
}

/** A mail as the mail server keeps it; `fields` come first. */
function mail(fields: readonly string[], subject = `Fire ${TOKEN}`): string {
  return [
    ...fields,
    "From: Head <head@school.example.org>",
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: <${Math.random()}@school.example.org>`,
    "",
    "Leave the hall.",
  ].join("\r\n");
}

const triggersOf = (input: InlinePlugin): TriggerInput[] =>
  input.calls.filter(({ method }) => method === "trigger").map(({ args }) => args[0] as TriggerInput);

const FOR_FIRE = ["X-Original-To: fire@bells.example.org", "Delivered-To: bells@mail.example.org"];

externalProgram("dovecot").describe("a mailbox read over IMAP", () => {
  it("starts what waits there and what arrives, and marks it as seen", async () => {
    const peer = await startMailbox();
    peer.deliver(mail(FOR_FIRE));
    const input = await follow(peer);
    await expect.poll(() => peer.flags()).toEqual(["S"]);
    expect(triggersOf(input)).toMatchObject([
      { source: "fire", values: { subject: "Fire", body: "Leave the hall.", from: "head@school.example.org" } },
    ]);
    expect(input.statuses.at(-1)).toMatchObject({ state: "ok" });
    peer.deliver(mail(["To: Fire <fire@bells.example.org>, office@school.example.org"]));
    await expect.poll(() => peer.flags()).toEqual(["S", "S"]);
    expect(triggersOf(input).map(({ source }) => source)).toEqual(["fire", "fire"]);
  });

  it("flags what it refuses, ignores automatic mail, and goes on with the others", async () => {
    const peer = await startMailbox();
    peer.deliver(mail(["To: noise@bells.example.org"]));
    peer.deliver(mail(FOR_FIRE, "Fire"));
    peer.deliver(mail([...FOR_FIRE, "Auto-Submitted: auto-replied"]));
    peer.deliver(mail([...FOR_FIRE, "Return-Path: <>"]));
    peer.deliver(`${mail(FOR_FIRE)}\r\n${"x".repeat(70)}\r\n`.padEnd(1_100_000, "long line \r\n"));
    peer.deliver(mail(FOR_FIRE));
    const input = await follow(peer);
    await expect.poll(() => peer.flags()).toEqual(["FS", "FS", "S", "S", "FS", "S"]);
    expect(triggersOf(input)).toHaveLength(1);
  });

  it("leaves a mail unseen until its input is stored", async () => {
    const peer = await startMailbox();
    peer.deliver(mail(FOR_FIRE));
    let isFull = true;
    const input = await follow(peer, { perMinute: 600 }, ({ method }) =>
      method === "trigger" && isFull ? new Error("the disk is full") : undefined,
    );
    await expect.poll(() => triggersOf(input).length).toBe(1);
    expect(peer.flags()).toEqual([""]);
    // Something new makes it look again at once, however often.
    for (let count = 1; count <= 11; count++) {
      const triggered = triggersOf(input).length;
      peer.deliver(mail(FOR_FIRE));
      await expect.poll(() => triggersOf(input).length).toBeGreaterThan(triggered);
    }
    isFull = false;
    peer.deliver(mail(FOR_FIRE));
    await expect.poll(() => peer.flags()).toEqual(Array(13).fill("S"));
  });

  it("upgrades to TLS where it is told to, and says what is wrong with the log-in or the server", async () => {
    const peer = await startMailbox();
    peer.deliver(mail(FOR_FIRE));
    const secure = await follow(peer, { imapSecurity: "starttls", imapPort: peer.port });
    await expect.poll(() => peer.flags()).toEqual(["S"]);
    expect(secure.statuses.at(-1)).toMatchObject({ state: "ok" });
    const wrong = await follow(peer, { imapPassword: "another word" });
    await wrong.said(({ reason }) => /log-in as bells refused/.test(reason ?? ""));
    const unknownFolder = await follow(peer, { imapMailbox: "Alarms" });
    await unknownFolder.said(({ state, reason }) => state === "down" && /mailbox Alarms/.test(reason ?? ""));
    const untrusted = await follow(peer, { imapCertificateAuthority: null });
    await untrusted.said(({ state, reason }) => state === "down" && /certificate/.test(reason ?? ""));
    const closed = await follow(peer, { imapPort: await unusedPort() });
    await closed.said(({ state, reason }) => state === "down" && /ECONNREFUSED/.test(reason ?? ""));
  });
});

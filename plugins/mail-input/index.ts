import { type ConfigOf, definePlugin, type PluginContext } from "#plugin-api";
import config from "./config.ts";
import { deliveredTo, returnPathOf } from "./envelope-fields.ts";
import { followRecipients, type KnownRecipients } from "./known-recipients.ts";
import { isAutomaticMail, mailInput } from "./mail-trigger.ts";
import { followMailbox, type MailboxSettings } from "./mailbox.ts";
import { parseMail } from "./parsed-mail.ts";
import { authorizeSender, type SenderRules } from "./sender-authorization.ts";
import { sentence } from "./sentences.ts";
import { type IncomingMail, isAddressOrNetwork, MailRejectedError, openMailListener } from "./smtp-server.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

const MIN_TOKEN_LENGTH = 12;
const MINUTE_MS = 60_000;

/** E-mail that starts messages. A mail is accepted once its input is stored. */
export default definePlugin({
  config,
  async activate(ctx) {
    const rules = parseRules(ctx.config);
    if (typeof rules === "string") return ctx.status("unconfigured", rules);
    const recipients = await followRecipients(ctx);
    const handling = { ctx, rules, recipients, mayAccept: createMailRateLimiter(ctx) };
    const problems = new Map<"port" | "mailbox", string>();
    const report = (of: "port" | "mailbox", problem: string | null): void => {
      if (problem === null) problems.delete(of);
      else problems.set(of, problem);
      if (problems.size === 0) ctx.status("ok");
      else ctx.status("down", [...problems.values()].join("; "));
    };
    const mailbox = mailboxOf(ctx.config);
    if (mailbox) {
      report("mailbox", sentence("connecting", { host: mailbox.host }));
      void followMailbox({
        ...mailbox,
        clock: ctx.clock,
        signal: ctx.signal,
        onMail: (raw) => handleMail({ raw, sender: null, recipients: null }, handling),
        onState: (state, reason) => report("mailbox", state === "up" ? null : reason),
      });
    }
    try {
      await openMailListener({
        ...ctx.config,
        relays: rules.relays,
        signal: ctx.signal,
        isKnown(recipient) {
          const isKnown = recipients.includes(recipient);
          if (!isKnown) recipients.countUnknown();
          return isKnown;
        },
        onMail: (mail) => handleMail(mail, handling),
      });
      report("port", null);
    } catch (error) {
      report("port", sentence("port-failed", { error: error instanceof Error ? error.message : String(error) }));
    }
  },
});

/** Rules from the configuration, or an error message. */
function parseRules(given: ConfigOf<typeof config>): (SenderRules & { relays: string[] }) | string {
  const { senders, token, relays, authenticationServer } = given;
  if (!Array.isArray(relays) || !relays.every(isAddressOrNetwork)) return sentence("relays-invalid");
  if (!Array.isArray(senders) || !senders.every((each) => typeof each === "string" && each.includes("@")))
    return sentence("senders-invalid");
  if (senders.length === 0) return sentence("senders-missing");
  if (!token || token.length < MIN_TOKEN_LENGTH || /\s/.test(token))
    return sentence("token-invalid", { length: MIN_TOKEN_LENGTH });
  return { relays, token, authenticationServer, senders: senders.map((each: string) => each.toLowerCase()) };
}

/** The mailbox to read; null for none. */
function mailboxOf(given: ConfigOf<typeof config>): MailboxSettings | null {
  if (!given.imapHost) return null;
  return {
    host: given.imapHost,
    port: given.imapPort,
    security: given.imapSecurity,
    certificateAuthority: given.imapCertificateAuthority,
    username: given.imapUsername ?? "",
    password: given.imapPassword ?? "",
    mailbox: given.imapMailbox,
  };
}

interface Handling {
  ctx: Context;
  rules: SenderRules;
  recipients: KnownRecipients;
  mayAccept(): boolean;
}

/** `sender` and `recipients` are those of the envelope; null where the mail's header says what it knows of them. */
async function handleMail(
  mail: Pick<IncomingMail, "raw"> & { sender: string | null; recipients: readonly string[] | null },
  { ctx, rules, recipients, mayAccept }: Handling,
): Promise<void> {
  const read = await parseMail(mail.raw);
  if (isAutomaticMail(read, mail.sender ?? returnPathOf(read)))
    return ctx.log.info({ event: "mail.automatic_ignored" }, "automatic mail ignored");
  const to = mail.recipients ?? deliveredTo(read, (address) => recipients.includes(address));
  if (to.length === 0) {
    recipients.countUnknown();
    throw new MailRejectedError(550, "unknown recipient");
  }
  const admitted = authorizeSender(read, rules, ctx.clock.now());
  if (typeof admitted === "string") {
    ctx.log.warn({ event: "mail.refused", reason: admitted }, "mail refused");
    throw new MailRejectedError(550, admitted);
  }
  if (!mayAccept()) throw new MailRejectedError(451, "rate limit exceeded");
  for (const each of to) await ctx.trigger(mailInput(read, admitted, each));
}

/** Rate limiter: true if another mail is allowed in the current minute, which begins with its first mail. */
function createMailRateLimiter({ clock, config: { perMinute } }: Context): () => boolean {
  let minute = { since: Number.NEGATIVE_INFINITY, count: 0 };
  return () => {
    const now = clock.monotonicMs();
    if (now - minute.since >= MINUTE_MS) minute = { since: now, count: 0 };
    minute.count++;
    return minute.count <= perMinute;
  };
}

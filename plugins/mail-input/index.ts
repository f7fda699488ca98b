import { type ConfigOf, definePlugin, type PluginContext } from "#plugin-api";
import config from "./config.ts";
import { isAutomaticMail, mailInput } from "./mail-trigger.ts";
import { parseMail } from "./parsed-mail.ts";
import { authorizeSender, type SenderRules } from "./sender-authorization.ts";
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
    const mayAccept = createMailRateLimiter(ctx);
    try {
      await openMailListener({
        ...ctx.config,
        relays: rules.relays,
        signal: ctx.signal,
        onMail: (mail) => handleMail(mail, rules, mayAccept, ctx),
      });
      ctx.status("ok");
    } catch (error) {
      ctx.status("down", `failed to open the port: ${error instanceof Error ? error.message : String(error)}`);
    }
  },
});

/** Rules from the configuration, or an error message. */
function parseRules(given: ConfigOf<typeof config>): (SenderRules & { relays: string[] }) | string {
  const { senders, token, relays, authenticationServer } = given;
  if (!Array.isArray(relays) || !relays.every(isAddressOrNetwork))
    return "relays must be a list of addresses and networks";
  if (!Array.isArray(senders) || !senders.every((each) => typeof each === "string" && each.includes("@")))
    return "senders must be a list of mail addresses and @domains";
  if (senders.length === 0) return "senders must be set";
  if (!token || token.length < MIN_TOKEN_LENGTH || /\s/.test(token))
    return `token must have at least ${MIN_TOKEN_LENGTH} characters and no spaces`;
  return { relays, token, authenticationServer, senders: senders.map((each: string) => each.toLowerCase()) };
}

async function handleMail(
  mail: IncomingMail,
  rules: SenderRules,
  mayAccept: () => boolean,
  ctx: Context,
): Promise<void> {
  const read = await parseMail(mail.raw);
  if (isAutomaticMail(read, mail.sender))
    return ctx.log.info({ event: "mail.automatic_ignored" }, "automatic mail ignored");
  const admitted = authorizeSender(read, rules, ctx.clock.now());
  if (typeof admitted === "string") {
    ctx.log.warn({ event: "mail.refused", reason: admitted }, "mail refused");
    throw new MailRejectedError(550, admitted);
  }
  if (!mayAccept()) throw new MailRejectedError(451, "rate limit exceeded");
  for (const to of mail.recipients) await ctx.trigger(mailInput(read, admitted, to));
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

import PostalMime from "postal-mime";
import { type ConfigOf, definePlugin, type PluginContext } from "#plugin-api";
import config from "./config.ts";
import { isAutomaticReply, mailInput } from "./mail-trigger.ts";
import { authorizeSender, type SenderRules } from "./sender-authorization.ts";
import { type IncomingMail, isAddressOrNetwork, MailRejectedError, openMailListener } from "./smtp-server.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

const MIN_TOKEN_LENGTH = 12;
const MINUTE_MS = 60_000;

/** E-mail that starts messages: a mail is taken by the server that hands it over once what it says is stored. */
export default definePlugin({
  config,
  async activate(ctx) {
    const rules = parseRules(ctx.config);
    if (typeof rules === "string") return ctx.status("degraded", rules);
    const pace = createMailRateLimiter(ctx);
    try {
      await openMailListener({
        ...ctx.config,
        relays: rules.relays,
        signal: ctx.signal,
        onMail: (mail) => handleMail(mail, rules, pace, ctx),
      });
      ctx.status("ok");
    } catch (error) {
      ctx.status("down", `the port can't be opened: ${error instanceof Error ? error.message : String(error)}`);
    }
  },
});

/** What the configuration allows, or in words what it lacks. */
function parseRules(given: ConfigOf<typeof config>): (SenderRules & { relays: string[] }) | string {
  const { senders, token, relays, authenticationServer } = given;
  if (!Array.isArray(relays) || !relays.every(isAddressOrNetwork)) return "relays is a list of addresses and networks";
  if (!Array.isArray(senders) || !senders.every((each) => typeof each === "string" && each.includes("@")))
    return "senders is a list of mail addresses and of @domains";
  if (senders.length === 0) return "no senders are set";
  if (!token || token.length < MIN_TOKEN_LENGTH || /\s/.test(token))
    return `token has less than ${MIN_TOKEN_LENGTH} characters, or spaces`;
  return { relays, token, authenticationServer, senders: senders.map((each: string) => each.toLowerCase()) };
}

async function handleMail(mail: IncomingMail, rules: SenderRules, pace: () => boolean, ctx: Context): Promise<void> {
  const read = await PostalMime.parse(mail.raw);
  if (isAutomaticReply(read, mail.sender)) return ctx.log.info({}, "an automatic mail starts nothing");
  const admitted = authorizeSender(read, rules, ctx.clock.now());
  if (typeof admitted === "string") {
    ctx.log.warn({ reason: admitted }, "a mail was refused");
    throw new MailRejectedError(550, admitted);
  }
  if (!pace()) throw new MailRejectedError(451, "too many mails in a minute");
  for (const to of mail.recipients) await ctx.trigger(mailInput(read, admitted, to));
}

/** Says whether one more mail may come in the minute that begins with the first. */
function createMailRateLimiter({ clock, config: { perMinute } }: Context): () => boolean {
  let minute = { since: Number.NEGATIVE_INFINITY, count: 0 };
  return () => {
    const now = clock.monotonicMs();
    if (now - minute.since >= MINUTE_MS) minute = { since: now, count: 0 };
    minute.count++;
    return minute.count <= perMinute;
  };
}

import { type ConfigOf, createOutbox, definePlugin, lacking, type PluginContext } from "#plugin-api";
import { isNetwork } from "../mail-input/server.ts";
import config from "./config.ts";
import { isAddress, type Letterhead, mailOf } from "./mail.ts";
import { openReturns, type Returns } from "./returns.ts";
import { type MailServer, openMailServer } from "./server.ts";

/** How often a server that was not well is asked whether it is again. own choice */
const ASK_EVERY_MS = 30_000;

/** E-mail: one mail for each address, by a mail server that takes it for sending. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { from, fromName, replyTo, language } = ctx.config;
    const server = serverOf(ctx.config);
    if (server === null || from === null || !isAddress(from)) {
      const missing = server === null ? "no mail server is set" : "from is not set to a mail address";
      return lacking(ctx, missing);
    }
    ctx.signal.addEventListener("abort", server.close, { once: true });
    const letterhead: Letterhead = { from, fromName, replyTo, language };
    const atOnce = ctx.config.connections;
    const { addressOf, fault: unheard } = await returnsOf(ctx);
    const outbox = createOutbox({
      ...ctx,
      status: (state, reason) =>
        state === "ok" && unheard !== null ? ctx.status("degraded", unheard) : ctx.status(state, reason),
      atOnce,
      fault: ({ device }) => (isAddress(device.deviceIdentifier) ? null : "it is not a mail address"),
      hand: (item) => server.send(mailOf(item, letterhead, addressOf?.(item) ?? null)),
    });
    ctx.deliver(outbox.add);
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    const ask = (): void => {
      if (!outbox.isWell) void server.greet().then(outbox.heard);
    };
    ctx.every(ASK_EVERY_MS, ask);
    ask();
  },
});

/** Mails go out even where what comes back can't be taken: `fault` says why not, and it goes to the sender then. */
async function returnsOf(
  ctx: PluginContext<ConfigOf<typeof config>>,
): Promise<{ addressOf: Returns["addressOf"] | null; fault: string | null }> {
  const { returnDomain, returnRelays } = ctx.config;
  if (!returnDomain) return { addressOf: null, fault: null };
  if (!Array.isArray(returnRelays) || !returnRelays.every(isNetwork))
    return { addressOf: null, fault: "returnRelays is a list of addresses and networks" };
  try {
    const { addressOf } = await openReturns({ ...ctx.config, returnDomain, returnRelays }, ctx);
    return { addressOf, fault: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { addressOf: null, fault: `mails that come back can't be taken: ${why}` };
  }
}

function serverOf(given: ConfigOf<typeof config>): MailServer | null {
  const { host, from, dkimSelector, dkimPrivateKey } = given;
  if (!host) return null;
  const domainName = from?.slice(from.lastIndexOf("@") + 1) ?? "";
  const dkim =
    dkimSelector && dkimPrivateKey ? { domainName, keySelector: dkimSelector, privateKey: dkimPrivateKey } : null;
  return openMailServer({ ...given, host, dkim });
}

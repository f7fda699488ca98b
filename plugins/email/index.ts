import { type ConfigOf, createOutbox, definePlugin, failForMissingConfig, type PluginContext } from "#plugin-api";
import { isAddressOrNetwork } from "../mail-input/smtp-server.ts";
import { type BounceAddresses, openBounceReceiver } from "./bounces.ts";
import config from "./config.ts";
import { composeMail, isMailAddress, type MailSender } from "./mail.ts";
import { openSmtpClient, type SmtpClient } from "./smtp-client.ts";

/** How often a server that was not well is asked whether it is again. own choice */
const VERIFY_EVERY_MS = 30_000;

/** E-mail: one mail for each address, by a mail server that takes it for sending. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { from, fromName, replyTo, language } = ctx.config;
    const server = createSmtpClient(ctx.config);
    if (server === null || from === null || !isMailAddress(from)) {
      const missing = server === null ? "no mail server is set" : "from is not set to a mail address";
      return failForMissingConfig(ctx, missing);
    }
    ctx.signal.addEventListener("abort", server.close, { once: true });
    const letterhead: MailSender = { from, fromName, replyTo, language };
    const concurrency = ctx.config.connections;
    const { addressOf, fault: unheard } = await openBounces(ctx);
    const outbox = createOutbox({
      ...ctx,
      status: (state, reason) =>
        state === "ok" && unheard !== null ? ctx.status("degraded", unheard) : ctx.status(state, reason),
      concurrency,
      undeliverableReason: ({ device }) => (isMailAddress(device.deviceIdentifier) ? null : "it is not a mail address"),
      send: (item) => server.send(composeMail(item, letterhead, addressOf?.(item) ?? null)),
    });
    ctx.deliver(outbox.add);
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    const ask = (): void => {
      if (!outbox.isWell) void server.verify().then(outbox.reportResult);
    };
    ctx.every(VERIFY_EVERY_MS, ask);
    ask();
  },
});

/** Mails go out even where what comes back can't be taken: `fault` says why not, and it goes to the sender then. */
async function openBounces(
  ctx: PluginContext<ConfigOf<typeof config>>,
): Promise<{ addressOf: BounceAddresses["returnPathFor"] | null; fault: string | null }> {
  const { returnDomain, returnRelays } = ctx.config;
  if (!returnDomain) return { addressOf: null, fault: null };
  if (!Array.isArray(returnRelays) || !returnRelays.every(isAddressOrNetwork))
    return { addressOf: null, fault: "returnRelays is a list of addresses and networks" };
  try {
    const { returnPathFor } = await openBounceReceiver({ ...ctx.config, returnDomain, returnRelays }, ctx);
    return { addressOf: returnPathFor, fault: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { addressOf: null, fault: `mails that come back can't be taken: ${why}` };
  }
}

function createSmtpClient(given: ConfigOf<typeof config>): SmtpClient | null {
  const { host, from, dkimSelector, dkimPrivateKey } = given;
  if (!host) return null;
  const domainName = from?.slice(from.lastIndexOf("@") + 1) ?? "";
  const dkim =
    dkimSelector && dkimPrivateKey ? { domainName, keySelector: dkimSelector, privateKey: dkimPrivateKey } : null;
  return openSmtpClient({ ...given, host, dkim });
}

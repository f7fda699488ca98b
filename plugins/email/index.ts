import { type ConfigOf, createOutbox, type DeliveryItem, definePlugin, type PluginContext } from "#plugin-api";
import config from "./config.ts";
import { isAddress, type Letterhead, mailOf } from "./mail.ts";
import { type MailServer, openMailServer } from "./server.ts";

/** How often a server that was not well is asked whether it is again. own choice */
const ASK_EVERY_MS = 30_000;

/** E-mail: one mail for each address, by a mail server that takes it for sending. */
export default definePlugin({
  config,
  activate(ctx) {
    const { from, fromName, replyTo, language } = ctx.config;
    const server = serverOf(ctx.config);
    if (server === null || from === null || !isAddress(from)) {
      const missing = server === null ? "no mail server is set" : "from is not set to a mail address";
      ctx.deliver((batch) => {
        for (const { deliveryId } of batch) ctx.outcome(deliveryId, "failed", { reason: missing, retryable: false });
      });
      return ctx.status("degraded", missing);
    }
    ctx.signal.addEventListener("abort", server.close, { once: true });
    const letterhead: Letterhead = { from, fromName, replyTo, language };
    const atOnce = ctx.config.connections;
    const outbox = createOutbox({ ...ctx, atOnce, hand: (item) => server.send(mailOf(item, letterhead)) });
    ctx.deliver((batch) => outbox.add(batch.filter((item) => isToBeSent(ctx, item))));
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    const ask = (): void => {
      if (!outbox.isWell) void server.greet().then(outbox.heard);
    };
    ctx.every(ASK_EVERY_MS, ask);
    ask();
  },
});

function serverOf(given: ConfigOf<typeof config>): MailServer | null {
  const { host, from, dkimSelector, dkimPrivateKey } = given;
  if (!host) return null;
  const domainName = from?.slice(from.lastIndexOf("@") + 1) ?? "";
  const dkim =
    dkimSelector && dkimPrivateKey ? { domainName, keySelector: dkimSelector, privateKey: dkimPrivateKey } : null;
  return openMailServer({ ...given, host, dkim });
}

/** A mail that the server had taken before a restart is not sent again, nor is what is no address. */
function isToBeSent(
  { outcome }: Pick<PluginContext, "outcome">,
  { reached, deliveryId, device }: DeliveryItem,
): boolean {
  if (reached) return false;
  if (isAddress(device.deviceIdentifier)) return true;
  outcome(deliveryId, "failed", { reason: "it is not a mail address", retryable: false });
  return false;
}

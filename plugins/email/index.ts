import { type ConfigOf, createOutbox, definePlugin, lacking } from "#plugin-api";
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
      return lacking(ctx, missing);
    }
    ctx.signal.addEventListener("abort", server.close, { once: true });
    const letterhead: Letterhead = { from, fromName, replyTo, language };
    const atOnce = ctx.config.connections;
    const outbox = createOutbox({
      ...ctx,
      atOnce,
      fault: ({ device }) => (isAddress(device.deviceIdentifier) ? null : "it is not a mail address"),
      hand: (item) => server.send(mailOf(item, letterhead)),
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

function serverOf(given: ConfigOf<typeof config>): MailServer | null {
  const { host, from, dkimSelector, dkimPrivateKey } = given;
  if (!host) return null;
  const domainName = from?.slice(from.lastIndexOf("@") + 1) ?? "";
  const dkim =
    dkimSelector && dkimPrivateKey ? { domainName, keySelector: dkimSelector, privateKey: dkimPrivateKey } : null;
  return openMailServer({ ...given, host, dkim });
}

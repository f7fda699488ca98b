import { type ConfigOf, type DeliveryItem, definePlugin, type PluginContext } from "#plugin-api";
import config from "./config.ts";
import { isAddress, type Letterhead, mailOf } from "./mail.ts";
import { createOutbox } from "./outbox.ts";
import { type MailServer, openMailServer, type SendResult } from "./server.ts";

type Door = Pick<PluginContext, "outcome" | "status">;

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
    const health = watchServer(ctx, server);
    const outbox = createOutbox({
      clock: ctx.clock,
      connections: ctx.config.connections,
      send: (item) => server.send(mailOf(item, letterhead)),
      onResult(item, result) {
        health.heard(result);
        report(ctx, item, result);
      },
    });
    ctx.deliver((batch) => outbox.add(batch.filter((item) => isToBeSent(ctx, item))));
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    ctx.every(ASK_EVERY_MS, health.ask);
    health.ask();
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
function isToBeSent({ outcome }: Door, { reached, deliveryId, device }: DeliveryItem): boolean {
  if (reached) return false;
  if (isAddress(device.deviceIdentifier)) return true;
  outcome(deliveryId, "failed", { reason: "it is not a mail address", retryable: false });
  return false;
}

/** `accepted` is the most that a mail server can prove: it will deliver the mail, or send it back. */
function report({ outcome }: Door, { deliveryId }: DeliveryItem, result: SendResult): void {
  if (result.taken) outcome(deliveryId, "accepted");
  else outcome(deliveryId, "failed", { reason: result.reason, retryable: result.retryable });
}

/** Tells how the server is when it changes, and asks it as long as it is not well. */
function watchServer(ctx: Door, server: MailServer) {
  let state: "unknown" | "ok" | "down" = "unknown";
  const heard = (result: SendResult): void => {
    const isWell = result.taken || !result.server;
    if (!result.taken && result.server) ctx.status("down", result.reason);
    else if (state !== "ok") ctx.status("ok");
    state = isWell ? "ok" : "down";
  };
  const ask = (): void => {
    if (state !== "ok") void server.greet().then(heard);
  };
  return { heard, ask };
}

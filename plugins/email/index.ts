import {
  type Clock,
  type ConfigOf,
  createOutbox,
  definePlugin,
  failForMissingConfig,
  type PluginContext,
} from "#plugin-api";
import { isAddressOrNetwork } from "../mail-input/smtp-server.ts";
import { type BounceAddresses, openBounceReceiver } from "./bounces.ts";
import config from "./config.ts";
import { composeAccountMail, composeMail, isMailAddress, type MailSender } from "./mail.ts";
import { sentence } from "./sentences.ts";
import { openSmtpClient, type SmtpClient } from "./smtp-client.ts";

/** Interval of health checks while the server is down. */
const VERIFY_EVERY_MS = 30_000;

/** E-mail: one mail per address, through a mail server. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { from, fromName, replyTo, language } = ctx.config;
    const server = createSmtpClient(ctx.config, ctx.clock);
    if (server === null || from === null || !isMailAddress(from)) {
      const missing = server === null ? sentence("host-missing") : sentence("from-missing");
      return failForMissingConfig(ctx, missing);
    }
    ctx.signal.addEventListener("abort", server.close, { once: true });
    const sender: MailSender = { from, fromName, replyTo, language };
    const concurrency = ctx.config.connections;
    const { addressOf, error: bounceError } = await openBounces(ctx);
    const outbox = createOutbox({
      ...ctx,
      status: (state, reason) =>
        state === "ok" && bounceError !== null ? ctx.status("degraded", bounceError) : ctx.status(state, reason),
      concurrency,
      undeliverableReason: ({ device }) =>
        isMailAddress(device.deviceIdentifier) ? null : sentence("identifier-invalid"),
      send: (item) => server.send(composeMail(item, sender, addressOf?.(item) ?? null)),
    });
    ctx.deliver(outbox.add);
    ctx.accountMessage(async (mail) => {
      if (!isMailAddress(mail.to)) return sentence("identifier-invalid");
      const result = await server.send(composeAccountMail(mail, sender));
      outbox.reportResult(result);
      return result.taken ? null : result.reason;
    });
    ctx.stop(({ deliveryIds }) => outbox.drop(deliveryIds));
    const verify = (): void => {
      if (!outbox.isWell) void server.verify().then(outbox.reportResult);
    };
    ctx.every(VERIFY_EVERY_MS, verify);
    verify();
  },
});

/** Starts the bounce receiver. Mails are sent even if it fails: `error` is set and bounces go to the sender. */
async function openBounces(
  ctx: PluginContext<ConfigOf<typeof config>>,
): Promise<{ addressOf: BounceAddresses["returnPathFor"] | null; error: string | null }> {
  const { returnDomain, returnRelays } = ctx.config;
  if (!returnDomain) return { addressOf: null, error: null };
  if (!Array.isArray(returnRelays) || !returnRelays.every(isAddressOrNetwork))
    return { addressOf: null, error: sentence("relays-invalid") };
  try {
    const { returnPathFor } = await openBounceReceiver({ ...ctx.config, returnDomain, returnRelays }, ctx);
    return { addressOf: returnPathFor, error: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { addressOf: null, error: sentence("bounces-failed", { error: reason }) };
  }
}

function createSmtpClient(given: ConfigOf<typeof config>, clock: Clock): SmtpClient | null {
  const { host, fallbackHosts, from, dkimSelector, dkimPrivateKey } = given;
  if (!host) return null;
  const domainName = from?.slice(from.lastIndexOf("@") + 1) ?? "";
  const dkim =
    dkimSelector && dkimPrivateKey ? { domainName, keySelector: dkimSelector, privateKey: dkimPrivateKey } : null;
  const hosts = [...new Set([host, ...(fallbackHosts ?? [])])];
  return openSmtpClient({ ...given, hosts, dkim }, clock);
}

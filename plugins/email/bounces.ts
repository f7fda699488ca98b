import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { DeliveryItem, PluginContext } from "#plugin-api";
import { openMailListener } from "../mail-input/smtp-server.ts";
import { parseBounce } from "./bounce-report.ts";

type Context = Pick<PluginContext, "state" | "outcome" | "signal" | "log">;

/** Settings of the bounce receiver. */
export interface BounceSettings {
  returnDomain: string;
  returnListenAddress: string;
  returnPort: number;
  /** Addresses and networks allowed to deliver. */
  returnRelays: readonly string[];
}

export interface BounceAddresses {
  /** Signed return path of a delivery. */
  returnPathFor(item: DeliveryItem): string;
}

/** Prefix of the delivery id in the local part. */
const LOCAL_PART_PREFIX = "return+";
const SIGNATURE_DIGITS = 20;
const KEY_BYTES = 32;

/** Receives bounces, each at the return path of its delivery (VERP). Rejects if the port cannot be opened. */
export async function openBounceReceiver(settings: BounceSettings, ctx: Context): Promise<BounceAddresses> {
  const { returnDomain, returnListenAddress, returnPort, returnRelays } = settings;
  const key = await loadKey(ctx);
  const signatureOf = (id: number): string =>
    createHmac("sha256", key).update(`return/${id}`).digest("hex").slice(0, SIGNATURE_DIGITS);
  const deliveryOf = (address: string): number | null => {
    const [, digits = "", signature = ""] = /^return\+(\d{1,15})\.([0-9a-f]{20})@/i.exec(address) ?? [];
    const expected = signatureOf(Number(digits));
    const isValid = signature !== "" && timingSafeEqual(Buffer.from(signature.toLowerCase()), Buffer.from(expected));
    return isValid ? Number(digits) : null;
  };
  await openMailListener({
    listenAddress: returnListenAddress,
    port: returnPort,
    relays: returnRelays,
    signal: ctx.signal,
    isKnown: (recipient) => deliveryOf(recipient) !== null,
    async onMail({ raw, recipients }) {
      const ids = recipients.map(deliveryOf).filter((id) => id !== null);
      const report = parseBounce(Buffer.from(raw).toString("latin1"));
      if (report === null)
        return ctx.log.info({ event: "mail.bounce_ignored" }, "mail to a return path is not a bounce");
      const { reason, isPermanent } = report;
      for (const id of ids) ctx.outcome(id, "failed", { reason, retryable: false, returned: true, gone: isPermanent });
    },
  });
  return {
    returnPathFor: ({ deliveryId }) => `${LOCAL_PART_PREFIX}${deliveryId}.${signatureOf(deliveryId)}@${returnDomain}`,
  };
}

async function loadKey({ state }: Context): Promise<string> {
  const known = await state.get("returnKey");
  if (typeof known === "string") return known;
  const key = randomBytes(KEY_BYTES).toString("hex");
  await state.set("returnKey", key);
  return key;
}

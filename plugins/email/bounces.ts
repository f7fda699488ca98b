import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { DeliveryItem, PluginContext } from "#plugin-api";
import { MailRejectedError, openMailListener } from "../mail-input/smtp-server.ts";
import { parseBounce } from "./bounce-report.ts";

type Context = Pick<PluginContext, "state" | "outcome" | "signal" | "log">;

/** Where mails come back to. */
export interface BounceSettings {
  returnDomain: string;
  returnListenAddress: string;
  returnPort: number;
  /** Addresses and networks. */
  returnRelays: readonly string[];
}

/** What comes back. */
export interface BounceAddresses {
  /** The address to which a delivery's mail comes back, which nobody else can make. */
  returnPathFor(item: DeliveryItem): string;
}

/** What stands before the number of the delivery. */
const LOCAL_PART_PREFIX = "return+";
const SIGNATURE_DIGITS = 20;
const KEY_BYTES = 32;

/**
 * Takes the mails that come back, each to the address of its own delivery (VERP). Rejects when the port can't be opened.
 */
export async function openBounceReceiver(settings: BounceSettings, ctx: Context): Promise<BounceAddresses> {
  const { returnDomain, returnListenAddress, returnPort, returnRelays } = settings;
  const key = await loadKey(ctx);
  const proofOf = (id: number): string =>
    createHmac("sha256", key).update(`return/${id}`).digest("hex").slice(0, SIGNATURE_DIGITS);
  const deliveryOf = (address: string): number | null => {
    const [, digits = "", proof = ""] = /^return\+(\d{1,15})\.([0-9a-f]{20})@/i.exec(address) ?? [];
    const expected = proofOf(Number(digits));
    const isProven = proof !== "" && timingSafeEqual(Buffer.from(proof.toLowerCase()), Buffer.from(expected));
    return isProven ? Number(digits) : null;
  };
  await openMailListener({
    listenAddress: returnListenAddress,
    port: returnPort,
    relays: returnRelays,
    signal: ctx.signal,
    async onMail({ raw, recipients }) {
      const ids = recipients.map(deliveryOf).filter((id) => id !== null);
      if (ids.length === 0) throw new MailRejectedError(550, "there is no such address");
      const report = parseBounce(Buffer.from(raw).toString("latin1"));
      if (report === null) return ctx.log.info({}, "a mail that came in says nothing of a delivery");
      const { reason, isPermanent } = report;
      for (const id of ids) ctx.outcome(id, "failed", { reason, retryable: false, returned: true, gone: isPermanent });
    },
  });
  return {
    returnPathFor: ({ deliveryId }) => `${LOCAL_PART_PREFIX}${deliveryId}.${proofOf(deliveryId)}@${returnDomain}`,
  };
}

async function loadKey({ state }: Context): Promise<string> {
  const known = await state.get("returnKey");
  if (typeof known === "string") return known;
  const key = randomBytes(KEY_BYTES).toString("hex");
  await state.set("returnKey", key);
  return key;
}

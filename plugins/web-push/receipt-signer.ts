import { createHmac, timingSafeEqual } from "node:crypto";

/** Claims of a receipt. */
export interface ReceiptClaims {
  deliveryId: number;
  recipientId: string;
}

/** Signs and verifies receipts. */
export interface ReceiptSigner {
  /** A signed receipt. */
  sign(received: ReceiptClaims): string;
  /** Null if invalid. */
  verify(receipt: unknown): ReceiptClaims | null;
}

/** 128 bits. */
const SIGNATURE_BYTES = 16;

/** Creates a signer with a key of 32 random bytes. */
export function createReceiptSigner(key: Buffer): ReceiptSigner {
  const signed = (text: string): Buffer => createHmac("sha256", key).update(text).digest().subarray(0, SIGNATURE_BYTES);
  return {
    sign({ deliveryId, recipientId }) {
      const text = `${deliveryId}.${recipientId}`;
      return `${text}.${signed(text).toString("base64url")}`;
    },
    verify(receipt) {
      const [, id = "", recipientId = "", signature = ""] =
        /^(\d{1,15})\.([0-9a-f-]{36})\.([\w-]{22})$/.exec(typeof receipt === "string" ? receipt : "") ?? [];
      const given = Buffer.from(signature, "base64url");
      const isOurs = given.length === SIGNATURE_BYTES && timingSafeEqual(given, signed(`${id}.${recipientId}`));
      return isOurs ? { deliveryId: Number(id), recipientId } : null;
    },
  };
}

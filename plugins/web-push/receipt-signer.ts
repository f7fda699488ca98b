import { createHmac, timingSafeEqual } from "node:crypto";

/** What a receipt proves something of. */
export interface ReceiptClaims {
  deliveryId: number;
  recipientId: string;
}

/** Signs and reads receipts. */
export interface ReceiptSigner {
  /** A text that nobody else can make. */
  sign(received: ReceiptClaims): string;
  /** Null for what is none of ours. */
  verify(receipt: unknown): ReceiptClaims | null;
}

/** 128 bits. own choice */
const SIGNATURE_BYTES = 16;

/** Makes receipts with a key of 32 random bytes. */
export function createReceiptSigner(key: Buffer): ReceiptSigner {
  const signed = (text: string): Buffer => createHmac("sha256", key).update(text).digest().subarray(0, SIGNATURE_BYTES);
  return {
    sign({ deliveryId, recipientId }) {
      const text = `${deliveryId}.${recipientId}`;
      return `${text}.${signed(text).toString("base64url")}`;
    },
    verify(receipt) {
      const [, id = "", recipientId = "", mark = ""] =
        /^(\d{1,15})\.([0-9a-f-]{36})\.([\w-]{22})$/.exec(typeof receipt === "string" ? receipt : "") ?? [];
      const given = Buffer.from(mark, "base64url");
      const isOurs = given.length === SIGNATURE_BYTES && timingSafeEqual(given, signed(`${id}.${recipientId}`));
      return isOurs ? { deliveryId: Number(id), recipientId } : null;
    },
  };
}

import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";

/** Bytes before the keys of an encrypted message: salt, record size, length of the sender's key. @source RFC 8188 §2.1 */
const HEADER_BYTES = 21;
/** Delimiter of the last record. @source RFC 8188 §2 */
const LAST_RECORD = 2;

/** The browser's side of a push subscription. */
export interface WebPushBrowser {
  /** Its keys as stored in a user device: `p256dh.auth`, both base64url. */
  readonly keys: string;
  /** Decrypts a message; throws unless it was encrypted for this browser. */
  decrypt(message: Buffer): string;
}

/** A browser with its own keys. @source RFC 8291 §3.4 */
export function createWebPushBrowser(): WebPushBrowser {
  const own = createECDH("prime256v1");
  const publicKey = own.generateKeys();
  const auth = randomBytes(16);
  return {
    keys: `${publicKey.toString("base64url")}.${auth.toString("base64url")}`,
    decrypt(message) {
      const salt = message.subarray(0, 16);
      const keyEnd = HEADER_BYTES + message.readUInt8(HEADER_BYTES - 1);
      const sender = message.subarray(HEADER_BYTES, keyEnd);
      const info = Buffer.concat([Buffer.from("WebPush: info\0"), publicKey, sender]);
      const input = Buffer.from(hkdfSync("sha256", own.computeSecret(sender), auth, info, 32));
      const derive = (label: string, bytes: number): Buffer =>
        Buffer.from(hkdfSync("sha256", input, salt, `Content-Encoding: ${label}\0`, bytes));
      const decipher = createDecipheriv("aes-128-gcm", derive("aes128gcm", 16), derive("nonce", 12));
      decipher.setAuthTag(message.subarray(-16));
      const plain = Buffer.concat([decipher.update(message.subarray(keyEnd, -16)), decipher.final()]);
      return plain.subarray(0, plain.lastIndexOf(LAST_RECORD)).toString("utf8");
    },
  };
}

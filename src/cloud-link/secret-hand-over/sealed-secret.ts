import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";

/** What a sealed secret is for; it opens with exactly this. */
export interface SecretBinding {
  /** The appliance. */
  endpoint: string;
  /** Resource, id and field of the secret. */
  type: string;
  id: string;
  field: string;
  /** Mark of the secret that the cloud has, which changes with it. */
  mark: string;
  /** Values of the fields that decide who receives the secret. */
  target: readonly unknown[];
}

/** A pair of keys of an appliance: the public one in base64, the private one as PEM. */
export interface ExchangeKeys {
  publicKey: string;
  privateKey: string;
}

const CONTEXT = "carillon secret hand-over 1";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** What precedes the bytes of a public X25519 key in DER. @source RFC 8410 */
const SPKI_PREFIX = Buffer.from("302a300506032b656e032100", "hex");

export function generateExchangeKeys(): ExchangeKeys {
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  return {
    publicKey: rawKey(publicKey).toString("base64"),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

/** The public key (base64) of a private key (PEM). */
export function publicExchangeKey(privateKey: string): string {
  return rawKey(createPublicKey(createPrivateKey(privateKey))).toString("base64");
}

/** A key for people to compare: groups of four hex digits of its SHA-256. */
export function exchangeKeyFingerprint(publicKey: string): string {
  const digest = hash("sha256", Buffer.from(publicKey, "base64"), "hex").slice(0, 32);
  return (digest.match(/.{4}/g) as string[]).join(" ");
}

/** The text that an appliance signs with the key of its certificate, so that the cloud knows whose exchange key it is. */
export function exchangeKeyStatement(endpoint: string, publicKey: string): string {
  return JSON.stringify([CONTEXT, "key", endpoint, publicKey]);
}

/** Seals a secret so that only the holder of the private key opens it. Throws CallerError for an unusable key. */
export function sealForAppliance(plain: string, publicKey: string, binding: SecretBinding): string {
  const recipient = readPublicKey(publicKey);
  const ephemeral = generateKeyPairSync("x25519");
  const nonce = randomBytes(NONCE_BYTES);
  const ephemeralKey = rawKey(ephemeral.publicKey);
  const key = deriveKey(ephemeral.privateKey, recipient, ephemeralKey, rawKey(recipient));
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(associatedData(binding));
  const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return Buffer.concat([ephemeralKey, nonce, text, cipher.getAuthTag()]).toString("base64");
}

/**
 * Opens a sealed secret; null if it is damaged, or was sealed for another appliance, key, row, field, target or version of the
 * secret: which one cannot be told apart.
 */
export function openSealedSecret(sealed: string, privateKey: string, binding: SecretBinding): string | null {
  const bytes = Buffer.from(sealed, "base64");
  if (bytes.length < KEY_BYTES + NONCE_BYTES + TAG_BYTES) return null;
  const ephemeralKey = bytes.subarray(0, KEY_BYTES);
  const nonce = bytes.subarray(KEY_BYTES, KEY_BYTES + NONCE_BYTES);
  try {
    const own = createPrivateKey(privateKey);
    const key = deriveKey(own, toPublicKey(ephemeralKey), ephemeralKey, rawKey(createPublicKey(own)));
    const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData(binding));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = bytes.subarray(KEY_BYTES + NONCE_BYTES, -TAG_BYTES);
    return Buffer.concat([decipher.update(text), decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
}

/** A list, so that no two bindings have the same text. */
function associatedData({ endpoint, type, id, field, mark, target }: SecretBinding): Buffer {
  return Buffer.from(
    JSON.stringify([CONTEXT, "secret", endpoint, type, id, field, mark, target.map((each) => each ?? null)]),
  );
}

function deriveKey(privateKey: KeyObject, publicKey: KeyObject, ephemeral: Buffer, recipient: Buffer): Buffer {
  const shared = diffieHellman({ privateKey, publicKey });
  return Buffer.from(hkdfSync("sha256", shared, Buffer.concat([ephemeral, recipient]), CONTEXT, KEY_BYTES));
}

function rawKey(publicKey: KeyObject): Buffer {
  return publicKey.export({ type: "spki", format: "der" }).subarray(-KEY_BYTES);
}

function readPublicKey(publicKey: string): KeyObject {
  const bytes = Buffer.from(publicKey, "base64");
  if (bytes.length !== KEY_BYTES || bytes.toString("base64") !== publicKey)
    throw invalidValue("publicKey", sentence("field.must-be-an-x25519-key"));
  return toPublicKey(bytes);
}

function toPublicKey(bytes: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: "der", type: "spki" });
}

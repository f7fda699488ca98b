import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { open, stat, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { ReadableStream } from "node:stream/web";
import {
  Decrypter,
  Encrypter,
  generateHybridIdentity,
  generateX25519Identity,
  identityToRecipient,
} from "age-encryption";
import { ageRecipientKind } from "../../lib/age-recipients.ts";
import { CallerError, UpstreamError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { type BackupManifest, ENCRYPTED_SUFFIX } from "./backup-manifest.ts";

/**
 * What stays readable of an encrypted backup, in a file beside it: enough to find damage without the identity, and to prove
 * the end of the audit. It contains nothing of the data.
 */
export interface BackupLabel extends Pick<BackupManifest, "version" | "takenAt" | "keyFingerprint" | "audit"> {
  /** Of the encrypted file, hex. */
  sha256: string;
  bytes: number;
}

/** First line of every file that age encrypts. @source https://c2sp.org/age, Header */
const MAGIC = "age-encryption.org/v1\n";
/** Enough for hundreds of recipients. */
const MAX_HEADER_BYTES = 1_048_576;
const NONCE_BYTES = 16;
const CHUNK_BYTES = 65_536;
const TAG_BYTES = 16;

/** Path of the label of the backup at `path`. */
export function labelPathOf(path: string): string {
  return `${path}.json`;
}

export function isEncryptedName(path: string): boolean {
  return path.endsWith(ENCRYPTED_SUFFIX);
}

/** Whether the file is encrypted, whatever its name. */
export async function isEncryptedFile(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    return buffer.toString("latin1", 0, bytesRead) === MAGIC;
  } finally {
    await file.close();
  }
}

/** A new key pair: the identity decrypts, the recipient encrypts. */
export async function createBackupKey(kind: "x25519" | "hybrid" = "x25519"): Promise<{
  identity: string;
  recipient: string;
}> {
  const identity = await (kind === "hybrid" ? generateHybridIdentity() : generateX25519Identity());
  return { identity, recipient: await recipientOf(identity) };
}

/** The public key of an identity. */
export function recipientOf(identity: string): Promise<string> {
  return identityToRecipient(identity);
}

/**
 * An identity for one backup, so that what was written can be decrypted and compared although the appliance has no
 * identity of the recipients. It is in memory only, until the verification ends.
 */
export function createVerificationKey(recipients: readonly string[]): ReturnType<typeof createBackupKey> {
  return createBackupKey(recipients.some((each) => ageRecipientKind(each) === "hybrid") ? "hybrid" : "x25519");
}

/** Encrypts chunk by chunk. */
export async function encryptStream(
  source: AsyncIterable<Uint8Array>,
  recipients: readonly string[],
): Promise<AsyncIterable<Uint8Array>> {
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  return iterable(await encrypter.encrypt(ReadableStream.from(source) as never));
}

/**
 * Decrypts chunk by chunk; every chunk is authentic, and the end of the file is not reached if it was cut off. Throws
 * UpstreamError if it was modified, cut off or encrypted to other keys.
 */
export async function* decryptStream(
  source: AsyncIterable<Uint8Array>,
  identities: readonly string[],
): AsyncGenerator<Buffer> {
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  let decrypted: AsyncIterator<Uint8Array>;
  try {
    decrypted = iterable(await decrypter.decrypt(ReadableStream.from(source) as never))[Symbol.asyncIterator]();
  } catch (error) {
    throw decryptionError(error);
  }
  try {
    for (;;) {
      const { done, value } = await decrypted.next().catch((error: unknown) => {
        throw decryptionError(error);
      });
      if (done) return;
      yield Buffer.from(value.buffer, value.byteOffset, value.length);
    }
  } finally {
    await decrypted.return?.();
  }
}

/** The types of the library are those of browsers, whose streams are no iterables. */
function iterable(stream: unknown): AsyncIterable<Uint8Array> {
  return stream as AsyncIterable<Uint8Array>;
}

function decryptionError(error: unknown): UpstreamError {
  const isOther = error instanceof Error && /no identity matched/i.test(error.message);
  const text = isOther ? sentence("backup.not-decrypted") : sentence("backup.tampered");
  return new UpstreamError("upstream", text, {}, error);
}

/** Identities in the text of a file, as age-keygen writes them. Throws CallerError without a valid one. */
export function parseIdentities(text: string, file: string): string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const identities = lines.filter((line) => line !== "" && !line.startsWith("#"));
  const decrypter = new Decrypter();
  try {
    for (const identity of identities) decrypter.addIdentity(identity);
  } catch {
    // The line may be a key with a typing error: it is not repeated.
    throw new CallerError("invalid-value", identityError(file));
  }
  if (identities.length === 0) throw new CallerError("invalid-value", identityError(file));
  return identities;
}

function identityError(file: string): string {
  return `${file} contains no valid identity: it must have a line AGE-SECRET-KEY-1…, as written by carillon backup key create.`;
}

/** Writes the label of the encrypted file at `path`. */
export async function writeLabel(path: string, label: BackupLabel): Promise<void> {
  await writeFile(path, `${JSON.stringify(label)}\n`, { mode: 0o600, flush: true });
}

/** The label of the backup at `path`; null without one or if it is damaged. */
export function readLabel(path: string): BackupLabel | null {
  const file = labelPathOf(path);
  if (!existsSync(file)) return null;
  try {
    const label = JSON.parse(readFileSync(file, "utf8")) as Partial<BackupLabel>;
    const isLabel =
      [label.sha256, label.version, label.takenAt, label.keyFingerprint].every((each) => typeof each === "string") &&
      typeof label.bytes === "number" &&
      typeof label.audit?.hash === "string" &&
      typeof label.audit.number === "number";
    return isLabel ? (label as BackupLabel) : null;
  } catch {
    return null;
  }
}

/** Checks an encrypted backup as far as possible without an identity: its label, its checksum and its structure. */
export async function inspectEncrypted(path: string): Promise<{ label: BackupLabel | null; faults: string[] }> {
  const { size } = await stat(path);
  const label = readLabel(path);
  const faults: string[] = [];
  const hash = createHash("sha256");
  let head = Buffer.alloc(0);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    if (head.length < MAX_HEADER_BYTES) head = Buffer.concat([head, chunk.subarray(0, MAX_HEADER_BYTES - head.length)]);
  }
  const structure = structureFault(head, size);
  if (structure) faults.push(`${basename(path)}: ${structure}`);
  if (label && (label.bytes !== size || label.sha256 !== hash.digest("hex")))
    faults.push(sentence("backup.modified", { file: basename(path) }));
  return { label, faults };
}

/** @source https://c2sp.org/age, Header and Payload */
function structureFault(head: Buffer, size: number): string | null {
  const end = /\n--- [A-Za-z0-9+/]{43}\n/.exec(head.toString("latin1"));
  if (!end) return sentence("backup.header-damaged");
  const payload = size - (end.index + end[0].length) - NONCE_BYTES;
  const last = payload % (CHUNK_BYTES + TAG_BYTES);
  return payload < TAG_BYTES || (last !== 0 && last <= TAG_BYTES) ? sentence("backup.truncated") : null;
}

import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { CallerError } from "./errors.ts";
import { sentence } from "./sentences/sentences.ts";

/** What a document is signed for: one key may sign several kinds. It is the member `kind` of the payload. */
export type SignedDocumentKind = "upgrade" | "time-zones" | "licence" | "ring-plan" | "plugin";

/** Kinds that earlier releases signed without naming them. No other kind takes a document without one. */
const UNNAMED_KINDS: ReadonlySet<SignedDocumentKind> = new Set(["licence", "ring-plan"]);

/** The bytes to sign of a document of this kind. */
export function signedPayload(kind: SignedDocumentKind, value: object): Buffer {
  return Buffer.from(JSON.stringify({ ...value, kind }));
}

/**
 * Reads a signed document: `{"payload": "<base64 of JSON>", "signature": "<base64, Ed25519 over the payload's
 * bytes>"}`; its kind is left out. Throws CallerError for anything else, for a document that none of `keys` signed, and for
 * one that was signed for something else. @source RFC 8032
 */
export function verifySignedDocument(text: string, keys: readonly string[], kind: SignedDocumentKind): unknown {
  let payload: Buffer;
  let signature: Buffer;
  try {
    const document = JSON.parse(text) as Record<"payload" | "signature", unknown>;
    [payload, signature] = [bytesOf(document.payload), bytesOf(document.signature)];
  } catch {
    throw invalidDocument(sentence("error.the-document-must-be-json-with-a-base64-payload-and-signature"));
  }
  if (keys.length === 0)
    throw invalidDocument(sentence("error.no-trusted-key-is-configured-add-the-vendor-s-public-key-to-the-settings"));
  if (!keys.some((key) => verify(null, payload, publicKey(key), signature)))
    throw invalidDocument(sentence("error.the-document-is-not-signed-with-a-trusted-key"));
  let value: unknown;
  try {
    value = JSON.parse(payload.toString("utf8"));
  } catch {
    throw invalidDocument(sentence("error.the-payload-of-the-document-must-be-json"));
  }
  return assertKind(value, kind);
}

function assertKind(value: unknown, kind: SignedDocumentKind): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const { kind: signedFor, ...rest } = (isObject ? value : {}) as Record<string, unknown>;
  if (signedFor === undefined && UNNAMED_KINDS.has(kind)) return value;
  if (signedFor === kind) return rest;
  throw invalidDocument(
    typeof signedFor === "string"
      ? sentence("error.the-document-is-signed-for-found-it-must-be-signed-for-wanted", {
          found: signedFor.slice(0, 40),
          wanted: kind,
        })
      : sentence("error.the-document-is-signed-without-saying-what-for-it-must-be-signed-for-wanted", { wanted: kind }),
  );
}

/** A public key in the form of the settings: base64 of its 32 bytes. @source RFC 8410 for the prefix */
function publicKey(base64: string): KeyObject {
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), Buffer.from(base64, "base64")]);
  return createPublicKey({ key: der, format: "der", type: "spki" });
}

function bytesOf(value: unknown): Buffer {
  if (typeof value !== "string" || !/^[A-Za-z0-9+/]+={0,2}$/.test(value))
    throw invalidDocument(sentence("error.the-document-must-be-json-with-a-base64-payload-and-signature"));
  return Buffer.from(value, "base64");
}

function invalidDocument(message: string): CallerError {
  return new CallerError("invalid-value", message);
}

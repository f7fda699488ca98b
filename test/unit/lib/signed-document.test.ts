import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type SignedDocumentKind, signedPayload, verifySignedDocument } from "../../../src/lib/signed-document.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const key = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");
const KINDS: readonly SignedDocumentKind[] = ["upgrade", "time-zones", "licence", "ring-plan"];

const signed = (payload: Buffer): string =>
  JSON.stringify({
    payload: payload.toString("base64"),
    signature: sign(null, payload, privateKey).toString("base64"),
  });

describe("signed documents", () => {
  it.each(KINDS)("of kind %s are good for that alone", (kind) => {
    const document = signed(signedPayload(kind, { version: "1.0.0", kind: "licence" }));
    for (const asked of KINDS) {
      const read = () => verifySignedDocument(document, [key], asked);
      if (asked === kind) expect(read()).toEqual({ version: "1.0.0" });
      else expect(read).toThrow(`signed for ${kind}; it must be signed for ${asked}`);
    }
  });

  it("without a kind, as earlier releases made them, are licences and ring plans only", () => {
    const document = signed(Buffer.from(JSON.stringify({ version: "9.9.9", files: {} })));
    for (const kind of ["licence", "ring-plan"] as const)
      expect(verifySignedDocument(document, [key], kind)).toEqual({ version: "9.9.9", files: {} });
    for (const kind of ["upgrade", "time-zones"] as const)
      expect(() => verifySignedDocument(document, [key], kind)).toThrow("without saying what for");
  });

  it.each([[[]], [{ kind: 1 }], [{ kind: ["upgrade"] }], [{ kind: null }], [{ kind: "upgrade " }]])(
    "with %j are no upgrade",
    (value) => {
      expect(() => verifySignedDocument(signed(Buffer.from(JSON.stringify(value))), [key], "upgrade")).toThrow(
        "signed",
      );
    },
  );
});

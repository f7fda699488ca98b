import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handleSamlRequest } from "../../../src/sso/saml-processor.ts";
import { makeKey, type SamlPeer, startSamlPeer } from "../../support/saml-peer.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const REQUEST = { id: "_request", consumer: "https://here/consume", issuer: "here" };
let idp: SamlPeer;
let privateKey: string;
let certificate: string;

beforeAll(async () => {
  idp = await startSamlPeer();
  const folder = makeTempDir();
  makeKey(folder, "own");
  privateKey = readFileSync(join(folder, "own.key"), "utf8");
  certificate = readFileSync(join(folder, "own.crt"), "utf8");
});
afterAll(() => idp.stop());

async function read(sha1: "digest" | "signature" | "both" | null, isEncrypted: boolean, allowSha1: boolean) {
  idp.encryptsFor = isEncrypted ? certificate : null;
  const parties = {
    ...{ consumerUrl: REQUEST.consumer, issuer: REQUEST.issuer, entryPoint: idp.entryPoint, idpIssuer: idp.entityId },
    ...{ privateKey, certificate, idpCertificates: [idp.certificate], clockToleranceMs: 60_000, allowSha1 },
    ...{
      logoutUrl: null,
      logoutCallbackUrl: "https://here/logout",
      acceptSignedResponse: false,
      nameIdFormat: null,
      contexts: [],
      forceAuthentication: false,
    },
  };
  const response = idp.response(sha1 === null ? {} : { sha1 }, REQUEST);
  const requestedAt = new Date().toISOString();
  const result = await handleSamlRequest({ what: "read", parties, request: REQUEST.id, requestedAt, response });
  return "error" in result ? result.error.code : "assertion" in result && result.assertion.nameId;
}

describe.each([
  ["a plain assertion", false],
  ["an encrypted assertion", true],
])("SHA-1 in the signature of %s", (_, isEncrypted) => {
  it.each(["digest", "signature", "both"] as const)("is refused unless the provider may use it: %s", async (sha1) => {
    expect(await read(sha1, isEncrypted, false)).toBe("signature");
    expect(await read(sha1, isEncrypted, true)).toBe("ann");
    // What one provider may use does not count for another one.
    expect(await read(sha1, isEncrypted, false)).toBe("signature");
    expect(await read(null, isEncrypted, false)).toBe("ann");
  });
});

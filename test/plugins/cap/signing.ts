import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { X509CertificateGenerator } from "@peculiar/x509";

/** A key with its certificate, both PEM. */
export interface TestSigner {
  signingKey: string;
  certificate: string;
}

/** Makes an RSA key and a certificate that it has signed itself. */
export async function makeSigner(name: string): Promise<TestSigner> {
  const algorithm = { name: "RSASSA-PKCS1-v1_5", modulusLength: 2_048, publicExponent: new Uint8Array([1, 0, 1]) };
  const keys = await webcrypto.subtle.generateKey({ ...algorithm, hash: "SHA-256" }, true, ["sign", "verify"]);
  const [notBefore, notAfter] = ["2020-01-01", "2099-01-01"].map((day) => new Date(day));
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: `CN=${name}`,
    ...{ notBefore: notBefore as Date, notAfter: notAfter as Date },
    signingAlgorithm: { ...algorithm, hash: "SHA-256" },
    keys,
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const lines = key.match(/.{1,64}/g) ?? [];
  const signingKey = ["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----", ""].join("\n");
  return { signingKey, certificate: certificate.toString("pem") };
}

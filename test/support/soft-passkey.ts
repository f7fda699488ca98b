import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** Options of the API, as far as the authenticator reads them. */
interface PasskeyOptions {
  challenge: string;
  rpId?: string;
  rp?: { id?: string };
  user?: { id: string };
}

/** What a test changes of an answer, as an attacker would. */
interface Forgery {
  origin?: string;
  rpId?: string;
  challenge?: string;
  /** Flags of the authenticator data: 1 present, 4 verified. */
  flags?: number;
  counter?: number;
  signature?: Buffer;
  userHandle?: string;
  /** Attestation statement beside the format none. */
  statement?: Buffer;
}

const PRESENT_AND_VERIFIED = 5;
const WITH_KEY = 64;

/** An authenticator in software, with one key (ES256). @source W3C Web Authentication Level 3 §6.1, §6.5 */
export function createSoftPasskey(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const id = randomBytes(32);
  let counter = 0;
  let owner = "";

  const clientData = (type: string, { challenge }: PasskeyOptions, forgery: Forgery): Buffer =>
    Buffer.from(
      JSON.stringify({
        ...{ type, challenge: forgery.challenge ?? challenge, origin: forgery.origin ?? origin },
        crossOrigin: false,
      }),
    );
  const authenticatorData = (rpId: string, flags: number, more: Buffer = Buffer.alloc(0)): Buffer => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), count, more]);
  };
  const answer = (response: object) => ({
    ...{ id: id.toString("base64url"), rawId: id.toString("base64url"), type: "public-key" },
    ...{ response, clientExtensionResults: {}, authenticatorAttachment: "platform" },
  });

  return {
    id: id.toString("base64url"),
    create(options: PasskeyOptions, forgery: Forgery = {}) {
      owner = options.user?.id ?? "";
      const { x = "", y = "" } = publicKey.export({ format: "jwk" });
      // COSE: kty EC2, alg ES256, crv P-256.
      const key = Buffer.concat([
        ...[Buffer.from("a50102032620012158", "hex"), Buffer.from([32]), Buffer.from(x, "base64url")],
        ...[Buffer.from("225820", "hex"), Buffer.from(y, "base64url")],
      ]);
      const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key]);
      const flags = (forgery.flags ?? PRESENT_AND_VERIFIED) | WITH_KEY;
      const data = authenticatorData(forgery.rpId ?? options.rp?.id ?? "", flags, credential);
      const attestation = Buffer.concat([
        ...[Buffer.from([0xa3]), cborText("fmt"), cborText("none"), cborText("attStmt")],
        ...[forgery.statement ?? Buffer.from([0xa0]), cborText("authData"), cborBytes(data)],
      ]);
      return answer({
        clientDataJSON: clientData("webauthn.create", options, forgery).toString("base64url"),
        attestationObject: attestation.toString("base64url"),
        transports: ["internal"],
      });
    },
    sign(options: PasskeyOptions, forgery: Forgery = {}) {
      counter = forgery.counter ?? counter + 1;
      const data = authenticatorData(forgery.rpId ?? options.rpId ?? "", forgery.flags ?? PRESENT_AND_VERIFIED);
      const client = clientData("webauthn.get", options, forgery);
      const signature = forgery.signature ?? sign("sha256", Buffer.concat([data, sha256(client)]), privateKey);
      return answer({
        clientDataJSON: client.toString("base64url"),
        authenticatorData: data.toString("base64url"),
        signature: signature.toString("base64url"),
        userHandle: forgery.userHandle ?? owner,
      });
    },
  };
}

/** An attestation with a certificate of a maker, as CBOR. */
export function statementWithCertificate(certificate: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0xa1]), cborText("x5c"), Buffer.from([0x81]), cborBytes(certificate)]);
}

function sha256(data: string | Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}

function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)]);
}

function cborBytes(data: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(data.length);
  return Buffer.concat([Buffer.from([0x59]), length, data]);
}

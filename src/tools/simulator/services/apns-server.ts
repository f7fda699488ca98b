import "reflect-metadata";
import { generateKeyPairSync, webcrypto } from "node:crypto";
import { createSecureServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";
import { verifyJwt } from "./json-web-token.ts";
import type { ReceivedMessage, SimulatedService, SimulatedServiceDeps } from "./service.ts";

const HOST = "127.0.0.1";
const KEY_ID = "ABC123DEFG";
const TEAM_ID = "DEF123GHIJ";
const TOPIC = "org.example.bells";
const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** An Apple push service: HTTP/2 over TLS, authenticated by a token signed with a known key. @source APNs */
export async function openApnsServer({ at }: SimulatedServiceDeps): Promise<SimulatedService> {
  const receptions: ReceivedMessage[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const tls = await createSelfSignedCertificate();
  const server = createSecureServer({ cert: tls.certificate, key: tls.key });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => undefined);
  });
  server.on("stream", async (stream, headers) => {
    const parts: Buffer[] = [];
    for await (const part of stream) parts.push(part as Buffer);
    const isKnown = verifyJwt(String(headers.authorization).replace(/^bearer /i, ""), publicKey)?.iss === TEAM_ID;
    stream.respond({ ":status": isKnown && headers["apns-topic"] === TOPIC ? 200 : 403 });
    stream.end(isKnown ? "" : '{"reason": "InvalidProviderToken"}');
    if (!isKnown) return;
    const { title = "", body = "" } = JSON.parse(Buffer.concat(parts).toString("utf8")).aps.alert;
    const to = String(headers[":path"]).split("/").at(-1) ?? "";
    receptions.push({ service: "apple", to, words: `${title}\n${body}`, packets: 0, at: at() });
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return {
    connectionSettings: {
      host: HOST,
      port: String((server.address() as AddressInfo).port),
      certificate: tls.certificate,
      key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      keyId: KEY_ID,
      teamId: TEAM_ID,
      topic: TOPIC,
    },
    receptions: () => receptions,
    stop: () =>
      new Promise((resolve) => {
        for (const session of sessions) session.destroy();
        server.close(() => resolve());
      }),
  };
}

/** A self-signed certificate for 127.0.0.1 and its key; both PEM. */
async function createSelfSignedCertificate(): Promise<{ certificate: string; key: string }> {
  const keys = await webcrypto.subtle.generateKey(CURVE, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=Simulator",
    signingAlgorithm: CURVE,
    keys,
    extensions: [new SubjectAlternativeNameExtension([{ type: "ip", value: HOST }])],
  });
  const key = PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return { certificate: certificate.toString("pem"), key };
}

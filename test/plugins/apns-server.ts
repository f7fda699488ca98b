import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { createCertificateAuthority, issueServerCertificate } from "../../src/ops/tls/certificate-authority.ts";

/** A message as the service got it. */
export interface ApnsRequest {
  deviceToken: string;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  payload: any;
  bytes: number;
}

/** How the service answers. */
export interface ApnsScriptedResponse {
  status: number;
  headers?: Record<string, string>;
  reason?: string;
}

/** A push service that speaks HTTP/2 over TLS on loopback. */
export interface TestApnsServer {
  /** How the plugin reaches it, and the key that it knows. */
  config: Record<string, unknown>;
  readonly sent: readonly ApnsRequest[];
  /** How often somebody connected. */
  connections(): number;
  /** Ends all connections, as the service does from time to time. */
  goAway(): void;
  close(): Promise<void>;
}

const KEY_ID = "ABC123DEFG";
const TEAM_ID = "DEF123GHIJ";
/** The app's bundle id. */
const TOPIC = "org.example.bells";

/** Starts it; it is strict about the token and the headers, `answer` rules over the rest; `takes` so many at once. */
export async function openTestApnsServer(
  answer: (sent: ApnsRequest, count: number) => ApnsScriptedResponse = () => ({ status: 200 }),
  takes = 1_000,
): Promise<TestApnsServer> {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const authority = await createCertificateAuthority("Test", Date.now());
  const { certificate, key } = await issueServerCertificate(authority, ["127.0.0.1"], Date.now());
  const sent: ApnsRequest[] = [];
  const sessions = new Set<ServerHttp2Session>();
  let connections = 0;
  const server = createSecureServer({ cert: certificate, key, settings: { maxConcurrentStreams: takes } });
  server.on("session", (session) => {
    connections++;
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => undefined);
  });
  server.on("stream", async (stream, headers) => {
    const parts: Buffer[] = [];
    for await (const part of stream) parts.push(part as Buffer);
    const bytes = Buffer.concat(parts);
    const say = ({ status, headers: more, reason }: ApnsScriptedResponse): void => {
      stream.respond({ ":status": status, "apns-id": "0", ...more });
      stream.end(reason ? JSON.stringify({ reason }) : "");
    };
    const fault = faultOfToken(String(headers.authorization)) ?? faultOf(headers, bytes.length);
    if (fault)
      return say({ status: fault === "PayloadTooLarge" ? 413 : fault.endsWith("Token") ? 403 : 400, reason: fault });
    const deviceToken = String(headers[":path"]).replace("/3/device/", "");
    const one = { deviceToken, headers, payload: JSON.parse(bytes.toString("utf8")), bytes: bytes.length };
    sent.push(one);
    say(answer(one, sent.length));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  /** @source APNs, token-based connection */
  const faultOfToken = (authorization: string): string | null => {
    const [, head = "", body = "", signature = ""] = /^bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization) ?? [];
    const publicKey = createPublicKey(keys.publicKey.export({ type: "spki", format: "pem" }));
    const text = Buffer.from(`${head}.${body}`);
    const form = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
    if (!verify("sha256", text, form, Buffer.from(signature, "base64url"))) return "InvalidProviderToken";
    const [{ alg, kid }, { iss, iat }] = [head, body].map((part) =>
      JSON.parse(Buffer.from(part, "base64url").toString("utf8")),
    );
    if (alg !== "ES256" || kid !== KEY_ID || iss !== TEAM_ID) return "InvalidProviderToken";
    return Math.abs(Date.now() / 1_000 - iat) < 3_600 ? null : "ExpiredProviderToken";
  };

  return {
    config: {
      ...{
        key: keys.privateKey.export({ type: "pkcs8", format: "pem" }),
        keyId: KEY_ID,
        teamId: TEAM_ID,
        topic: TOPIC,
      },
      ...{ criticalAlerts: true, host: "127.0.0.1", sandboxHost: "127.0.0.1", atOnce: 40 },
      ...{ port: (server.address() as AddressInfo).port, certificateAuthority: authority.certificate },
    },
    sent,
    connections: () => connections,
    goAway() {
      for (const session of sessions) session.close();
    },
    close: () =>
      new Promise((resolve) => {
        for (const session of sessions) session.destroy();
        server.close(() => resolve());
      }),
  };
}

/** @source APNs, sending notification requests */
function faultOf(headers: IncomingHttpHeaders, bytes: number): string | null {
  if (headers[":method"] !== "POST") return "MethodNotAllowed";
  if (!/^\/3\/device\/[0-9a-f]{16,200}$/.test(String(headers[":path"]))) return "BadPath";
  if (headers["apns-topic"] !== TOPIC) return "BadTopic";
  if (headers["apns-push-type"] !== "alert") return "InvalidPushType";
  if (!/^(1|5|10)$/.test(String(headers["apns-priority"]))) return "BadPriority";
  if (!/^\d{10}$/.test(String(headers["apns-expiration"]))) return "BadExpirationDate";
  if (Buffer.byteLength(String(headers["apns-collapse-id"])) > 64) return "BadCollapseId";
  return bytes > 4_096 ? "PayloadTooLarge" : null;
}

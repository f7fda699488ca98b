import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A message as the service got it. */
export interface FcmRequest {
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  message: any;
  bytes: number;
}

/** How the service answers a message. */
export interface FcmScriptedResponse {
  status: number;
  headers?: Record<string, string>;
  body?: object;
}

/** A push service for Android, and the place where its tokens are had, on loopback. */
export interface TestFcmServer {
  address: string;
  /** The key file of an account that is known. */
  serviceAccount: string;
  readonly sent: readonly FcmRequest[];
  /** How many tokens were handed out. */
  tokens(): number;
  /** Refuses the tokens that were handed out. */
  revoke(): void;
  close(): Promise<void>;
}

/** Making such a pair takes its time. */
const KEYS = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const EMAIL = "bells@school.example.org";

/** Starts it; `knows` says whether it knows the account. */
export async function openTestFcmServer(
  answer: (sent: FcmRequest, count: number) => FcmScriptedResponse = () => ({ status: 200, body: { name: "m" } }),
  knows = true,
): Promise<TestFcmServer> {
  const keys = KEYS;
  const sent: FcmRequest[] = [];
  const good = new Set<string>();
  let handedOut = 0;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString("utf8");
    const say = ({ status, headers, body = {} }: FcmScriptedResponse): void =>
      void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    if (request.url === "/token") {
      const fault = knows ? faultOfGrant(text, request.headers) : "invalid_grant";
      if (fault) return say({ status: 400, body: { error: fault } });
      const access_token = `token-${++handedOut}`;
      good.add(access_token);
      return say({ status: 200, body: { access_token, expires_in: 3_600, token_type: "Bearer" } });
    }
    if (!good.has(String(request.headers.authorization).replace("Bearer ", ""))) {
      return say({ status: 401, body: { error: { status: "UNAUTHENTICATED", message: "no such token" } } });
    }
    if (request.url !== "/v1/projects/school/messages:send" || request.method !== "POST") return say({ status: 404 });
    const one = { message: JSON.parse(text).message, bytes: Buffer.byteLength(text) };
    sent.push(one);
    say(answer(one, sent.length));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  /** @source RFC 7523 §3 */
  const faultOfGrant = (text: string, headers: IncomingHttpHeaders): string | null => {
    const form = new URLSearchParams(text);
    if (headers["content-type"] !== "application/x-www-form-urlencoded") return "content-type";
    if (form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer") return "unsupported_grant_type";
    const [head = "", body = "", signature = ""] = (form.get("assertion") ?? "").split(".");
    const key = createPublicKey(keys.publicKey.export({ type: "spki", format: "pem" }));
    if (!verify("sha256", Buffer.from(`${head}.${body}`), key, Buffer.from(signature, "base64url"))) return "signature";
    const [{ alg }, claims] = [head, body].map((part) => JSON.parse(Buffer.from(part, "base64url").toString("utf8")));
    const now = Date.now() / 1_000;
    const isInTime = claims.iat <= now + 1 && claims.exp > now && claims.exp - claims.iat <= 3_600;
    const isFor = claims.iss === EMAIL && claims.aud === `${address}/token` && claims.scope.endsWith(".messaging");
    return alg === "RS256" && isInTime && isFor ? null : "claims";
  };

  const private_key = keys.privateKey.export({ type: "pkcs8", format: "pem" });
  return {
    address,
    serviceAccount: JSON.stringify({
      ...{ type: "service_account", project_id: "school", client_email: EMAIL, private_key },
      token_uri: `${address}/token`,
    }),
    sent,
    tokens: () => handedOut,
    revoke: () => good.clear(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

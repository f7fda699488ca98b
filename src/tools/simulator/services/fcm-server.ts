import { generateKeyPairSync, randomBytes } from "node:crypto";
import { openLoopbackHttpServer } from "./http-server.ts";
import { verifyJwt } from "./json-web-token.ts";
import type { ReceivedMessage, SimulatedService, SimulatedServiceDeps } from "./service.ts";

const ACCOUNT = "bells@school.example";

/** A push service for Android apps with one account, and its token endpoint. @source FCM HTTP v1, RFC 7523 */
export async function openFcmServer({ at }: SimulatedServiceDeps): Promise<SimulatedService> {
  const receptions: ReceivedMessage[] = [];
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const accessToken = randomBytes(16).toString("base64url");
  const server = await openLoopbackHttpServer(async ({ method, url, headers, body }) => {
    const text = body.toString("utf8");
    if (url === "/token") {
      const claims = verifyJwt(new URLSearchParams(text).get("assertion") ?? "", publicKey);
      if (claims?.iss !== ACCOUNT) return { status: 400, body: '{"error": "invalid_grant"}' };
      return {
        status: 200,
        body: JSON.stringify({ access_token: accessToken, expires_in: 3_600, token_type: "Bearer" }),
      };
    }
    if (headers.authorization !== `Bearer ${accessToken}`) return { status: 401, body: "{}" };
    if (method !== "POST" || url !== "/v1/projects/school/messages:send") return { status: 404, body: "{}" };
    const { token, notification } = JSON.parse(text).message;
    const words = `${notification.title}\n${notification.body}`;
    receptions.push({ service: "android", to: token, words, packets: 0, at: at() });
    return { status: 200, body: '{"name": "projects/school/messages/1"}' };
  });
  const account = {
    type: "service_account",
    project_id: "school",
    client_email: ACCOUNT,
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    token_uri: `${server.url}/token`,
  };
  return {
    connectionSettings: { address: server.url, serviceAccount: JSON.stringify(account) },
    receptions: () => receptions,
    stop: server.stop,
  };
}

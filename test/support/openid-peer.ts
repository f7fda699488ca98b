import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import { vi } from "vitest";

/** What the provider tells of somebody. */
export interface OpenIdClaims {
  email?: string;
  /** True unless given; undefined says nothing of it. */
  email_verified?: boolean | string | undefined;
  name?: string;
  groups?: readonly string[];
}

/** An OpenID provider on loopback, with log-in pages of its own. */
export interface OpenIdPeer {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** By the name that is typed at its log-in page; whatever the password. */
  people: Map<string, OpenIdClaims>;
  /** Claims that its ID tokens have instead of the right ones. */
  otherClaims: Readonly<Record<string, unknown>>;
  /** True: the keys that it publishes are not those that it signs with. */
  showsOtherKeys: boolean;
  /** True: it answers everything with 503. */
  isDown: boolean;
  stop(): Promise<void>;
}

/** Starts one that knows an appliance at these addresses. */
export async function startOpenIdPeer(redirectUri: string, home: string): Promise<OpenIdPeer> {
  const server = createServer();
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const [key, other] = [newKey(), newKey()];
  const peer: OpenIdPeer = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: "carillon",
    clientSecret: "the secret of the client, shown to nobody",
    people: new Map(),
    otherClaims: {},
    showsOtherKeys: false,
    isDown: false,
    stop() {
      server.closeAllConnections();
      return new Promise((done) => void server.close(() => done()));
    },
  };
  // It says on the console that it is not for production.
  const said = [vi.spyOn(console, "warn"), vi.spyOn(console, "info")].map((each) => each.mockReturnValue());
  const provider = new Provider(peer.issuer, {
    clients: [
      {
        ...{ client_id: peer.clientId, client_secret: peer.clientSecret, redirect_uris: [redirectUri] },
        ...{ post_logout_redirect_uris: [home], token_endpoint_auth_method: "client_secret_basic" },
        id_token_signed_response_alg: "ES256",
      },
    ],
    jwks: { keys: [{ ...key.export({ format: "jwk" }), ...KEY } as never] },
    cookies: { keys: ["a key of tests"] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
    features: { rpInitiatedLogout: { logoutSource: showLogOut } },
    ttl: { IdToken: 300, AccessToken: 300, Interaction: 300, Session: 300, Grant: 300 },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email_verified: true, ...peer.people.get(id) }),
    }),
  });
  for (const each of said) each.mockRestore();
  const answer = provider.callback();
  server.on("request", (request, response) => {
    if (peer.isDown) return void response.writeHead(503).end();
    if (request.url === "/jwks" && peer.showsOtherKeys) {
      const keys = [{ ...createPublicKey(other).export({ format: "jwk" }), ...KEY }];
      return void response.setHeader("content-type", "application/jwk-set+json").end(JSON.stringify({ keys }));
    }
    if (request.url === "/token") {
      const end = response.end.bind(response);
      response.end = ((body: string) => {
        const changed = withClaims(body, peer.otherClaims, key);
        response.setHeader("content-length", Buffer.byteLength(changed));
        return end(changed);
      }) as typeof response.end;
    }
    return void answer(request, response);
  });
  return peer;
}

/** Asks whoever comes to log out; its own page says on the console that it is not for production. */
function showLogOut(context: { body: string }, form: string): void {
  const button = '<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>';
  context.body = `<!doctype html><title>Log-out</title>${form}${button}`;
}

/** A token answer whose ID token says something else, signed as before. */
function withClaims(body: string, claims: object, key: KeyObject): string {
  const answer = JSON.parse(String(body)) as { id_token?: string };
  if (answer.id_token === undefined || Object.keys(claims).length === 0) return String(body);
  const [head = "", payload = ""] = answer.id_token.split(".");
  const said = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
  const signed = `${head}.${Buffer.from(JSON.stringify({ ...said, ...claims })).toString("base64url")}`;
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }).toString("base64url");
  return JSON.stringify({ ...answer, id_token: `${signed}.${signature}` });
}

const KEY = { alg: "ES256", use: "sig", kid: "only" } as const;

function newKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { reachable, stopProgram } from "./directory-peer.ts";
import { unusedPort } from "./free-port.ts";
import { makeTempDir } from "./temp-dir.ts";

/** The tables that the package begins with; its administrator has a password that everybody knows. */
const TABLES = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3";
const ADMINISTRATOR = { username: "admin", password: "password" };

/** A person; the password is `password-<name>`. */
interface GlewlwydPerson {
  email: string;
  name: string;
  groups: readonly string[];
}

/** Glewlwyd as OpenID provider on loopback. */
export interface GlewlwydPeer {
  issuer: string;
  clientId: string;
  clientSecret: string;
  addPerson(login: string, person: GlewlwydPerson): Promise<void>;
  /** Makes the client known. */
  setClient(redirectUri: string, backChannelLogoutUri: string): Promise<void>;
  /** What a browser does at its pages, from where the client sends it to where it goes back; `cookie` of a login before. */
  authorize(location: string, cookie: string): Promise<string>;
  /** Ends the sessions that somebody began at the client. */
  logOut(cookie: string): Promise<void>;
  /** Logs in at its pages and agrees to the client; gives the cookie. */
  logIn(login: string): Promise<string>;
  /** Signs with a new key from now on, and forgets the one before. */
  rotateKey(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts one. */
export async function startGlewlwyd(): Promise<GlewlwydPeer> {
  const folder = makeTempDir();
  const port = await unusedPort();
  const origin = `http://127.0.0.1:${port}`;
  const database = new Database(join(folder, "glewlwyd.db"));
  database.exec(readFileSync(TABLES, "utf8"));
  database.close();
  const modules = "/usr/lib/glewlwyd";
  const settings = {
    ...{ port, bind_address: "127.0.0.1", external_url: origin, login_url: "login.html", api_prefix: "api" },
    ...{ log_mode: "file", log_level: "WARNING", log_file: join(folder, "log"), session_key: "GLEWLWYD" },
    ...{ cookie_secure: 0, session_expiration: 86_400, admin_scope: "g_admin", profile_scope: "g_profile" },
    ...{ user_module_path: `${modules}/user`, client_module_path: `${modules}/client` },
    ...{ user_auth_scheme_module_path: `${modules}/scheme`, plugin_module_path: `${modules}/plugin` },
    hash_algorithm: "SHA512",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
  const store = `database = { type = "sqlite3"; path = ${JSON.stringify(join(folder, "glewlwyd.db"))}; };\n`;
  writeFileSync(join(folder, "glewlwyd.conf"), [...lines, store].join(""));
  const program = spawn("glewlwyd", [`--config-file=${join(folder, "glewlwyd.conf")}`], { stdio: "ignore" });
  await reachable(port, program);

  async function call(method: string, path: string, json: unknown, cookie: string): Promise<Response> {
    const headers = { "content-type": "application/json", cookie };
    const response = await fetch(`${origin}/api/${path}`, { method, headers, body: JSON.stringify(json) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }
  const enter = async (json: object): Promise<string> =>
    (await call("POST", "auth/", json, "")).headers.get("set-cookie")?.split(";")[0] ?? "";
  const administrator = await enter(ADMINISTRATOR);
  const manage = async (method: string, path: string, json: unknown): Promise<void> =>
    void (await call(method, path, json, administrator));
  /** Ids of the sessions at the client, by the cookie of the person. */
  const sids = new Map<string, string>();
  const clientId = "carillon";
  // It does not decode what the client encodes by RFC 6749, section 2.3.1.
  const clientSecret = "SecretOfTheClient";

  function plugin(): object {
    const { privateKey: key, publicKey: cert } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    const parameters = {
      ...{ iss: `${origin}/api/oidc`, "jwt-type": "rsa", "jwt-key-size": "256", key, cert, "subject-type": "public" },
      ...{ "access-token-duration": 3_600, "refresh-token-duration": 86_400, "code-duration": 600 },
      ...{ "auth-type-code-enabled": true, "auth-type-refresh-enabled": true, "allow-non-oidc": false },
      ...{ "pkce-allowed": true, "pkce-required": true, "session-management-allowed": true },
      ...{ "session-cookie-name": "OIDC", "session-cookie-expiration": 86_400, "back-channel-logout-allowed": true },
      ...{ "email-claim": "mandatory", "name-claim": "mandatory" },
      claims: [{ name: "groups", "user-property": "groups", type: "string", mandatory: true, scope: [] }],
    };
    return { module: "oidc", name: "oidc", display_name: "OpenID", enabled: true, parameters };
  }

  await manage("PUT", "mod/user/database", {
    ...{ module: "database", name: "database", display_name: "People", readonly: false, order_rank: 0 },
    parameters: {
      "use-glewlwyd-connection": true,
      "data-format": { groups: { multiple: true, read: true, write: true } },
    },
  });
  await manage("PUT", "mod/user/database/reset/", {});
  await manage("POST", "mod/plugin/", plugin());
  // Otherwise it says neither how nor when somebody authenticated.
  const scope = { name: "openid", display_name: "OpenID", password_required: true, password_max_age: 0, scheme: {} };
  await manage("PUT", "scope/openid", scope);
  return {
    ...{ issuer: `${origin}/api/oidc`, clientId, clientSecret },
    addPerson: (username, person) =>
      manage("POST", "user/", {
        ...{ username, ...person, password: `password-${username}`, scope: ["openid", "g_profile"], enabled: true },
      }),
    setClient: (redirectUri, backChannelLogoutUri) =>
      manage("POST", "client/", {
        ...{ client_id: clientId, name: "Carillon", client_secret: clientSecret, confidential: true, enabled: true },
        ...{ redirect_uri: [redirectUri], authorization_type: ["code", "refresh_token"] },
        ...{ token_endpoint_auth_method: ["client_secret_basic"], backchannel_logout_uri: backChannelLogoutUri },
      }),
    async authorize(location, cookie) {
      // What its script adds once the person has agreed.
      const response = await fetch(`${location}&g_continue`, { headers: { cookie }, redirect: "manual" });
      const sid = /OIDC=([^;]+)/.exec(response.headers.getSetCookie().join(" "))?.[1];
      if (sid !== undefined) sids.set(cookie, sid);
      return response.headers.get("location") ?? `${response.status}`;
    },
    logOut: async (cookie) => void (await call("DELETE", `oidc/session/${sids.get(cookie)}`, {}, cookie)),
    async logIn(username) {
      const cookie = await enter({ username, password: `password-${username}` });
      await call("PUT", `auth/grant/${clientId}`, { scope: "openid" }, cookie);
      return cookie;
    },
    async rotateKey() {
      await manage("PUT", "mod/plugin/oidc", plugin());
      await manage("PUT", "mod/plugin/oidc/reset/", {});
    },
    stop: () => stopProgram(program),
  };
}

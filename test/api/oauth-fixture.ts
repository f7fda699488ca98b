import { createHash, randomBytes } from "node:crypto";
import { expect } from "vitest";
import { hashPassword } from "../../src/auth/passwords.ts";
import users from "../../src/resources/people/users.ts";
import type { ApiFixture } from "./api-fixture.ts";
import type { FormEntries, ReceivedResponse, RequestOptions } from "./http-client.ts";

/** The password of everybody in these tests. */
export const PASSWORD = "correct horse battery";
/** Where applications are sent back to. */
export const REDIRECT_URI = "https://app.example.org/back?from=carillon";

/** An application as its POST answered it. */
export interface CreatedApplication {
  id: string;
  clientId: string;
  clientSecret: string | null;
}

/** A PKCE pair. */
export interface PkcePair {
  verifier: string;
  challenge: string;
}

/** Makes a PKCE pair. */
export function createPkcePair(): PkcePair {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

/** Makes an application; public unless told. */
export async function makeApplication(api: ApiFixture, json: object = {}): Promise<CreatedApplication> {
  const name = `App ${randomBytes(4).toString("hex")}`;
  const made = await api.call("POST", "/applications", {
    json: { name, type: "public", redirectUris: [REDIRECT_URI], ...json },
  });
  if (made.status !== 200) throw new Error(made.text);
  return made.body;
}

/** Makes a user with a password. */
export async function makePerson(api: ApiFixture, email: string, fields: object = {}): Promise<string> {
  const passwordHash = await hashPassword(PASSWORD);
  const user = await api.store.create(users, { name: email.split("@")[0], email, ...fields }, api.system, {
    passwordHash,
  });
  return user.id;
}

/** Asks the token endpoint by a form, or as `sending` says. */
export function requestToken(
  api: ApiFixture,
  form: Record<string, string>,
  sending: RequestOptions = {},
): Promise<ReceivedResponse> {
  return api.call("POST", "/api/token", {
    token: null,
    form: Object.entries(form) as unknown as FormEntries,
    ...sending,
  });
}

/** Expects a refusal in OAuth's form and in ours. */
export function expectRefusal(answer: ReceivedResponse, status: number, error: string): void {
  expect([answer.status, answer.body.error]).toEqual([status, error]);
  expect(answer.body).toMatchObject({ status, type: expect.any(String), message: expect.any(String) });
  expect(answer.body.error_description).toBe(answer.body.message);
  expect(answer.body.requestId).toBe(answer.headers.get("x-request-id"));
  expect(answer.headers.get("cache-control")).toBe("no-store");
}

/** A page of the authorize endpoint as a browser without scripts gets it. */
export interface AuthorizePageResponse {
  status: number;
  location: string | null;
  cookie: string | null;
  headers: Headers;
  text: string;
}

/** The authorize page of `parameters`; `cookie` is the browser's session. */
export function openAuthorize(
  api: ApiFixture,
  parameters: Record<string, string>,
  options: { cookie?: string | null; path?: string; language?: string } = {},
): Promise<AuthorizePageResponse> {
  const { cookie = null, path = "/api/authorize", language = "en" } = options;
  return browse(`${new URL(api.base).origin}${path}?${new URLSearchParams(parameters)}`, {
    headers: { "accept-language": language, ...(cookie === null ? {} : { cookie }) },
  });
}

/** Sends the form of a page with `fields`, as its browser does. */
export function submit(
  api: ApiFixture,
  { text }: Pick<AuthorizePageResponse, "text">,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<AuthorizePageResponse> {
  const { origin } = new URL(api.base);
  const action = /action="([^"]+)"/.exec(text)?.[1]?.replaceAll("&#38;", "&") ?? "";
  const proof = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
  return browse(`${origin}${action}`, {
    method: "POST",
    body: new URLSearchParams({ form_token: proof, ...fields }),
    headers: { origin, "accept-language": "en", ...headers },
  });
}

/** Logs in on the page and allows; returns the address that the browser is sent to. */
export async function grantAccess(api: ApiFixture, parameters: Record<string, string>, email: string): Promise<URL> {
  const loggedIn = await submit(api, await openAuthorize(api, parameters), { email, password: PASSWORD });
  const cookie = loggedIn.cookie ?? "";
  const consent = await openAuthorize(api, parameters, { cookie });
  const sent = await submit(api, consent, { decision: "allow" }, { cookie });
  if (sent.location === null) throw new Error(`${sent.status} ${sent.text}`);
  return new URL(sent.location);
}

/** The parameters by which an application asks for a code. */
export function authorizeParameters(
  { clientId }: CreatedApplication,
  { challenge }: PkcePair,
  more: Record<string, string> = {},
): Record<string, string> {
  return {
    response_type: "code",
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    state: "a b&c",
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...more,
  };
}

async function browse(url: string, init: RequestInit): Promise<AuthorizePageResponse> {
  const response = await fetch(url, { ...init, redirect: "manual" });
  return {
    status: response.status,
    location: response.headers.get("location"),
    cookie: response.headers.get("set-cookie")?.split(";")[0] ?? null,
    headers: response.headers,
    text: await response.text(),
  };
}

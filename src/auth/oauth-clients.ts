import { timingSafeEqual } from "node:crypto";
import { ConflictError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import applications from "../resources/security/applications.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, StoreReader } from "../store/store.ts";
import { OAuthRequestError } from "./oauth-error.ts";
import { generateToken, hashToken } from "./tokens.ts";

/** Row of an OAuth 2 client application. */
export type Application = RowOf<typeof applications>;

/** Client credentials; `clientSecret` is null when none was sent. */
export interface ClientCredentials {
  clientId: string;
  clientSecret: string | null;
}

/** An application with its new secret in clear text, which is not stored; null for a public client. */
export interface ApplicationWithSecret {
  row: Application;
  clientSecret: string | null;
}

/** Finds an application by client id; null if not found. */
export function findApplication(reader: StoreReader, clientId: string): Application | null {
  return isUuid(clientId) ? reader.get(applications, clientId) : null;
}

/**
 * Authenticates a client; public clients by their id only. Throws `invalid_client` with the same message for every
 * cause.
 */
export function authenticateClient(reader: StoreReader, { clientId, clientSecret }: ClientCredentials): Application {
  const application = findApplication(reader, clientId);
  if (application && hasValidSecret(application, clientSecret)) return application;
  throw new OAuthRequestError("invalid_client", "Client id or client secret is not correct.");
}

function hasValidSecret({ type, secretHash }: Application, secret: string | null): boolean {
  if (type === "public") return secret === null;
  if (secret === null || secretHash === null) return false;
  return timingSafeEqual(Buffer.from(hashToken(secret), "hex"), Buffer.from(secretHash, "hex"));
}

/** Creates an application from `input` (API form) with a new client secret. Throws as every creation does. */
export async function createApplication(
  store: Store,
  input: Readonly<Record<string, unknown>>,
  by: ActorContext,
  now: number,
): Promise<ApplicationWithSecret> {
  if (input.type === "public") return { row: await store.create(applications, input, by), clientSecret: null };
  const { token: clientSecret, tokenHash: secretHash } = generateToken();
  const row = await store.create(applications, input, by, { secretHash, secretCreatedAt: now });
  return { row, clientSecret };
}

/**
 * Replaces the client secret; the old one is refused immediately. Issued tokens stay valid, because rotation is
 * routine. Throws not-found, ConflictError for a public client.
 */
export async function rotateClientSecret(
  store: Store,
  id: string,
  by: ActorContext,
  now: number,
): Promise<ApplicationWithSecret> {
  const { token: clientSecret, tokenHash: secretHash } = generateToken();
  const row = await store.write((tx) => {
    if (tx.get(applications, id)?.type === "public")
      throw new ConflictError(sentence("conflict.a-public-application-must-not-have-a-client-secret"));
    return tx.update(applications, id, {}, by, { secretHash, secretCreatedAt: now });
  });
  return { row, clientSecret };
}

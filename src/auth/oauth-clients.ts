import { timingSafeEqual } from "node:crypto";
import { ConflictError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import applications from "../resources/security/applications.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, StoreReader } from "../store/store.ts";
import { OAuthRequestError } from "./oauth-error.ts";
import { generateToken, hashToken } from "./tokens.ts";

/** The row of a program that gets tokens by OAuth 2. */
export type Application = RowOf<typeof applications>;

/** How a client says which application it is; `clientSecret` is null when it sent none. */
export interface ClientCredentials {
  clientId: string;
  clientSecret: string | null;
}

/** An application and its new secret, which stands nowhere else; null for a public one. */
export interface ApplicationWithSecret {
  row: Application;
  clientSecret: string | null;
}

/** The application of a client id; null when there is none. */
export function findApplication(reader: StoreReader, clientId: string): Application | null {
  return isUuid(clientId) ? reader.get(applications, clientId) : null;
}

/**
 * The application that a client proves to be, a public one by its id alone. Throws `invalid_client`, in the same words
 * for every cause.
 */
export function authenticateClient(reader: StoreReader, { clientId, clientSecret }: ClientCredentials): Application {
  const application = findApplication(reader, clientId);
  if (application && hasValidSecret(application, clientSecret)) return application;
  throw new OAuthRequestError("invalid_client", "Client id or client secret is not right.");
}

function hasValidSecret({ type, secretHash }: Application, secret: string | null): boolean {
  if (type === "public") return secret === null;
  if (secret === null || secretHash === null) return false;
  return timingSafeEqual(Buffer.from(hashToken(secret), "hex"), Buffer.from(secretHash, "hex"));
}

/** Makes an application from `input` (API form). Throws as every creation does. */
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
 * Gives an application a new secret; the old one is refused from then on. own choice: tokens stay, since changing secrets
 * is a routine. Throws not-found, ConflictError for a public application.
 */
export async function rotateClientSecret(
  store: Store,
  id: string,
  by: ActorContext,
  now: number,
): Promise<ApplicationWithSecret> {
  const { token: clientSecret, tokenHash: secretHash } = generateToken();
  const row = await store.write((tx) => {
    if (tx.get(applications, id)?.type === "public") throw new ConflictError("A public application has no secret.");
    return tx.update(applications, id, {}, by, { secretHash, secretCreatedAt: now });
  });
  return { row, clientSecret };
}

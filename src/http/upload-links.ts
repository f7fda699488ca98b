import { isAccountLocked } from "../auth/account-lock.ts";
import type { AccessControl } from "../auth/principal.ts";
import { signLink, verifyLink } from "../auth/signed-links.ts";
import type { BulkUpload } from "../importers/bulk-upload-run.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, notFound } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import users from "../resources/people/users.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { ActorContext, Store } from "../store/store.ts";

/** Enough for the largest file over a slow line to begin, and short for a URL that ends up in a log. */
const LINK_MS = 3_600_000;

interface UploadLinkDeps {
  store: Store;
  access: Pick<AccessControl, "resolveScope">;
  clock: Clock;
}

/** Token of a URL to which a client without credentials sends the file of an upload, once. */
export function signUploadLink(
  { id }: BulkUpload,
  { actor }: ActorContext,
  { store, clock }: UploadLinkDeps,
): { token: string; expiresAt: number } | null {
  if (actor.userId === null) return null;
  const expiresAt = clock.now() + LINK_MS;
  return { token: signLink("upload", `${id} ${actor.userId} ${expiresAt}`, store), expiresAt };
}

/**
 * The upload of a token, with the user who got it, in the domain of the upload and with the rights of now. Throws not-found
 * for a forged token, forbidden for one that expired, and for a user who is locked or may not act there any more.
 */
export function openUploadLink(
  token: string,
  address: string | null,
  { store, access, clock }: UploadLinkDeps,
): { id: string; by: ActorContext } {
  const [id = "", userId = "", expiresAt = ""] = verifyLink("upload", token, store)?.split(" ") ?? [];
  const upload = store.get(bulkUploads, id);
  const user = store.get(users, userId);
  if (!upload || !user) throw notFound();
  if (clock.now() >= Number(expiresAt) || isAccountLocked(user.lock, clock.now()))
    throw new CallerError("forbidden", sentence("upload.the-upload-url-has-expired-create-another-upload"));
  const { pk: userPk, name, email } = user;
  const principal = { userId, userPk, name, email, tokenId: "", scopes: null, accessToken: null };
  return {
    id,
    by: {
      actor: { kind: "user", userId, name, address },
      scope: access.resolveScope(principal, upload.actingDomainId),
    },
  };
}

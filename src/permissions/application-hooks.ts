import { isOAuthScope, neutralScope } from "../auth/oauth-scopes.ts";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import users from "../resources/people/users.ts";
import type applications from "../resources/security/applications.ts";
import type { ActorContext, ResourceHooks, StoreReader } from "../store/store.ts";
import { domainIdsOf } from "./domain-membership.ts";
import { type Rights, readUserRights } from "./rights.ts";

/** Loopback redirect hosts. @source RFC 8252 §7.3 */
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Validates applications. `assertCanDelegate` throws unless the caller has at least the given rights: anyone who changes
 * an application that acts as a user could act as that user, in all its domains.
 */
export function applicationHooks(
  assertCanDelegate: (by: ActorContext, rights: Rights, holders: readonly string[]) => void,
): ResourceHooks<typeof applications> {
  const assertCanActAs = (userId: string | null | undefined, tx: StoreReader, by: ActorContext): void => {
    const user = userId == null ? null : tx.get(users, userId);
    if (user && user.id !== by.actor.userId) assertCanDelegate(by, readUserRights(tx, user.pk), domainIdsOf(user));
  };
  return {
    beforeWrite({ before, after }, tx, by) {
      assertCanActAs(before?.userId, tx, by);
      assertCanActAs(after?.userId, tx, by);
      if (!after) return;
      if (!after.redirectUris.every(isRedirectUri)) {
        throw invalidValue("redirectUris", sentence("field.must-be-https-uris-http-uris-of-a-loopback-host"));
      }
      after.scopes = [...new Set(after.scopes.map(neutralScope))];
      if (!after.scopes.every(isOAuthScope)) {
        throw invalidValue("scopes", sentence("field.must-be-offline-access-or-urn-service-resource-read-write"));
      }
      if (after.type === "public" && after.userId !== null) {
        throw invalidValue("userId", sentence("field.must-be-empty-for-a-public-application-it-cannot-authenticate"));
      }
    },
    present: (rows) => rows.map(({ id }) => ({ clientId: id })),
  };
}

/** True for a URI that codes may be sent to. */
function isRedirectUri(text: string): boolean {
  // Characters that a URL parser drops or changes may be interpreted differently by a browser.
  if (!/^[\x21-\x7e]+$/.test(text) || /[#\\]/.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  if (protocol === "http:") return LOOPBACK.has(hostname);
  return protocol === "https:" || protocol.includes(".");
}

import { isOAuthScope } from "../auth/oauth-scopes.ts";
import { invalidValue } from "../lib/errors.ts";
import users from "../resources/people/users.ts";
import type applications from "../resources/security/applications.ts";
import type { ActorContext, ResourceHooks, StoreReader } from "../store/store.ts";
import { domainIdsOf } from "./domain-membership.ts";
import { type Rights, readUserRights } from "./rights.ts";

/** Addresses of the machine that the browser runs on. @source RFC 8252 §7.3 */
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * What an application must fulfil. `requireCover` throws unless somebody has at least the given rights: whoever changes an
 * application that acts as a user could act as that user, in all its domains.
 */
export function applicationHooks(
  requireCover: (by: ActorContext, rights: Rights, holders: readonly string[]) => void,
): ResourceHooks<typeof applications> {
  const assertCanActAs = (userId: string | null | undefined, tx: StoreReader, by: ActorContext): void => {
    const user = userId == null ? null : tx.get(users, userId);
    if (user && user.id !== by.actor.userId) requireCover(by, readUserRights(tx, user.pk), domainIdsOf(user));
  };
  return {
    beforeWrite({ before, after }, tx, by) {
      assertCanActAs(before?.userId, tx, by);
      assertCanActAs(after?.userId, tx, by);
      if (!after) return;
      if (!after.redirectUris.every(isRedirectUri)) {
        throw invalidValue(
          "redirectUris",
          "They are https addresses, http ones of the same machine, or those of an app, without a fragment.",
        );
      }
      if (!after.scopes.every(isOAuthScope)) {
        throw invalidValue("scopes", "They are offline_access and urn:service:<resource>:<read|write>.");
      }
      if (after.type === "public" && after.userId !== null) {
        throw invalidValue("userId", "A public application can't prove to be itself, so it never acts by itself.");
      }
    },
    present: (rows) => rows.map(({ id }) => ({ clientId: id })),
  };
}

/** True for an address that codes may be sent to. */
function isRedirectUri(text: string): boolean {
  // What a URL parser would drop or change might be read in another way by a browser.
  if (!/^[\x21-\x7e]+$/.test(text) || /[#\\]/.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  if (protocol === "http:") return LOOPBACK.has(hostname);
  return protocol === "https:" || protocol.includes(".");
}

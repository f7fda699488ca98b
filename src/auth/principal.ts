import type { AccessScope, Actor, ActorContext } from "../store/store.ts";

/** A user on whose behalf requests are made, found from the token it presented. */
export interface Principal {
  userId: string;
  userPk: number;
  name: string;
  email: string | null;
  /** The row of the token or of the console's session. */
  tokenId: string;
  /** OAuth 2 scopes of the token, which leave less than its user's rights; null leaves them all. */
  scopes: readonly string[] | null;
  /** The token as presented, for `GET /v1/session` alone: never log or store it. Null for a console cookie. */
  accessToken: string | null;
}

/** How a request brought its token: each kind of token is good in one way alone, a session of the console in its cookie. */
export type TokenTransport = "bearer" | "cookie";

/** Who vouches for users. */
export interface IdentityProvider {
  id: string;
  name: string;
}

/** The only room that says no: who somebody is and what that somebody may do and see. */
export interface AccessControl {
  /**
   * The holder of a valid token; null when it is unknown, revoked, expired, idle for too long, came in another way than
   * its kind does, or its user is locked. A request that nobody made in person (`isUse` false) does not keep a session
   * from idling. Never throws.
   */
  authenticate(token: string, carrier?: TokenTransport, isUse?: boolean): Principal | null;
  /** True while the token by which `principal` was found is still good; does not count as a use of it. */
  isStillValid(principal: Principal): boolean;
  /**
   * What `principal` may do in the acting domain `domain` (an id; null = the first one available to the user by name path).
   * Throws `invalid-value` on the field `named`, `domain` unless given, when the user may not act there.
   */
  resolveScope(principal: Principal, domain: string | null, named?: string): AccessScope;
  /** The built-in identity provider, as sessions name it; its id is the audience of client credentials. Null before `init`. */
  identityProvider(): IdentityProvider | null;
  /**
   * Lets one request be made in the name of a user who proved elsewhere in the organisation who it is: a token that lies in
   * no database, and what ends it. `scopes` are those of the token shown there, as in `Principal`. Throws `unauthorized`
   * for a user that there is not.
   */
  issueTemporaryToken(userId: string, scopes: Principal["scopes"]): { token: string; end(): void };
  /** All rights, in the name of the room `name`, for writes that nobody asked for in person. */
  systemContext(name: string): ActorContext;
  /** Forgets everything compiled and stops listening for changes. */
  close(): void;
}

/** The user as the audit names it; `address` is where the request came from. */
export function actorOf(principal: Principal, address: string | null): Actor {
  return { kind: "user", userId: principal.userId, name: principal.name, address };
}

import type { AccessScope, Actor, ActorContext } from "../store/store.ts";

/** The authenticated user of a request. */
export interface Principal {
  userId: string;
  userPk: number;
  name: string;
  email: string | null;
  /** Id of the token row or console session. */
  tokenId: string;
  /** OAuth 2 scopes of the token, which restrict the user's rights; null: no restriction. */
  scopes: readonly string[] | null;
  /** The presented token, only for `GET /v1/session`: never log or store it. Null for a console cookie. */
  accessToken: string | null;
  /** For a console session: when its user last proved to be there, epoch ms. */
  provenAt?: number;
  /** Set for a request that an appliance forwards: the user acts within its domains, and without super rights. */
  appliance?: ApplianceLimit;
}

/** What users may do through an appliance. @source docs/decisions/0491-trust-in-appliances.md */
export interface ApplianceLimit {
  /** Ids of the topmost domains of the appliance; null for the whole organisation. */
  domainIds: readonly string[] | null;
}

/** How the token was sent. Each kind of token is valid with one transport only: console sessions in their cookie. */
export type TokenTransport = "bearer" | "cookie";

/** An identity provider as sessions name it. */
export interface IdentityProvider {
  id: string;
  name: string;
}

/** Authentication and permissions: who a caller is, and what the caller may do and see. */
export interface AccessControl {
  /**
   * The holder of a valid token. Null when the token is unknown, revoked, expired, idle for too long or sent with the
   * wrong transport, or when its user is locked. With `isUse` false (automatic requests) the idle timeout of a session
   * is not extended. `address` is the network address of the request; a token that is limited to addresses is refused
   * elsewhere, and without one. Never throws.
   */
  authenticate(token: string, transport?: TokenTransport, isUse?: boolean, address?: string | null): Principal | null;
  /** True while the token of `principal` is still valid; does not count as use. */
  isStillValid(principal: Principal): boolean;
  /**
   * The scope of `principal` in the acting domain `domain` (an id; null: the first available one by name path). Throws
   * `invalid-value` on field `named` (default `domain`) when the user may not act there.
   */
  resolveScope(principal: Principal, domain: string | null, named?: string): AccessScope;
  /** True if a security group of the user requires a second factor. */
  requiresSecondFactor(userPk: number): boolean;
  /**
   * The built-in identity provider; its id is the audience of client credentials. Null before the appliance is
   * initialized.
   */
  identityProvider(): IdentityProvider | null;
  /**
   * Issues an in-memory token for one request that an appliance forwards for an authenticated user; `end` revokes it.
   * `scopes` are those of the original token, as in `Principal`. Throws `unauthorized` for an unknown user.
   */
  issueTemporaryToken(
    user: Pick<Principal, "userId" | "scopes">,
    appliance: ApplianceLimit,
  ): { token: string; end(): void };
  /** Actor context with all rights for the module `name`, for writes without a user. */
  systemContext(name: string): ActorContext;
  /** Clears the caches and stops listening for changes. */
  close(): void;
}

/** The audit actor of a principal; `address` is the network address of the request. */
export function actorOf(principal: Principal, address: string | null): Actor {
  return { kind: "user", userId: principal.userId, name: principal.name, address };
}

import { formatScopes, isOAuthScope, OFFLINE_ACCESS } from "../../auth/oauth-scopes.ts";
import { revokeAllTokens } from "../../auth/sessions.ts";
import { createToken, revokeToken, type UserToken, withDefaultExpiry } from "../../auth/tokens.ts";
import { invalidValue, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { domainIdsOf } from "../../permissions/domain-membership.ts";
import { assertCanDelegate } from "../../permissions/privilege-escalation.ts";
import { readUserRights } from "../../permissions/rights.ts";
import userTokens from "../../resources/people/user-tokens.ts";
import users from "../../resources/people/users.ts";
import { boolean, integer, text } from "../../schema/field.ts";
import type { AccessScope } from "../../store/store.ts";
import { type Action, type ApiRequest, deletedResponse, jsonResponse, requireVisibleRow } from "../action.ts";
import { assertIfMatch } from "../etag.ts";
import { textParameter } from "../query/query.ts";
import { ID_PARAMETER, type RowOperation, withIdFromRequest } from "../rows/row-operations.ts";
import { addMembers } from "./add-members.ts";
import { compileBodyValidator } from "./body-validator.ts";

const { name, expires, addresses } = userTokens.fields;
const scope = text(
  "Scopes that limit the token, separated by spaces: urn:service:<resource>:<read|write>. Without scopes it has all permissions of its user.",
  { max: 4_000 },
);
const checkScope = compileBodyValidator({ scope });

/** Default true, because a remaining refresh token could get a new access token. */
const REVOCATION_QUERY = {
  deleteEntireSession: boolean("For an application token: also revokes all tokens of the same consent. Default: true."),
};

const revocation = {
  method: "delete",
  doc: "Revokes a token; for an application token, also all tokens of the same consent.",
  headers: ["If-Match"],
  response: { kind: "deletion" },
  accepts: {},
  isVisible: (request: Pick<ApiRequest, "params" | "deps">, scope: AccessScope) => findToken(request, scope) !== null,
  async handle(request: ApiRequest) {
    const token = findToken(request, request.by.scope);
    if (!token) throw notFound();
    const ifMatch = request.header("if-match");
    if (ifMatch) assertIfMatch(ifMatch, token);
    const wholeChain = textParameter(request.query, "deleteEntireSession") ?? "true";
    await revokeToken(request.deps.store, token, wholeChain === "true", request.by);
    return deletedResponse(token.id);
  },
} as const;

/**
 * Creation of a user token, whose value is returned only once, and its revocation.
 * @source docs/decisions/0003-authentication.md; docs/decisions/0042-api-contract.md
 */
export const userTokenActions: readonly (Action | RowOperation)[] = [
  {
    method: "post",
    at: "users/{userId}/tokens",
    doc: "Creates a token. The value is returned only here.",
    response: { kind: "row", resource: userTokens, with: { token: text("Value of the token.", { required: true }) } },
    accepts: { name, expires, addresses, scope },
    async handle(request) {
      const { deps, body, by } = request;
      const user = requireVisibleRow(request, users, request.params.userId ?? "");
      const { scope: _scope, ...input } = withDefaultExpiry(
        body,
        deps.settings.auth.tokenLifetimeDays,
        deps.clock.now(),
      );
      const { row, token } = await createToken(deps.store, user.id, input, by, scopeOf(request));
      return addMembers(await request.respondWithRow(userTokens, row), { token });
    },
  },
  {
    method: "post",
    at: "users/{userId}/access-revocation",
    doc: "Ends all access of a user at once: sessions, devices, tokens, invitations and the grants of applications.",
    response: {
      kind: "members",
      fields: { revoked: integer("Number of revoked sessions and tokens.", { required: true }) },
    },
    accepts: {},
    async handle(request) {
      const { deps, by } = request;
      const user = requireVisibleRow(request, users, request.params.userId ?? "");
      if (user.id !== by.actor.userId) assertCanDelegate(by, readUserRights(deps.store, user.pk), domainIdsOf(user));
      return jsonResponse({ revoked: await deps.store.write((tx) => revokeAllTokens(tx, user.id, by)) });
    },
  },
  { ...revocation, at: "users/{userId}/tokens/{tokenId}", query: REVOCATION_QUERY },
  {
    ...revocation,
    at: "users/{userId}/tokens",
    query: { ...ID_PARAMETER, ...REVOCATION_QUERY },
    completeRequest: (request) => withIdFromRequest("tokenId", request),
  },
];

/** The scopes of a new token; one that is created with a limited token has at most the same. Throws invalid-value. */
function scopeOf({ body, principal }: ApiRequest): string | null {
  const given = new Set(
    String(checkScope({ scope: body.scope }).scope ?? "")
      .split(" ")
      .filter((word) => word !== ""),
  );
  if (given.size === 0) return formatScopes(principal.scopes ?? []);
  for (const each of given) {
    if (!isOAuthScope(each) || each === OFFLINE_ACCESS)
      throw invalidValue("scope", sentence("field.must-be-urn-service-resource-read-write-such-as-urn"));
    if (principal.scopes && !principal.scopes.includes(each))
      throw invalidValue("scope", sentence("field.must-not-exceed-the-scopes-of-the-token-that-creates"));
  }
  return formatScopes([...given]);
}

function findToken({ params, deps }: Pick<ApiRequest, "params" | "deps">, scope: AccessScope): UserToken | null {
  const token = deps.store.get(userTokens, params.tokenId ?? "", scope);
  return token?.userId === params.userId ? token : null;
}

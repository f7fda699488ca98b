import { createToken, revokeToken, type UserToken } from "../../auth/tokens.ts";
import { notFound } from "../../lib/errors.ts";
import userTokens from "../../resources/people/user-tokens.ts";
import users from "../../resources/people/users.ts";
import { boolean, text } from "../../schema/field.ts";
import type { AccessScope } from "../../store/store.ts";
import { type Action, type ApiRequest, deletedResponse, requireVisibleRow } from "../action.ts";
import { assertIfMatch } from "../etag.ts";
import { textParameter } from "../query/query.ts";
import { ID_PARAMETER, type RowOperation, withIdFromRequest } from "../rows/row-operations.ts";
import { addMembers } from "./add-members.ts";

const { name, expires } = userTokens.fields;

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
    accepts: { name, expires },
    async handle(request) {
      const user = requireVisibleRow(request, users, request.params.userId ?? "");
      const { row, token } = await createToken(request.deps.store, user.id, request.body, request.by);
      return addMembers(await request.respondWithRow(userTokens, row), { token });
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

function findToken({ params, deps }: Pick<ApiRequest, "params" | "deps">, scope: AccessScope): UserToken | null {
  const token = deps.store.get(userTokens, params.tokenId ?? "", scope);
  return token?.userId === params.userId ? token : null;
}

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

/** own choice: true unless it says false, since a refresh token that stays would get the next access token. */
const REVOCATION_QUERY = {
  deleteEntireSession: boolean(
    "Of an application's token: all that came of the same consent too; true when not given.",
  ),
};

const revocation = {
  method: "delete",
  doc: "Revokes a token; of an application, with all that came of the same consent.",
  headers: ["If-Match"],
  response: { kind: "deletion" },
  accepts: {},
  isVisible: (request: Pick<ApiRequest, "params" | "needs">, scope: AccessScope) => findToken(request, scope) !== null,
  async handle(request: ApiRequest) {
    const token = findToken(request, request.by.scope);
    if (!token) throw notFound();
    const ifMatch = request.header("if-match");
    if (ifMatch) assertIfMatch(ifMatch, token);
    const wholeChain = textParameter(request.query, "deleteEntireSession") ?? "true";
    await revokeToken(request.needs.store, token, wholeChain === "true", request.by);
    return deletedResponse(token.id);
  },
} as const;

/** A user's new token, whose value stands in the answer and nowhere else, and a token's end. @source decisions.md 3; digest */
export const userTokenActions: readonly (Action | RowOperation)[] = [
  {
    method: "post",
    at: "users/{userId}/tokens",
    doc: "Makes a token; its value is told here and never again.",
    response: { kind: "row", resource: userTokens, with: { token: text("The token's value.", { required: true }) } },
    accepts: { name, expires },
    async handle(request) {
      const user = requireVisibleRow(request, users, request.params.userId ?? "");
      const { row, token } = await createToken(request.needs.store, user.id, request.body, request.by);
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

function findToken({ params, needs }: Pick<ApiRequest, "params" | "needs">, scope: AccessScope): UserToken | null {
  const token = needs.store.get(userTokens, params.tokenId ?? "", scope);
  return token?.userId === params.userId ? token : null;
}

import { createToken, revokeToken, type UserToken } from "../../access/tokens.ts";
import { notFound } from "../../base/errors.ts";
import userTokens from "../../resources/people/user-tokens.ts";
import users from "../../resources/people/users.ts";
import { boolean, text } from "../../schema/field.ts";
import type { Scope } from "../../store/store.ts";
import { type Action, type ApiRequest, deleted, visibleRow } from "../action.ts";
import { requireMatch } from "../etag.ts";
import { singleText } from "../query.ts";
import { GIVEN_ID, type RowOperation, withIdGiven } from "../row-operations.ts";
import { withMembers } from "./answer-members.ts";

const { name, expires } = userTokens.fields;

/** own choice: true unless it says false, since a refresh token that stays would get the next access token. */
const WHOLE = {
  deleteEntireSession: boolean(
    "Of an application's token: all that came of the same consent too; true when not given.",
  ),
};

const revocation = {
  method: "delete",
  doc: "Revokes a token; of an application, with all that came of the same consent.",
  headers: ["If-Match"],
  answers: { kind: "deletion" },
  accepts: {},
  sees: (request: Pick<ApiRequest, "params" | "needs">, scope: Scope) => findToken(request, scope) !== null,
  async handle(request: ApiRequest) {
    const token = findToken(request, request.by.scope);
    if (!token) throw notFound();
    const ifMatch = request.header("if-match");
    if (ifMatch) requireMatch(ifMatch, token);
    const wholeChain = singleText(request.query, "deleteEntireSession") ?? "true";
    await revokeToken(request.needs.store, token, wholeChain === "true", request.by);
    return deleted(token.id);
  },
} as const;

/** A user's new token, whose value stands in the answer and nowhere else, and a token's end. @source decisions.md 3; digest */
export const userTokenActions: readonly (Action | RowOperation)[] = [
  {
    method: "post",
    at: "users/{userId}/tokens",
    doc: "Makes a token; its value is told here and never again.",
    answers: { kind: "row", resource: userTokens, with: { token: text("The token's value.", { required: true }) } },
    accepts: { name, expires },
    async handle(request) {
      const user = visibleRow(request, users, request.params.userId ?? "");
      const { row, token } = await createToken(request.needs.store, user.id, request.body, request.by);
      return withMembers(await request.show(userTokens, row), { token });
    },
  },
  { ...revocation, at: "users/{userId}/tokens/{tokenId}", query: WHOLE },
  {
    ...revocation,
    at: "users/{userId}/tokens",
    query: { ...GIVEN_ID, ...WHOLE },
    complete: (request) => withIdGiven("tokenId", request),
  },
];

function findToken({ params, needs }: Pick<ApiRequest, "params" | "needs">, scope: Scope): UserToken | null {
  const token = needs.store.get(userTokens, params.tokenId ?? "", scope);
  return token?.userId === params.userId ? token : null;
}

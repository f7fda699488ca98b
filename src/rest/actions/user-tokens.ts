import { createToken } from "../../access/tokens.ts";
import userTokens from "../../resources/people/user-tokens.ts";
import users from "../../resources/people/users.ts";
import { type Action, visibleRow } from "../action.ts";
import { withMembers } from "./answer-members.ts";

const { name, expires } = userTokens.fields;

/** A user's new token; the answer is the only place where its value ever stands. @source decisions.md 3 */
export const userTokenActions: readonly Action[] = [
  {
    method: "post",
    at: "users/{userId}/tokens",
    accepts: { name, expires },
    async handle(request) {
      const user = visibleRow(request, users, request.params.userId ?? "");
      const { row, token } = await createToken(request.needs.store, user.id, request.body, request.by);
      return withMembers(await request.show(userTokens, row), { token });
    },
  },
];

import scimTokens from "../../resources/security/scim-tokens.ts";
import { computed, integer, text, timestamp } from "../../schema/field.ts";
import { createScimToken } from "../../scim/tokens.ts";
import { type Action, jsonResponse } from "../action.ts";
import { addMembers } from "./add-members.ts";

const { name, expires, homeDomainId } = scimTokens.fields;

const STATUS = {
  url: text("Where directories send their requests to.", { required: true }),
  users: integer("Users that are provisioned.", { required: true }),
  groups: integer("Groups that are provisioned or made by hand.", { required: true }),
  lastRequests: computed("Last requests of this run, newest first; at most 100.", "array", {
    of: {
      at: timestamp("When it came in.", { required: true }),
      directory: text("Name of the token; null for one that is not good."),
      method: text("Its method.", { required: true }),
      path: text("Its path below the address.", { required: true }),
      status: integer("What it was answered with.", { required: true }),
      detail: text("Why it was refused; null when it was not."),
    },
  }),
};

/** Tokens of directories that provision users, whose values stand in one answer alone, and how provisioning goes. own choice */
export const scimActions: readonly Action[] = [
  {
    method: "post",
    at: "scim-tokens",
    doc: "Makes a directory's token for provisioning; its value is told here and never again.",
    response: { kind: "row", resource: scimTokens, with: { token: text("The token's value.", { required: true }) } },
    accepts: { name, expires, homeDomainId },
    async handle(request) {
      const { row, token } = await createScimToken(request.needs.store, request.body, request.by);
      return addMembers(await request.respondWithRow(scimTokens, row), { token });
    },
  },
  {
    method: "get",
    at: "scim-status",
    doc: "Shows how directories provision users: where, how many, and what they asked last.",
    response: { kind: "members", fields: STATUS },
    async handle({ needs: { scim } }) {
      const lastRequests = scim.log
        .newestFirst()
        .map((request) => ({ ...request, at: new Date(request.at).toISOString() }));
      return jsonResponse({ url: scim.baseUrl(), ...scim.counts(), lastRequests });
    },
  },
];

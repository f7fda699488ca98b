import scimTokens from "../../resources/security/scim-tokens.ts";
import { computed, integer, text, timestamp } from "../../schema/field.ts";
import { createScimToken } from "../../scim/tokens.ts";
import { type Action, jsonResponse } from "../action.ts";
import { addMembers } from "./add-members.ts";

const { name, expires, homeDomainId } = scimTokens.fields;

const STATUS = {
  url: text("SCIM base URL.", { required: true }),
  users: integer("Number of provisioned users.", { required: true }),
  groups: integer("Number of groups, provisioned or created manually.", { required: true }),
  lastRequests: computed("Last requests since the start, newest first; at most 100.", "array", {
    of: {
      at: timestamp("Time of the request.", { required: true }),
      directory: text("Name of the token; null for an invalid token."),
      method: text("HTTP method.", { required: true }),
      path: text("Path below the base URL.", { required: true }),
      status: integer("HTTP status of the response.", { required: true }),
      detail: text("Reason of the refusal; null otherwise."),
    },
  }),
};

/** SCIM tokens, whose values are returned only on creation, and the state of provisioning. */
export const scimActions: readonly Action[] = [
  {
    method: "post",
    at: "scim-tokens",
    doc: "Creates a SCIM token of a directory. The value is returned only here.",
    response: { kind: "row", resource: scimTokens, with: { token: text("Value of the token.", { required: true }) } },
    accepts: { name, expires, homeDomainId },
    async handle(request) {
      const { row, token } = await createScimToken(request.deps.store, request.body, request.by);
      return addMembers(await request.respondWithRow(scimTokens, row), { token });
    },
  },
  {
    method: "get",
    at: "scim-status",
    doc: "Returns the state of SCIM provisioning: base URL, counts and last requests.",
    response: { kind: "members", fields: STATUS },
    async handle({ deps: { scim } }) {
      const lastRequests = scim.log
        .newestFirst()
        .map((request) => ({ ...request, at: new Date(request.at).toISOString() }));
      return jsonResponse({ url: scim.baseUrl(), ...scim.counts(), lastRequests });
    },
  },
];

import { type IdentityProvider, identityProviders, shownProvider } from "../../access/identity-providers.ts";
import { notFound } from "../../base/errors.ts";
import { boolean, list, option, text, uuid } from "../../schema/field.ts";
import { type Action, json } from "../action.ts";

const PROVIDER = {
  id: uuid("Its id; the audience of client credentials.", { required: true }),
  name: text("Its name.", { required: true }),
  type: option("built-in: passwords are kept here.", ["built-in"], { required: true }),
  isDefault: boolean("Asked for users of whom nobody knows whose they are.", { required: true }),
  enabled: boolean("Whether users may log in by it.", { required: true }),
  selfRegistrationEnabled: boolean("Whether it makes users of people who come by themselves.", { required: true }),
  permissions: list("What may be done with it.", option("Method.", ["get"]), { required: true }),
};
const LIST = {
  type: "object",
  required: ["total", "partial", "previous", "next", "data"],
  properties: {
    total: { type: "integer" },
    partial: { const: false },
    previous: { type: "null" },
    next: { type: "null" },
    data: { type: "array", items: { type: "object" } },
  },
};

/**
 * Who vouches for users, to be read by every user. @source digest, `providerIdp` of users
 *
 * own choice: few, so all of them in one page.
 */
export const identityProviderActions: readonly Action[] = [
  {
    method: "get",
    at: "identity-providers",
    doc: "Lists who vouches for users.",
    answers: { kind: "json", schema: LIST },
    permission: "anyone",
    async handle({ needs }) {
      const data = identityProviders(needs.store, needs.access).map(representation);
      return json({ total: data.length, partial: false, previous: null, next: null, data });
    },
  },
  {
    method: "get",
    at: "identity-providers/{identityProviderId}",
    doc: "Shows one who vouches for users.",
    answers: { kind: "members", fields: PROVIDER },
    permission: "anyone",
    async handle({ needs, params }) {
      const all = identityProviders(needs.store, needs.access);
      const provider = all.find(({ id }) => id === params.identityProviderId);
      if (!provider) throw notFound();
      return json(representation(provider));
    },
  },
];

function representation(provider: IdentityProvider): object {
  return { ...shownProvider(provider), permissions: ["get"] };
}

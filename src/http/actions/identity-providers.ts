import identityProviders from "../../resources/security/identity-providers.ts";
import { boolean, computed, type Field, option, text } from "../../schema/field.ts";
import { PROVIDER_FINDINGS, type ProviderCheck } from "../../sso/provider.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";

const CHECK = {
  what: option(
    "What was tried: address and bind (a directory lets itself be asked), users and groups in it; discovery and keys of an OpenID provider; certificate of a SAML provider; page: where people log in.",
    ["address", "discovery", "keys", "bind", "users", "groups", "certificate", "page"],
    { required: true },
  ),
  ok: boolean("It works.", { required: true }),
  code: option("What was found, for pages in other languages; failed: `words` say why.", PROVIDER_FINDINGS, {
    required: true,
  }),
  value: text("The one name, address, number or date in it; null where there is none.", { max: 10_000 }),
  words: text("What was found, or what is wrong and what to do.", { required: true, max: 10_000 }),
} satisfies Record<keyof ProviderCheck, Field>;

/** What identity providers do beyond being rows. own choice: the paths */
export const identityProviderActions: readonly Action[] = [
  {
    method: "post",
    at: "identity-providers/{identityProviderId}/connection-test",
    doc: "Tries everything that a log-in by the provider needs, and says what is wrong; changes nothing.",
    response: {
      kind: "members",
      fields: {
        ok: boolean("Everything works.", { required: true }),
        checks: computed("What was tried, in order; what can't be tried after a failure is not.", "array", {
          of: CHECK,
        }),
      },
    },
    async handle(request) {
      const row = requireVisibleRow(request, identityProviders, request.params.identityProviderId ?? "");
      const checks = await request.needs.identity.test(row);
      return jsonResponse({ ok: checks.every(({ ok }) => ok), checks });
    },
  },
  {
    method: "post",
    at: "identity-providers/{identityProviderId}/sync",
    doc: "Brings users and their groups in line with the directory now; `lastSyncResult` says what came of it.",
    accepts: {
      anyway: boolean("Also where it takes out more people than is done without somebody's word.", { default: false }),
    },
    response: { kind: "row", resource: identityProviders },
    async handle(request) {
      const row = requireVisibleRow(request, identityProviders, request.params.identityProviderId ?? "");
      await request.needs.identity.sync(row, request.body.anyway === true);
      return request.respondWithRow(identityProviders, requireVisibleRow(request, identityProviders, row.id));
    },
  },
];

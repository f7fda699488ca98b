import identityProviders from "../../resources/security/identity-providers.ts";
import { sentenceField } from "../../resources/sentence-field.ts";
import { boolean, computed, type Field, option, text } from "../../schema/field.ts";
import { PROVIDER_FINDINGS, type ProviderCheck } from "../../sso/provider.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { addSentences } from "../sentence-members.ts";

const CHECK = {
  what: option(
    "Check: address, bind, users and groups of an LDAP directory; discovery and keys of an OpenID provider; certificate of a SAML provider; page: the login page.",
    ["address", "discovery", "keys", "bind", "users", "groups", "certificate", "page"],
    { required: true },
  ),
  ok: boolean("The check passed.", { required: true }),
  code: option("Result code, for translations; failed: `words` contains the reason.", PROVIDER_FINDINGS, {
    required: true,
  }),
  value: text("Name, address, number or date of the result; null without one.", { max: 10_000 }),
  words: text("Result, or the problem and its solution.", { required: true, max: 10_000 }),
  wordsSentence: sentenceField("Result", "words"),
} satisfies Record<keyof ProviderCheck | "wordsSentence", Field>;
const TEST_RESULT = {
  ok: boolean("All checks passed.", { required: true }),
  checks: computed("Checks in order; checks that depend on a failed one are skipped.", "array", { of: CHECK }),
};

/** Connection test and directory sync of identity providers. */
export const identityProviderActions: readonly Action[] = [
  {
    method: "post",
    at: "identity-providers/{identityProviderId}/connection-test",
    doc: "Tests everything needed for a login with the provider; changes nothing.",
    response: {
      kind: "members",
      fields: TEST_RESULT,
    },
    async handle(request) {
      const row = requireVisibleRow(request, identityProviders, request.params.identityProviderId ?? "");
      const checks = await request.deps.identity.test(row);
      const result = { ok: checks.every(({ ok }) => ok), checks };
      return jsonResponse(addSentences(TEST_RESULT, result, request.deps.plugins.sentences));
    },
  },
  {
    method: "post",
    at: "identity-providers/{identityProviderId}/sync",
    doc: "Synchronises users and their groups with the directory now; `lastSyncResult` contains the result.",
    accepts: {
      anyway: boolean("Confirms a sync that exceeds the removal threshold.", { default: false }),
    },
    response: { kind: "row", resource: identityProviders },
    async handle(request) {
      const row = requireVisibleRow(request, identityProviders, request.params.identityProviderId ?? "");
      await request.deps.identity.sync(row, request.body.anyway === true);
      return request.respondWithRow(identityProviders, requireVisibleRow(request, identityProviders, row.id));
    },
  },
];

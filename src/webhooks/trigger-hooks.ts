import { X509Certificate } from "node:crypto";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { assertHostAllowed, type SsrfGuard } from "../lib/ssrf-guard.ts";
import { isPathPattern } from "../permissions/grants.ts";
import type triggers from "../resources/webhooks/triggers.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks } from "../store/store.ts";
import { resourcesMatching } from "./webhook-events.ts";
import { newestAuditNumber } from "./webhook-message.ts";
import { generateWebhookSecret, isWebhookSecret } from "./webhook-signature.ts";

type Trigger = RowOf<typeof triggers>;

/** Dependencies of the trigger hooks. */
export interface TriggerHooksDeps {
  catalogue: Catalogue;
  policy: SsrfGuard;
}

/**
 * Validation and ownership of triggers. The user who creates a trigger or changes its spec or URL becomes its owner,
 * so that no receiver gets data that only another user may see.
 */
export function triggerHooks({ catalogue, policy }: TriggerHooksDeps): ResourceHooks<typeof triggers> {
  return {
    async prepare(input, op) {
      if (op === "create") input.secret ??= generateWebhookSecret();
      if (typeof input.secret === "string" && op === "create" && !isWebhookSecret(input.secret))
        throw invalidValue("secret", sentence("field.must-be-whsec-followed-by-24-to-64-bytes-in-base64"));
      if (typeof input.url === "string") await assertUrlAllowed(input.url, policy);
      if (typeof input.certificateAuthority !== "string") return;
      // Forms send line ends as CRLF.
      input.certificateAuthority = input.certificateAuthority.replaceAll("\r\n", "\n");
      if (!isCertificates(input.certificateAuthority as string))
        throw invalidValue("certificateAuthority", sentence("field.must-be-one-or-more-certificates-in-pem-form"));
    },
    beforeWrite({ before, after, given }, tx, by) {
      if (!after) return;
      if (before?.spec !== after.spec) assertSpec(after.spec, catalogue);
      if (before === null) after.position = newestAuditNumber(tx);
      if (before?.spec !== after.spec || before.url !== after.url) Object.assign(after, ownerOf(by));
      if (given.has("disabled") && !after.disabled) Object.assign(after, { disabledReason: null, failingSince: null });
    },
    afterWrite({ before, after }, tx) {
      const isTriedAgain = before && after && (before.url !== after.url || (before.disabled && !after.disabled));
      if (!isTriedAgain) return;
      const sql = "UPDATE trigger_deliveries SET next_attempt_at = NULL WHERE trigger_pk = ? AND state = 'pending'";
      tx.run(sql, after.pk);
    },
  };
}

function isCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.length > 0 && blocks.every((block) => new X509Certificate(block).subject !== null);
  } catch {
    return false;
  }
}

function ownerOf({ actor, scope }: ActorContext): Pick<Trigger, "ownerId" | "actingDomainId"> {
  return { ownerId: actor.userId, actingDomainId: scope.domainId };
}

function assertSpec(spec: string, catalogue: Catalogue): void {
  if (!isPathPattern(spec)) throw invalidValue("spec", sentence("field.must-be-a-path-such-as-users-or-users-devices"));
  if (resourcesMatching(spec, catalogue).length === 0)
    throw invalidValue("spec", sentence("field.must-match-a-resource-whose-changes-are-published"));
}

/**
 * Checks a webhook URL. IP addresses are checked immediately, host names at each call, because their resolution
 * changes.
 */
export async function assertUrlAllowed(url: string, policy: SsrfGuard): Promise<void> {
  if (!URL.canParse(url)) return;
  const { hostname, username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw invalidValue("url", sentence("field.must-not-contain-a-user-name-or-password"));
  await assertHostAllowed("url", hostname, policy);
}

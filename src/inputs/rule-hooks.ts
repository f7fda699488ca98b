import { requiredValue } from "../lib/errors.ts";
import type callAwareCallRedirects from "../resources/inputs/call-aware-call-redirects.ts";
import type callAwareRoutingRequests from "../resources/inputs/call-aware-routing-requests.ts";
import type dialcastDialingConfigurations from "../resources/inputs/dialcast-dialing-configurations.ts";
import type m2mInputs from "../resources/inputs/m2m-inputs.ts";
import type { ResourceHooks, StoreReader } from "../store/store.ts";
import { validateNumberPattern } from "./number-patterns.ts";

/** The number pattern must be valid. */
export const callRedirectHooks: ResourceHooks<typeof callAwareCallRedirects> = {
  beforeWrite: ({ after }) => after && validateNumberPattern("numberPattern", after.numberPattern),
};

/** The number pattern must be valid. */
export const routingRequestHooks: ResourceHooks<typeof callAwareRoutingRequests> = {
  beforeWrite: ({ after }) => after && validateNumberPattern("numberPattern", after.numberPattern),
};

/** Serializes when an input last started something. */
export const m2mInputHooks: ResourceHooks<typeof m2mInputs> = {
  afterWrite({ before, after }, tx) {
    if (before && !after) tx.run("DELETE FROM input_rule_starts WHERE rule = ?", before.id);
  },
  present(rows, { reader }) {
    const starts = lastStartTimes(
      rows.map(({ id }) => id),
      reader,
    );
    return rows.map(({ id }) => {
      const at = starts.get(id);
      return { lastStartedAt: at === undefined ? null : new Date(at).toISOString() };
    });
  },
};

/** Validates the scenarios. */
export const dialingConfigurationHooks: ResourceHooks<typeof dialcastDialingConfigurations> = {
  beforeWrite({ after }) {
    if (!after) return;
    validateNumberPattern("dialingPatternRegex", after.dialingPatternRegex);
    if (after.type === "ACTIONS_WITH_FALLBACK_NOTIFICATION" && !after.scenarioIds?.length)
      throw requiredValue("scenarioIds");
  },
  present: (rows) => rows.map(({ pin }) => ({ authenticationEnabled: pin !== null })),
};

function lastStartTimes(ids: readonly string[], reader: StoreReader): Map<string, number> {
  const rows = reader.all<{ rule: string; at: number }>(
    "SELECT rule, at FROM input_rule_starts WHERE rule IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  );
  return new Map(rows.map(({ rule, at }) => [rule, at]));
}

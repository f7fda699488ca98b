import type { Clock, Timer } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { verifySignedDocument } from "../lib/signed-document.ts";
import type { Store } from "../store/store.ts";
import { readOperationState, writeOperationState } from "./operation-state.ts";

/** Types that a licence can limit. */
export const LICENSED_TYPES = ["users", "phones", "speakers", "idns", "plugins"] as const;

export type LicensedType = (typeof LICENSED_TYPES)[number];

/** Content of a licence; types without a limit are unlimited. */
export interface LicenceGrant {
  id: string;
  holder: string;
  /** ISO 8601; null: no expiry. */
  expiresAt: string | null;
  limits: Partial<Record<LicensedType, number>>;
}

/** Licence state of the appliance. */
export interface LicenceState {
  /** `community`: no licence installed, everything is unlimited. */
  edition: "community" | "licensed";
  isValid: boolean;
  licence: LicenceGrant | null;
  /** Current use and limit per type; null: unlimited. */
  counts: { kind: LicensedType; used: number; limit: number | null }[];
  /** Violations of the licence, as text. */
  violations: { code: string; reason: string }[];
}

/** The licence of the appliance. Violations are reported; emergency messages are sent to unlicensed devices nevertheless. */
export interface Licence {
  state(): LicenceState;
  /** True without violations at the last check, at most a minute ago. */
  isValid(): boolean;
  /** Installs a signed licence. Throws CallerError for an invalid one and keeps the previous one. */
  install(document: string): Promise<LicenceState>;
  /** Removes the licence: community edition. */
  remove(): Promise<LicenceState>;
  start(): void;
  stop(): void;
}

export interface LicenceDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  /** Public keys of trusted issuers. */
  keys: readonly string[];
}

const STATE_KEY = "licence";
/** Violations are not urgent. */
const CHECK_INTERVAL_MS = 60_000;

const COUNTS_SQL = `SELECT type AS kind, COUNT(*) AS used FROM devices WHERE defunct IS NOT 1 AND is_licensed IS NOT 0 GROUP BY type
  UNION ALL SELECT 'users', COUNT(*) FROM users WHERE COALESCE(type, 'regular') = 'regular'`;

/** Reports nothing before `start`. */
export function createLicence({ store, clock, events, log, keys }: LicenceDeps): Licence {
  let reportedCodes = new Set<string>();
  let timer: Timer | null = null;

  function currentGrant(): LicenceGrant | null {
    const document = readOperationState<string>(store, STATE_KEY);
    if (document === null) return null;
    try {
      return parseGrant(verifySignedDocument(document, keys, "licence"));
    } catch (error) {
      log.warn({ event: "licence.invalid", err: error }, "the installed licence is no longer valid");
      return null;
    }
  }

  function state(): LicenceState {
    const licence = currentGrant();
    const used = new Map(store.all<{ kind: string; used: number }>(COUNTS_SQL).map((line) => [line.kind, line.used]));
    const counts = LICENSED_TYPES.map((kind) => ({
      ...{ kind, used: used.get(kind) ?? 0 },
      limit: licence?.limits[kind] ?? null,
    }));
    const violations = licence ? violationsOf(licence, counts, clock.now()) : [];
    return {
      edition: licence ? "licensed" : "community",
      isValid: violations.length === 0,
      licence,
      counts,
      violations,
    };
  }

  /** Reports new and resolved violations to the alarms. The first check resolves those of an earlier run, too. */
  function checkViolations(): void {
    // Without a licence there are no limits.
    const violations = currentGrant() ? state().violations : [];
    const current = new Map(violations.map(({ code, reason }) => [code, reason]));
    for (const code of new Set([...VIOLATION_CODES, ...reportedCodes])) {
      const reason = current.get(code) ?? null;
      if (reason !== null || reportedCodes.has(code) || timer === null)
        events.emit("fault.changed", { alarm: "license_violation", code, endpointId: null, reason });
    }
    reportedCodes = new Set(current.keys());
  }

  return {
    state,
    isValid: () => reportedCodes.size === 0,
    async install(document) {
      parseGrant(verifySignedDocument(document, keys, "licence"));
      await store.write((tx) => writeOperationState(tx, STATE_KEY, document));
      checkViolations();
      return state();
    },
    async remove() {
      await store.write((tx) => writeOperationState(tx, STATE_KEY, null));
      checkViolations();
      return state();
    },
    start() {
      checkViolations();
      timer = clock.every(CHECK_INTERVAL_MS, checkViolations);
    },
    stop: () => timer?.cancel(),
  };
}

const VIOLATION_CODES: readonly string[] = ["licence:expired", ...LICENSED_TYPES.map((kind) => `licence:${kind}`)];

function violationsOf(
  { expiresAt }: LicenceGrant,
  counts: LicenceState["counts"],
  now: number,
): LicenceState["violations"] {
  const over = counts.flatMap(({ kind, used, limit }) =>
    limit === null || used <= limit
      ? []
      : [{ code: `licence:${kind}`, reason: sentence("licence.over", { used, kind, limit }) }],
  );
  if (expiresAt === null || Date.parse(expiresAt) > now) return over;
  return [{ code: "licence:expired", reason: sentence("licence.expired", { date: expiresAt.slice(0, 10) }) }, ...over];
}

/** Parses a verified licence. Throws CallerError that names the invalid field. */
function parseGrant(value: unknown): LicenceGrant {
  const invalidError = (field: string): CallerError =>
    new CallerError("invalid-value", sentence("error.the-licence-is-invalid-field", { field }));
  if (typeof value !== "object" || value === null) throw invalidError("content");
  const { id, holder, expiresAt = null, limits = {} } = value as Record<string, unknown>;
  if (typeof id !== "string" || id === "") throw invalidError("id");
  if (typeof holder !== "string" || holder === "") throw invalidError("holder");
  if (expiresAt !== null && (typeof expiresAt !== "string" || Number.isNaN(Date.parse(expiresAt))))
    throw invalidError("expiresAt");
  if (typeof limits !== "object" || limits === null) throw invalidError("limits");
  for (const [kind, limit] of Object.entries(limits)) {
    if (!(LICENSED_TYPES as readonly string[]).includes(kind)) throw invalidError(`limit of ${kind}`);
    if (!Number.isInteger(limit) || (limit as number) < 0) throw invalidError(`limit of ${kind}`);
  }
  return { id, holder, expiresAt: expiresAt as string | null, limits: limits as LicenceGrant["limits"] };
}

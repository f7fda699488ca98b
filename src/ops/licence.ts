import type { Clock, Timer } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { verifySignedDocument } from "../lib/signed-document.ts";
import type { Store } from "../store/store.ts";
import { readOperationState, writeOperationState } from "./operation-state.ts";

/** What is counted. */
export const LICENSED_TYPES = ["users", "phones", "speakers", "idns", "plugins"] as const;

/** One of them. */
export type LicensedType = (typeof LICENSED_TYPES)[number];

/** What a licence document grants; a kind that is not named is unlimited. */
export interface LicenceGrant {
  id: string;
  holder: string;
  /** ISO 8601; null = for ever. */
  expiresAt: string | null;
  limits: Partial<Record<LicensedType, number>>;
}

/** How the appliance stands to its licence. */
export interface LicenceState {
  /** `community`: there is no document and everything is unlimited. */
  edition: "community" | "licensed";
  isValid: boolean;
  licence: LicenceGrant | null;
  /** What is in use, and how much of it may be; null = any number. */
  counts: { kind: LicensedType; used: number; limit: number | null }[];
  /** What the licence does not cover, in words. */
  violations: { code: string; reason: string }[];
}

/** The licence of the appliance. A violation is told; it never keeps a message from anybody. */
export interface Licence {
  state(): LicenceState;
  /** Whether all was covered when it was last looked at: within a minute. */
  isValid(): boolean;
  /** Takes a signed document. Throws CallerError for one that is not good; the one before stays then. */
  install(document: string): Promise<LicenceState>;
  /** Back to the community's. */
  remove(): Promise<LicenceState>;
  start(): void;
  stop(): void;
}

/** What it is made of. */
export interface LicenceDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  /** Public keys of those whose documents count. */
  keys: readonly string[];
}

const STATE_KEY = "licence";
/** own choice: devices come and go, and nothing is held up by it */
const CHECK_INTERVAL_MS = 60_000;

const COUNTS_SQL = `SELECT type AS kind, COUNT(*) AS used FROM devices WHERE defunct IS NOT 1 AND is_licensed IS NOT 0 GROUP BY type
  UNION ALL SELECT 'users', COUNT(*) FROM users WHERE COALESCE(type, 'regular') = 'regular'`;

/** Makes it; nothing is told before `start`. */
export function createLicence({ store, clock, events, log, keys }: LicenceDeps): Licence {
  let reportedCodes = new Set<string>();
  let timer: Timer | null = null;

  function currentGrant(): LicenceGrant | null {
    const document = readOperationState<string>(store, STATE_KEY);
    if (document === null) return null;
    try {
      return parseGrant(verifySignedDocument(document, keys));
    } catch (error) {
      log.warn({ err: error }, "the licence document is no longer good");
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

  /** Tells alarms what began and what ended; they keep what was told, so what an earlier run told is told away too. */
  function checkViolations(): void {
    // Without a document nothing can be too much.
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
      parseGrant(verifySignedDocument(document, keys));
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
      : [{ code: `licence:${kind}`, reason: `${used} ${kind} are in use; the licence covers ${limit}.` }],
  );
  if (expiresAt === null || Date.parse(expiresAt) > now) return over;
  return [{ code: "licence:expired", reason: `The licence expired on ${expiresAt.slice(0, 10)}.` }, ...over];
}

/** Reads what was signed. Throws CallerError naming what is wrong. */
function parseGrant(value: unknown): LicenceGrant {
  const refused = (what: string): CallerError =>
    new CallerError("invalid-value", `The licence's ${what} is not valid.`);
  if (typeof value !== "object" || value === null) throw refused("content");
  const { id, holder, expiresAt = null, limits = {} } = value as Record<string, unknown>;
  if (typeof id !== "string" || id === "") throw refused("id");
  if (typeof holder !== "string" || holder === "") throw refused("holder");
  if (expiresAt !== null && (typeof expiresAt !== "string" || Number.isNaN(Date.parse(expiresAt))))
    throw refused("expiresAt");
  if (typeof limits !== "object" || limits === null) throw refused("limits");
  for (const [kind, limit] of Object.entries(limits)) {
    if (!(LICENSED_TYPES as readonly string[]).includes(kind)) throw refused(`limit of ${kind}`);
    if (!Number.isInteger(limit) || (limit as number) < 0) throw refused(`limit of ${kind}`);
  }
  return { id, holder, expiresAt: expiresAt as string | null, limits: limits as LicenceGrant["limits"] };
}

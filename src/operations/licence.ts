import type { Clock, Timer } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import { readSigned } from "../base/signed-document.ts";
import type { Store } from "../store/store.ts";
import { readMark, writeMark } from "./marks.ts";

/** What is counted. */
export const LICENSED_KINDS = ["users", "phones", "speakers", "idns", "plugins"] as const;

/** One of them. */
export type LicensedKind = (typeof LICENSED_KINDS)[number];

/** What a licence document grants; a kind that is not named is unlimited. */
export interface LicenceGrant {
  id: string;
  holder: string;
  /** ISO 8601; null = for ever. */
  expiresAt: string | null;
  limits: Partial<Record<LicensedKind, number>>;
}

/** How the appliance stands to its licence. */
export interface LicenceState {
  /** `community`: there is no document and everything is unlimited. */
  edition: "community" | "licensed";
  isValid: boolean;
  licence: LicenceGrant | null;
  /** What is in use, and how much of it may be; null = any number. */
  counts: { kind: LicensedKind; used: number; limit: number | null }[];
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
export interface LicenceNeeds {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  /** Public keys of those whose documents count. */
  keys: readonly string[];
}

const MARK = "licence";
/** own choice: devices come and go, and nothing is held up by it */
const LOOK_EVERY_MS = 60_000;

const COUNTS = `SELECT type AS kind, COUNT(*) AS used FROM devices WHERE defunct IS NOT 1 AND is_licensed IS NOT 0 GROUP BY type
  UNION ALL SELECT 'users', COUNT(*) FROM users WHERE COALESCE(type, 'regular') = 'regular'`;

/** Makes it; nothing is told before `start`. */
export function createLicence({ store, clock, events, log, keys }: LicenceNeeds): Licence {
  let told = new Set<string>();
  let timer: Timer | null = null;

  function grant(): LicenceGrant | null {
    const document = readMark<string>(store, MARK);
    if (document === null) return null;
    try {
      return parseGrant(readSigned(document, keys));
    } catch (error) {
      log.warn({ err: error }, "the licence document is no longer good");
      return null;
    }
  }

  function state(): LicenceState {
    const licence = grant();
    const used = new Map(store.all<{ kind: string; used: number }>(COUNTS).map((line) => [line.kind, line.used]));
    const counts = LICENSED_KINDS.map((kind) => ({
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
  function look(): void {
    // Without a document nothing can be too much.
    const violations = grant() ? state().violations : [];
    const current = new Map(violations.map(({ code, reason }) => [code, reason]));
    for (const code of new Set([...CODES, ...told])) {
      const reason = current.get(code) ?? null;
      if (reason !== null || told.has(code) || timer === null)
        events.emit("fault.changed", { alarm: "license_violation", code, endpointId: null, reason });
    }
    told = new Set(current.keys());
  }

  return {
    state,
    isValid: () => told.size === 0,
    async install(document) {
      parseGrant(readSigned(document, keys));
      await store.write((tx) => writeMark(tx, MARK, document));
      look();
      return state();
    },
    async remove() {
      await store.write((tx) => writeMark(tx, MARK, null));
      look();
      return state();
    },
    start() {
      look();
      timer = clock.every(LOOK_EVERY_MS, look);
    },
    stop: () => timer?.cancel(),
  };
}

const CODES: readonly string[] = ["licence:expired", ...LICENSED_KINDS.map((kind) => `licence:${kind}`)];

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
    if (!(LICENSED_KINDS as readonly string[]).includes(kind)) throw refused(`limit of ${kind}`);
    if (!Number.isInteger(limit) || (limit as number) < 0) throw refused(`limit of ${kind}`);
  }
  return { id, holder, expiresAt: expiresAt as string | null, limits: limits as LicenceGrant["limits"] };
}

import type { Principal } from "../auth/principal.ts";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Method } from "../schema/resource.ts";

/** A change of a console session, as far as it decides whether a confirmation is needed. */
interface ConfirmedChange {
  method: Method;
  /** Path pattern: `users/{userId}/tokens`. */
  at: string;
  permission: string | undefined;
  body: Readonly<Record<string, unknown>>;
  params: Readonly<Record<string, string>>;
  principal: Principal;
}

/** Reason of the refusal, by which the console asks who is there and repeats the request. */
const CONFIRMATION_REQUIRED = "confirmation-required";

/**
 * Throws CallerError forbidden for a change of whom the appliance trusts, if the user of the console session has not
 * proved to be there for `minutes`; null: no limit. Tokens were created in a session that could. What sends messages is never
 * asked for. @source docs/decisions/0470-confirmation-of-dangerous-changes.md
 */
export function assertConfirmed(change: ConfirmedChange, minutes: number | null, now: number): void {
  const { provenAt } = change.principal;
  if (minutes === null || provenAt === undefined || !changesTrust(change)) return;
  // A time in the future comes from a clock that was wrong.
  if (provenAt <= now && now - provenAt <= minutes * 60_000) return;
  const message = sentence("auth.confirm-that-it-is-you-with-post-session-confirmation-then");
  throw new CallerError("forbidden", message, [
    { field: null, type: "forbidden", message, reason: { code: CONFIRMATION_REQUIRED, params: {} } },
  ]);
}

/** Collections, at any place in a path, whose changes decide about rights, log-ins, secrets and their targets. */
const TRUSTED: ReadonlySet<string> = new Set([
  ...["security-groups", "user-permissions", "applications", "identity-providers", "scim-tokens", "tokens"],
  ...["extensions", "plugins", "callmgr-clusters", "second-factor-reset", "passkey-options"],
]);
/** Acts on them that change nothing of it. */
const HARMLESS: ReadonlySet<string> = new Set(["restart", "connection-test", "sync"]);

function changesTrust({ method, at, permission, body, params, principal }: ConfirmedChange): boolean {
  // The confirmation itself.
  if (method === "get" || at.startsWith("session/")) return false;
  if (permission === "super") return true;
  const segments = at.split("/");
  const last = segments.at(-1) ?? "";
  // To take something away from a thief must be quick.
  if (HARMLESS.has(last) || (method === "delete" && segments.includes("tokens"))) return false;
  if (segments.some((segment) => TRUSTED.has(segment))) return true;
  if (segments[0] !== "users") return false;
  // One's own needs the current password anyway.
  if (last === "password") return params.userId !== principal.userId;
  return body.breakGlass === true;
}

import { CallerError, UpstreamError } from "../lib/errors.ts";

/** Why a login through a provider was refused; the login page translates the code. */
export type LoginErrorCode =
  /** The provider cannot be reached or returned an error. */
  | "down"
  /** The provider or the user refused. */
  | "denied"
  /** The login was not started in this browser, or it timed out. */
  | "stale"
  /** The signature is missing or not valid. */
  | "signature"
  /** Expired or not yet valid; the clocks may differ. */
  | "expired"
  /** The response was already used. */
  | "replayed"
  /** The response is for another audience. */
  | "audience"
  /** The response is malformed. */
  | "answer"
  /** The provider authenticated the user in a weaker way, or longer ago, than is required. */
  | "strength"
  /** No account matches, and the provider may not create one. */
  | "no-account"
  /** The account is locked. */
  | "locked"
  /** The provider is disabled, or of another type. */
  | "off";

/** A refused login. The message goes to log and audit, so it must not contain data of the provider. */
export class LoginError extends CallerError {
  readonly code: LoginErrorCode;
  /** The account, if known. */
  readonly userId: string | null;

  constructor(code: LoginErrorCode, message: string, userId: string | null = null) {
    super("unauthorized", message);
    this.code = code;
    this.userId = userId;
  }
}

/** The first error in the chain of causes that matches `test`. */
export function findCause<E>(error: unknown, test: (each: unknown) => each is E): E | null {
  for (let each = error, depth = 0; each instanceof Error && depth < 8; each = each.cause, depth += 1) {
    if (test(each)) return each;
  }
  return null;
}

/** True for errors of DNS, TCP or TLS, and for timeouts. */
export function isConnectionError(error: unknown): error is Error {
  if (error instanceof UpstreamError) return true;
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" && /^(E[A-Z]+|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|ERR_TLS|OAUTH_TIMEOUT)/.test(code);
}

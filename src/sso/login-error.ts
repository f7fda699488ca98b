import { CallerError, UpstreamError } from "../lib/errors.ts";

/** Why somebody was not let in by a provider, in one word; pages say it in the words of their reader. */
export type LoginErrorCode =
  /** The provider can't be reached, or answers with a fault of its own. */
  | "down"
  /** The provider, or somebody there, said no. */
  | "denied"
  /** It was not begun in this browser, or too long ago. */
  | "stale"
  /** It is not signed by the provider. */
  | "signature"
  /** It was good once, or will be: the clocks may differ. */
  | "expired"
  /** It was used already. */
  | "replayed"
  /** It is meant for somebody else. */
  | "audience"
  /** The answer can't be understood. */
  | "answer"
  /** Nobody here is meant, and users are not made of strangers. */
  | "no-account"
  /** The account is locked. */
  | "locked"
  /** The provider is not enabled, or of another kind. */
  | "off";

/** Somebody was not let in. The message is for the log and the audit: it holds nothing of what the provider sent. */
export class LoginError extends CallerError {
  readonly code: LoginErrorCode;
  /** Whose account it is, where that is known. */
  readonly userId: string | null;

  constructor(code: LoginErrorCode, message: string, userId: string | null = null) {
    super("unauthorized", message);
    this.code = code;
    this.userId = userId;
  }
}

/** The first of an error and its causes for which `test` holds. */
export function findCause<E>(error: unknown, test: (each: unknown) => each is E): E | null {
  for (let each = error, depth = 0; each instanceof Error && depth < 8; each = each.cause, depth += 1) {
    if (test(each)) return each;
  }
  return null;
}

/** Whether somebody could not be reached, or broke the connection. */
export function isConnectionError(error: unknown): error is Error {
  if (error instanceof UpstreamError) return true;
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" && /^(E[A-Z]+|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|ERR_TLS|OAUTH_TIMEOUT)/.test(code);
}

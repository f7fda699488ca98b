import { CallerError, type ErrorType } from "../lib/errors.ts";

/** OAuth 2 error codes. @source RFC 6749 §4.1.2.1, §5.2 */
export type OAuthErrorCode =
  | "access_denied"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_request"
  | "invalid_scope"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type";

const ERROR_TYPES: Partial<Readonly<Record<OAuthErrorCode, ErrorType>>> = {
  invalid_client: "unauthorized",
  access_denied: "forbidden",
};

/** A refused OAuth 2 request. */
export class OAuthRequestError extends CallerError {
  readonly error: OAuthErrorCode;
  /** Redirect that reports the error; null when no redirect URI is trusted. */
  readonly location: string | null;

  constructor(error: OAuthErrorCode, message: string, location: string | null = null) {
    const type = ERROR_TYPES[error] ?? "invalid-value";
    super(type, message, [{ field: null, type, message }]);
    this.error = error;
    this.location = location;
  }
}

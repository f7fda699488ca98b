import { CallerError, type FaultType } from "../base/errors.ts";

/** What OAuth 2 calls the mistakes of clients. @source RFC 6749 §4.1.2.1, §5.2 */
export type OAuthError =
  | "access_denied"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_request"
  | "invalid_scope"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type";

const TYPES: Partial<Readonly<Record<OAuthError, FaultType>>> = {
  invalid_client: "unauthorized",
  access_denied: "forbidden",
};

/** A request of OAuth 2 that is refused; `error` is its name there. */
export class OAuthRefusal extends CallerError {
  readonly error: OAuthError;
  /** Where the browser is sent with the news; null when no address can be trusted with it. */
  readonly location: string | null;

  constructor(error: OAuthError, message: string, location: string | null = null) {
    const type = TYPES[error] ?? "invalid-value";
    super(type, message, [{ field: null, type, message }]);
    this.error = error;
    this.location = location;
  }
}

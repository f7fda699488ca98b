import { UpstreamError } from "../../lib/errors.ts";

/** Why a file could not be read by TFTP. */
export type TftpErrorCode = "dns" | "no-file" | "refused" | "timeout" | "too-large" | "answer" | "stopped";

/** A file could not be read by TFTP. `message` is for people. */
export class TftpError extends UpstreamError {
  readonly code: TftpErrorCode;

  constructor(code: TftpErrorCode, message: string, cause?: unknown) {
    super("upstream", message, { code }, cause);
    this.code = code;
  }
}

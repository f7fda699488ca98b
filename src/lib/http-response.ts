import type { Readable } from "node:stream";

/** A response that the HTTP server sends. */
export interface HttpResponse {
  /** Default 200. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** Values of Set-Cookie, where there are several. */
  cookies?: readonly string[];
  /** Content type of the body. Default `application/json`. */
  type?: string;
  /** A string is sent as it is; null sends no body. */
  body: string | Uint8Array | Readable | null;
}

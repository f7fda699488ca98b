import { createTransport, type SendMailOptions } from "nodemailer";
import type { SendResult } from "#plugin-api";
import { sentence } from "./sentences.ts";

export interface SmtpSettings {
  host: string;
  port: number;
  security: "starttls" | "tls" | "none";
  /** PEM; null for the system's CAs. */
  certificateAuthority: string | null;
  username: string | null;
  password: string | null;
  connections: number;
  /** DKIM signing; null for none. */
  dkim: { domainName: string; keySelector: string; privateKey: string } | null;
}

/** A pooled connection to the mail server. */
export interface SmtpClient {
  /** Never rejects. `accepted` is the most a mail server can prove: it will deliver the mail or bounce it. */
  send(mail: SendMailOptions): Promise<SendResult>;
  /** Tests connection and authentication. */
  verify(): Promise<SendResult>;
  close(): void;
}

const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 20_000;

/** Errors before the server received the mail. @source nodemailer documentation, error codes */
const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ECONNECTION: sentence("connection-failed"),
  ESOCKET: sentence("connection-failed"),
  EDNS: sentence("host-unknown"),
  ETIMEDOUT: sentence("timed-out"),
  ETLS: sentence("tls-failed"),
  EREQUIRETLS: sentence("requiretls"),
  EAUTH: sentence("auth-failed"),
  ENOAUTH: sentence("auth-required"),
  EPROTOCOL: sentence("protocol-error"),
};

/** Creates the client; it connects on demand. */
export function openSmtpClient(address: SmtpSettings): SmtpClient {
  const { host, port, security, certificateAuthority, username, password, connections, dkim } = address;
  const transport = createTransport({
    pool: true,
    maxConnections: connections,
    maxMessages: 1_000,
    host,
    port,
    secure: security === "tls",
    requireTLS: security === "starttls",
    ignoreTLS: security === "none",
    tls: { minVersion: "TLSv1.2", ...(certificateAuthority === null ? {} : { ca: certificateAuthority }) },
    ...(username === null ? {} : { auth: { user: username, pass: password ?? "" } }),
    ...(dkim === null ? {} : { dkim }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: RESPONSE_TIMEOUT_MS,
    disableUrlAccess: true,
  });
  const attempt = async (operation: () => Promise<unknown>): Promise<SendResult> => {
    try {
      await operation();
      return { taken: true, level: "accepted" };
    } catch (error) {
      return refusedResult(error, host);
    }
  };
  return {
    send: (mail) => attempt(() => transport.sendMail(mail)),
    verify: () => attempt(() => transport.verify()),
    close: () => transport.close(),
  };
}

interface SmtpError {
  code?: string;
  /** 4xx is transient, 5xx permanent. @source RFC 5321 §4.2.1 */
  responseCode?: number;
  response?: string;
  message: string;
}

function refusedResult(error: unknown, host: string): SendResult {
  const { code = "", responseCode, response, message } = error as SmtpError;
  const connectionError = CONNECTION_ERRORS[code];
  const detail = response ?? message;
  if (connectionError !== undefined) {
    return {
      taken: false,
      reason: sentence("server-failed", { host, problem: connectionError, detail }),
      retryable: true,
      down: true,
    };
  }
  const isPermanent = responseCode !== undefined && responseCode >= 500;
  return { taken: false, reason: sentence("refused", { detail }), retryable: !isPermanent, down: false };
}

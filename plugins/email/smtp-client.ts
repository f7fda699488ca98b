import { createTransport, type SendMailOptions } from "nodemailer";
import type { Clock, SendResult } from "#plugin-api";
import { sentence } from "./sentences.ts";

export interface SmtpSettings {
  /** At least one; the others are asked in this order while those before cannot be reached. */
  hosts: readonly string[];
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

/** Pooled connections to the mail servers. */
export interface SmtpClient {
  /** Never rejects. `accepted` is the most a mail server can prove: it will deliver the mail or bounce it. */
  send(mail: SendMailOptions): Promise<SendResult>;
  /** Tests connection and authentication. */
  verify(): Promise<SendResult>;
  close(): void;
}

const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 20_000;
/** While the first server is away, mails go to another one at once; after this time it is asked again. */
const PREFERENCE_MS = 60_000;

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
export function openSmtpClient(address: SmtpSettings, clock: Pick<Clock, "monotonicMs">): SmtpClient {
  const servers = address.hosts.map((host) => ({ host, transport: openTransport(host, address) }));
  let preferred = { index: 0, until: 0 };
  const attempt = async (operation: (transport: Transport) => Promise<unknown>): Promise<SendResult> => {
    const first = clock.monotonicMs() < preferred.until ? preferred.index : 0;
    const order = [...servers.slice(first), ...servers.slice(0, first)];
    let refused: SendResult | null = null;
    for (const { host, transport } of order) {
      const result = await operation(transport).then(
        (): SendResult => ({ taken: true, level: "accepted" }),
        (error: unknown) => refusedResult(error, host),
      );
      const isAway = !result.taken && result.down;
      if (!isAway) {
        const index = servers.findIndex((server) => server.host === host);
        // The time runs from the first mail that took the other way.
        if (index !== first) preferred = { index, until: clock.monotonicMs() + PREFERENCE_MS };
        return result;
      }
      refused ??= result;
    }
    return refused as SendResult;
  };
  return {
    send: (mail) => attempt((transport) => transport.sendMail(mail)),
    verify: () => attempt((transport) => transport.verify()),
    close: () => {
      for (const { transport } of servers) transport.close();
    },
  };
}

type Transport = ReturnType<typeof openTransport>;

function openTransport(host: string, settings: SmtpSettings) {
  const { port, security, certificateAuthority, username, password, connections, dkim } = settings;
  return createTransport({
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

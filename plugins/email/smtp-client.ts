import { createTransport, type SendMailOptions } from "nodemailer";
import type { SendResult } from "#plugin-api";

/** How the mail server is reached. */
export interface SmtpSettings {
  host: string;
  port: number;
  security: "starttls" | "tls" | "none";
  /** PEM; null for the system's authorities. */
  certificateAuthority: string | null;
  username: string | null;
  password: string | null;
  connections: number;
  /** Signs each mail; null for none. */
  dkim: { domainName: string; keySelector: string; privateKey: string } | null;
}

/** A mail server, with a few connections that are kept. */
export interface SmtpClient {
  /** Never rejects. `accepted` is the most that a mail server can prove: it will deliver the mail, or send it back. */
  send(mail: SendMailOptions): Promise<SendResult>;
  /** Whether it would take mails now. */
  verify(): Promise<SendResult>;
  close(): void;
}

const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 20_000;

/** Faults before the server has heard of a mail. @source nodemailer, error codes */
const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ECONNECTION: "it can't be reached, or broke off",
  ESOCKET: "it can't be reached, or broke off",
  EDNS: "its name is not known",
  ETIMEDOUT: "it did not answer in time",
  ETLS: "no encrypted connection could be made",
  EREQUIRETLS: "it does not take encrypted mails onwards",
  EAUTH: "it refused user name and password",
  ENOAUTH: "it asks for a user name and password",
  EPROTOCOL: "it refused the conversation",
};

/** Connects when there is something to send. */
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
  const attempt = async (work: () => Promise<unknown>): Promise<SendResult> => {
    try {
      await work();
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
  /** @source RFC 5321 §4.2.1: 4xx for now, 5xx for good */
  responseCode?: number;
  response?: string;
  message: string;
}

function refusedResult(error: unknown, host: string): SendResult {
  const { code = "", responseCode, response, message } = error as SmtpError;
  const words = CONNECTION_ERRORS[code];
  const said = response ?? message;
  if (words !== undefined) {
    return { taken: false, reason: `the mail server ${host}: ${words} (${said})`, retryable: true, down: true };
  }
  const isFinal = responseCode !== undefined && responseCode >= 500;
  return { taken: false, reason: `the mail server refused it: ${said}`, retryable: !isFinal, down: false };
}

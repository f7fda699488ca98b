import { type FetchMessageObject, ImapFlow } from "imapflow";
import { backoffMs, type Clock, sleep } from "#plugin-api";
import { sentence } from "./sentences.ts";
import { MAX_MAIL_BYTES, MailRejectedError } from "./smtp-server.ts";

/** A mailbox at a mail server. */
export interface MailboxSettings {
  host: string;
  port: number;
  /** `starttls` requires an upgrade to TLS, `tls` encrypts from the start. */
  security: "starttls" | "tls" | "none";
  /** PEM; null for the system's CAs. */
  certificateAuthority: string | null;
  username: string;
  password: string;
  /** Folder to read. */
  mailbox: string;
}

export interface MailboxDeps extends MailboxSettings {
  clock: Clock;
  signal: AbortSignal;
  /** Resolves when the mail's effects are stored. A `MailRejectedError` 550 refuses the mail, any other error delays it. */
  onMail(raw: Uint8Array): Promise<void>;
  /** State of the connection, with the reason of a failure. */
  onState(state: "up" | "down", reason: string): void;
}

/** A new mail comes with IDLE within a second; this finds connections that died, and serves servers without IDLE. */
const POLL_MS = 60_000;
const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 300_000;
const CONNECT_TIMEOUT_MS = 10_000;
const SILENCE_TIMEOUT_MS = 90_000;
/** Without commands for this long the server is asked to tell of new mail by itself. */
const IDLE_AFTER_MS = 200;
/** Older mails are left alone: they would be refused by their date. */
const LOOK_BACK_MS = 86_400_000;
/** A mail that still fails after this time, for reasons that don't lie in it, is refused: its date would be too old by now. */
const MAX_RETRY_SPAN_MS = 3_600_000;
const MAX_RESPONSE_BYTES = 4 * MAX_MAIL_BYTES;

/**
 * Reads unseen mails of a mailbox, oldest first, until the signal aborts; reconnects with backoff. A mail that was handled
 * is marked as seen, a refused one also as flagged, so that people find it; nothing is deleted.
 * @source RFC 9051; RFC 2177 (IDLE)
 */
export async function followMailbox(deps: MailboxDeps): Promise<void> {
  const { clock, signal, onState } = deps;
  const failedSince = new Map<number, number>();
  let failures = 0;
  while (!signal.aborted) {
    const client = createClient(deps);
    const close = (): void => client.close();
    signal.addEventListener("abort", close, { once: true });
    try {
      await client.connect();
      await client.mailboxOpen(deps.mailbox);
      failures = 0;
      onState("up", "");
      await readUntilClosed(client, deps, failedSince);
    } catch (error) {
      if (!signal.aborted) onState("down", connectionProblem(error, deps));
    } finally {
      signal.removeEventListener("abort", close);
      client.close();
    }
    failures++;
    await sleep(clock, backoffMs(failures, FIRST_RETRY_MS, MAX_RETRY_MS), signal).catch(() => undefined);
  }
}

function createClient({ host, port, security, certificateAuthority, username, password }: MailboxSettings): ImapFlow {
  const client = new ImapFlow({
    host,
    port,
    secure: security === "tls",
    ...(security === "tls" ? {} : { doSTARTTLS: security === "starttls" }),
    tls: { minVersion: "TLSv1.2", ...(certificateAuthority === null ? {} : { ca: certificateAuthority }) },
    auth: { user: username, pass: password },
    logger: false,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    autoIdleDelay: IDLE_AFTER_MS,
    maxLiteralSize: MAX_RESPONSE_BYTES,
    maxLineLength: MAX_RESPONSE_BYTES,
    maxResponseSize: 2 * MAX_RESPONSE_BYTES,
  });
  // An error also closes the connection, which ends reading.
  client.on("error", () => undefined);
  return client;
}

/** Rejects when the connection closes. */
async function readUntilClosed(client: ImapFlow, deps: MailboxDeps, failedSince: Map<number, number>): Promise<never> {
  let hasNews = true;
  let wake = (): void => {};
  let closed: Error | null = client.usable ? null : new Error(sentence("connection-closed"));
  client.on("exists", () => {
    hasNews = true;
    wake();
  });
  client.on("close", () => {
    closed ??= new Error(sentence("connection-closed"));
    wake();
  });
  for (;;) {
    if (closed) throw closed;
    hasNews = false;
    await readUnseen(client, deps, failedSince);
    if (hasNews) continue;
    await new Promise<void>((resolve) => {
      const timer = deps.clock.after(POLL_MS, resolve, { background: true });
      wake = () => {
        timer.cancel();
        resolve();
      };
      if (closed || hasNews) wake();
    });
  }
}

/** `failedSince`: when a mail was first delayed (monotonic ms), by UID. */
async function readUnseen(client: ImapFlow, deps: MailboxDeps, failedSince: Map<number, number>): Promise<void> {
  const oldest = new Date(deps.clock.now() - LOOK_BACK_MS);
  const found = await client.search({ seen: false, since: oldest }, { uid: true });
  const uids = (found || []).sort((one, other) => one - other);
  for (const known of failedSince.keys()) if (!uids.includes(known)) failedSince.delete(known);
  for (const uid of uids) {
    const message = await client.fetchOne(
      `${uid}`,
      { size: true, source: { start: 0, maxLength: MAX_MAIL_BYTES } },
      { uid: true },
    );
    // Another reader may have removed it.
    if (!message) continue;
    const verdict = await handle(message, deps);
    const now = deps.clock.monotonicMs();
    const since = failedSince.get(uid) ?? now;
    if (verdict === "later" && now - since < MAX_RETRY_SPAN_MS) {
      failedSince.set(uid, since);
      continue;
    }
    failedSince.delete(uid);
    const flags = verdict === "done" ? ["\\Seen"] : ["\\Seen", "\\Flagged"];
    await client.messageFlagsAdd(`${uid}`, flags, { uid: true });
  }
}

async function handle({ size = 0, source }: FetchMessageObject, { onMail }: MailboxDeps): Promise<MailVerdict> {
  if (size > MAX_MAIL_BYTES || !source) return "refused";
  try {
    await onMail(source);
    return "done";
  } catch (error) {
    return error instanceof MailRejectedError && error.responseCode === 550 ? "refused" : "later";
  }
}

type MailVerdict = "done" | "refused" | "later";

interface ImapError {
  message: string;
  code?: string;
  authenticationFailed?: boolean;
  /** What the server said. */
  responseText?: string;
}

function connectionProblem(error: unknown, { host, mailbox, username }: MailboxSettings): string {
  const { message, authenticationFailed, responseText } = error as ImapError;
  const detail = responseText ?? message;
  if (authenticationFailed) return sentence("log-in-refused", { host, user: username, detail });
  return sentence("mailbox-failed", { mailbox, host, detail });
}

import type { AddressInfo } from "node:net";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** A mail as its reader sees it, with the whole of what came. */
export interface ReadMail extends Email {
  raw: string;
  /** Who it was handed over for. */
  envelope: { from: string; to: string[] };
  /** What was asked about failure reports. */
  dsn: unknown;
}

/** A real mail server on loopback. */
export interface TestMailServer {
  readonly port: number;
  readonly mails: readonly ReadMail[];
  /** Resolves when that many mails came in all. */
  came(count: number): Promise<void>;
  close(): Promise<void>;
}

/** How it answers: by the recipient's address, with a code of SMTP, or never. */
export interface MailServerRules extends SMTPServerOptions {
  refuse?(address: string): { code: number; words: string } | "never" | null;
}

/** Starts a mail server, on a free port of loopback unless told, without TLS and log-in unless told. */
export async function openTestMailServer(
  { refuse, ...options }: MailServerRules = {},
  { host, port } = { host: "127.0.0.1", port: 0 },
): Promise<TestMailServer> {
  const mails: ReadMail[] = [];
  let waiting: (() => void)[] = [];
  const server = new SMTPServer({
    authOptional: true,
    ...(options.cert ? {} : { disabledCommands: ["STARTTLS"] }),
    closeTimeout: 1,
    ...options,
    onRcptTo({ address }, _session, done) {
      const refusal = refuse?.(address) ?? null;
      if (refusal === "never") return;
      if (refusal === null) return done();
      done(Object.assign(new Error(refusal.words), { responseCode: refusal.code }));
    },
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", async () => {
        const raw = Buffer.concat(parts);
        const { mailFrom, rcptTo } = envelope;
        const from = mailFrom ? mailFrom.address : "";
        const to = rcptTo.map(({ address }) => address);
        const { dsn } = envelope as { dsn?: unknown };
        mails.push({ ...(await PostalMime.parse(raw)), raw: raw.toString(), envelope: { from, to }, dsn });
        done();
        for (const look of [...waiting]) look();
      });
    },
  });
  // What a test cuts off is not its concern.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    came: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (mails.length < count) return;
          waiting = waiting.filter((each) => each !== look);
          resolve();
        };
        waiting.push(look);
        look();
      }),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

import { BlockList, isIP } from "node:net";
import { SMTPServer } from "smtp-server";

/** A received mail. */
export interface IncomingMail {
  raw: Uint8Array;
  /** Envelope sender; empty for bounces. */
  sender: string;
  recipients: string[];
}

/** A refused mail: permanently (550) or temporarily (451). */
export class MailRejectedError extends RangeError {
  readonly responseCode: 550 | 451;

  constructor(responseCode: 550 | 451, message: string) {
    super(message);
    this.responseCode = responseCode;
  }
}

export interface MailListenerDeps {
  listenAddress: string;
  port: number;
  relays: readonly string[];
  signal: AbortSignal;
  /** Whether a recipient is known; others are refused. */
  isKnown(recipient: string): boolean;
  /** Resolves when the mail's effects are stored; a rejection refuses the mail. */
  onMail(mail: IncomingMail): Promise<void>;
}

/** Longest mail, in bytes. */
export const MAX_MAIL_BYTES = 1_048_576;
const MAX_CLIENTS = 20;
const MAX_RECIPIENTS = 10;
const IDLE_TIMEOUT_MS = 60_000;

/** True for an IP address or network. */
export function isAddressOrNetwork(text: unknown): text is string {
  if (typeof text !== "string") return false;
  const [address = "", prefix = "0", ...more] = text.split("/");
  const version = isIP(address);
  return version !== 0 && more.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128);
}

/** Listens until the signal aborts; rejects if the port cannot be opened. @source RFC 5321 */
export async function openMailListener({
  listenAddress,
  port,
  relays,
  signal,
  isKnown,
  onMail,
}: MailListenerDeps): Promise<void> {
  const allowed = parseNetworks(relays);
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    disableReverseLookup: true,
    authOptional: true,
    size: MAX_MAIL_BYTES,
    maxClients: MAX_CLIENTS,
    socketTimeout: IDLE_TIMEOUT_MS,
    closeTimeout: 1,
    onConnect({ remoteAddress }, done) {
      done(isAllowedAddress(allowed, remoteAddress) ? null : new MailRejectedError(550, "relay not allowed"));
    },
    onRcptTo({ address }, { envelope }, done) {
      if (!isKnown(address)) return done(new MailRejectedError(550, "unknown recipient"));
      done(envelope.rcptTo.length < MAX_RECIPIENTS ? null : new MailRejectedError(451, "too many recipients"));
    },
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => {
        if (!stream.sizeExceeded) parts.push(part);
      });
      stream.on("end", () => {
        if (stream.sizeExceeded) return done(new MailRejectedError(550, "the mail is too large"));
        const sender = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
        const recipients = envelope.rcptTo.map(({ address }) => address);
        onMail({ raw: Buffer.concat(parts), sender, recipients }).then(
          () => done(),
          (error: unknown) =>
            done(error instanceof MailRejectedError ? error : new MailRejectedError(451, "try again later")),
        );
      });
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, listenAddress, resolve);
  });
  // Connection errors of peers are ignored.
  server.on("error", () => undefined);
  signal.addEventListener("abort", () => server.close(() => undefined), { once: true });
}

function parseNetworks(relays: readonly string[]): BlockList {
  const list = new BlockList();
  for (const relay of relays) {
    const [address = "", prefix] = relay.split("/");
    const type = isIP(address) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(prefix ?? (type === "ipv4" ? 32 : 128)), type);
  }
  return list;
}

function isAllowedAddress(allowed: BlockList, remote: string): boolean {
  const address = remote.replace(/^::ffff:(?=\d+\.)/, "");
  return allowed.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

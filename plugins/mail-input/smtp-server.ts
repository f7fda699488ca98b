import { BlockList, isIP } from "node:net";
import { SMTPServer } from "smtp-server";

/** A mail as it was handed over. */
export interface IncomingMail {
  raw: Uint8Array;
  /** Empty for notices. */
  sender: string;
  recipients: string[];
}

/** How a mail is refused: for good (550), or to be sent again (451). */
export class MailRejectedError extends RangeError {
  readonly responseCode: 550 | 451;

  constructor(responseCode: 550 | 451, words: string) {
    super(words);
    this.responseCode = responseCode;
  }
}

/** What taking mail needs. */
export interface MailListenerDeps {
  listenAddress: string;
  port: number;
  relays: readonly string[];
  signal: AbortSignal;
  /** Resolves when what follows is stored; what it rejects with refuses the mail. */
  onMail(mail: IncomingMail): Promise<void>;
}

const MAX_BYTES = 1_048_576;
const MAX_CLIENTS = 20;
const MAX_RECIPIENTS = 10;
const IDLE_TIMEOUT_MS = 60_000;

/** True for what `relays` may hold: an address or a network. */
export function isAddressOrNetwork(text: unknown): text is string {
  if (typeof text !== "string") return false;
  const [address = "", prefix = "0", ...more] = text.split("/");
  const version = isIP(address);
  return version !== 0 && more.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128);
}

/** Opens the port until the signal aborts; rejects when it can't be opened. @source RFC 5321 */
export async function openMailListener({
  listenAddress,
  port,
  relays,
  signal,
  onMail,
}: MailListenerDeps): Promise<void> {
  const known = parseNetworks(relays);
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    disableReverseLookup: true,
    authOptional: true,
    size: MAX_BYTES,
    maxClients: MAX_CLIENTS,
    socketTimeout: IDLE_TIMEOUT_MS,
    closeTimeout: 1,
    onConnect({ remoteAddress }, done) {
      done(isAllowedAddress(known, remoteAddress) ? null : new MailRejectedError(550, "this server is not known here"));
    },
    onRcptTo(_address, { envelope }, done) {
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
  // What a peer breaks off is its own concern.
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

function isAllowedAddress(known: BlockList, remote: string): boolean {
  const address = remote.replace(/^::ffff:(?=\d+\.)/, "");
  return known.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

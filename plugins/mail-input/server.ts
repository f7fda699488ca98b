import { BlockList, isIP } from "node:net";
import { SMTPServer } from "smtp-server";

/** A mail as it was handed over. */
export interface Handed {
  raw: Uint8Array;
  /** Empty for notices. */
  sender: string;
  recipients: string[];
}

/** How a mail is refused: for good (550), or to be sent again (451). */
export class MailRefusal extends RangeError {
  readonly responseCode: 550 | 451;

  constructor(responseCode: 550 | 451, words: string) {
    super(words);
    this.responseCode = responseCode;
  }
}

/** What taking mail needs. */
export interface MailServerNeeds {
  listenAddress: string;
  port: number;
  relays: readonly string[];
  signal: AbortSignal;
  /** Resolves when what follows is stored; what it rejects with refuses the mail. */
  take(mail: Handed): Promise<void>;
}

const MOST_BYTES = 1_048_576;
const MOST_AT_ONCE = 20;
const MOST_RECIPIENTS = 10;
const IDLE_MS = 60_000;

/** True for what `relays` may hold: an address or a network. */
export function isNetwork(text: unknown): text is string {
  if (typeof text !== "string") return false;
  const [address = "", prefix = "0", ...more] = text.split("/");
  const version = isIP(address);
  return version !== 0 && more.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128);
}

/** Opens the port until the signal aborts; rejects when it can't be opened. @source RFC 5321 */
export async function openMailPort({ listenAddress, port, relays, signal, take }: MailServerNeeds): Promise<void> {
  const known = networksOf(relays);
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    disableReverseLookup: true,
    authOptional: true,
    size: MOST_BYTES,
    maxClients: MOST_AT_ONCE,
    socketTimeout: IDLE_MS,
    closeTimeout: 1,
    onConnect({ remoteAddress }, done) {
      done(isFrom(known, remoteAddress) ? null : new MailRefusal(550, "this server is not known here"));
    },
    onRcptTo(_address, { envelope }, done) {
      done(envelope.rcptTo.length < MOST_RECIPIENTS ? null : new MailRefusal(451, "too many recipients"));
    },
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => {
        if (!stream.sizeExceeded) parts.push(part);
      });
      stream.on("end", () => {
        if (stream.sizeExceeded) return done(new MailRefusal(550, "the mail is too large"));
        const sender = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
        const recipients = envelope.rcptTo.map(({ address }) => address);
        take({ raw: Buffer.concat(parts), sender, recipients }).then(
          () => done(),
          (error: unknown) => done(error instanceof MailRefusal ? error : new MailRefusal(451, "try again later")),
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

function networksOf(relays: readonly string[]): BlockList {
  const list = new BlockList();
  for (const relay of relays) {
    const [address = "", prefix] = relay.split("/");
    const type = isIP(address) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(prefix ?? (type === "ipv4" ? 32 : 128)), type);
  }
  return list;
}

function isFrom(known: BlockList, remote: string): boolean {
  const address = remote.replace(/^::ffff:(?=\d+\.)/, "");
  return known.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

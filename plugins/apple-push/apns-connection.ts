import { type ClientHttp2Session, connect } from "node:http2";
import type { Clock } from "#plugin-api";

/** What the service answered. */
export interface ApnsResponse {
  status: number;
  retryAfter: string | null;
  body: string;
}

/** A connection to a push service that is kept, and opened again when it is gone. */
export interface ApnsConnection {
  /** Rejects when the service can't be reached or does not answer in time. */
  post(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<ApnsResponse>;
  close(): void;
}

interface ApnsSession {
  session: ClientHttp2Session;
  /** Resolves once the service has said how many messages it takes at once, or the line has ended. */
  ready: Promise<void>;
  /** What it ended with, in words. */
  fault: string | null;
  usedAt: number;
}

const RESPONSE_TIMEOUT_MS = 20_000;
/** No answer is longer. own choice */
const MAX_RESPONSE_LENGTH = 10_000;
/** A line that was idle for so long may have been cut by something in between, unheard; another is opened. own choice */
const IDLE_MS = 60_000;

/** Makes a connection that is opened when something is posted. */
export function createApnsConnection(
  { host, port, certificateAuthority }: { host: string; port: number; certificateAuthority: string | null },
  clock: Clock,
): ApnsConnection {
  let line: ApnsSession | null = null;

  const open = (): ApnsSession => {
    const session = connect(`https://${host}:${port}`, {
      minVersion: "TLSv1.2",
      ...(certificateAuthority === null ? {} : { ca: certificateAuthority }),
    });
    const ready = new Promise<void>((resolve) => {
      session.once("remoteSettings", () => resolve());
      session.once("close", resolve);
    });
    const made: ApnsSession = { session, ready, fault: null, usedAt: 0 };
    session.on("error", ({ message }) => {
      made.fault = message;
    });
    session.on("goaway", () => {
      if (line === made) line = null;
    });
    return made;
  };

  const liveSession = (): ApnsSession => {
    const now = clock.monotonicMs();
    if (line && (isClosed(line) || now - line.usedAt >= IDLE_MS)) {
      line.session.close();
      line = null;
    }
    line ??= open();
    line.usedAt = now;
    return line;
  };

  const postOnce = (current: ApnsSession, path: string, headers: Readonly<Record<string, string>>, body: string) =>
    new Promise<ApnsResponse>((resolve, reject) => {
      const fail = (words: string): void => {
        timer.cancel();
        reject(`${host}: ${words}`);
      };
      const timer = clock.after(RESPONSE_TIMEOUT_MS, () => {
        fail(`no answer within ${RESPONSE_TIMEOUT_MS / 1_000} s`);
        // A connection on which nothing comes back is of no use to the others either.
        current.session.destroy();
      });
      const send = async (): Promise<void> => {
        await current.ready;
        if (isClosed(current)) return fail(current.fault ?? "it broke off");
        const answer = await sendRequest(current.session, path, headers, body);
        timer.cancel();
        resolve(answer);
      };
      send().catch((error: Error) => fail(current.fault ?? error.message));
    });

  return {
    async post(path, headers, body) {
      const known = line;
      const current = liveSession();
      const beganAt = clock.monotonicMs();
      try {
        return await postOnce(current, path, headers, body);
      } catch (words) {
        if (line === current) line = null;
        // The service ends connections that were long open; what was on its way is asked for once more.
        if (current !== known || clock.monotonicMs() - beganAt >= RESPONSE_TIMEOUT_MS) throw words;
        return postOnce(liveSession(), path, headers, body);
      }
    },
    close() {
      line?.session.destroy();
      line = null;
    },
  };
}

function isClosed({ session }: ApnsSession): boolean {
  return session.closed || session.destroyed;
}

function sendRequest(
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<ApnsResponse> {
  return new Promise((resolve, reject) => {
    const request = session.request({ ":method": "POST", ":path": path, ...headers });
    const parts: string[] = [];
    let [status, retryAfter, length] = [0, null as string | null, 0];
    request.on("response", (answer) => {
      status = Number(answer[":status"]);
      retryAfter = answer["retry-after"] === undefined ? null : String(answer["retry-after"]);
    });
    request.setEncoding("utf8");
    request.on("data", (part: string) => {
      length += part.length;
      if (length <= MAX_RESPONSE_LENGTH) parts.push(part);
    });
    request.on("error", reject);
    request.on("close", () => {
      if (status === 0) reject(new Error("it broke off"));
      else resolve({ status, retryAfter, body: parts.join("") });
    });
    request.end(body);
  });
}

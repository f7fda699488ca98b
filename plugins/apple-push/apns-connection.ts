import { type ClientHttp2Session, connect } from "node:http2";
import type { Clock } from "#plugin-api";

export interface ApnsResponse {
  status: number;
  retryAfter: string | null;
  body: string;
}

/** A persistent HTTP/2 connection to a push service, reopened on demand. */
export interface ApnsConnection {
  /** Rejects if the service is unreachable or does not respond in time. */
  post(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<ApnsResponse>;
  close(): void;
}

interface ApnsSession {
  session: ClientHttp2Session;
  /** Resolves once the service sent its settings (stream limit), or the session closed. */
  ready: Promise<void>;
  /** Error that ended the session. */
  error: string | null;
  usedAt: number;
}

const RESPONSE_TIMEOUT_MS = 20_000;
/** Maximum length of a response body. */
const MAX_RESPONSE_LENGTH = 10_000;
/** A session that was idle this long may have been cut silently by a middlebox; a new one is opened. */
const IDLE_MS = 60_000;

/** Creates a connection that opens on the first request. */
export function createApnsConnection(
  { host, port, certificateAuthority }: { host: string; port: number; certificateAuthority: string | null },
  clock: Clock,
): ApnsConnection {
  let activeSession: ApnsSession | null = null;

  const open = (): ApnsSession => {
    const session = connect(`https://${host}:${port}`, {
      minVersion: "TLSv1.2",
      ...(certificateAuthority === null ? {} : { ca: certificateAuthority }),
    });
    const ready = new Promise<void>((resolve) => {
      session.once("remoteSettings", () => resolve());
      session.once("close", resolve);
    });
    const made: ApnsSession = { session, ready, error: null, usedAt: 0 };
    session.on("error", ({ message }) => {
      made.error = message;
    });
    session.on("goaway", () => {
      if (activeSession === made) activeSession = null;
    });
    return made;
  };

  const liveSession = (): ApnsSession => {
    const now = clock.monotonicMs();
    if (activeSession && (isClosed(activeSession) || now - activeSession.usedAt >= IDLE_MS)) {
      activeSession.session.close();
      activeSession = null;
    }
    activeSession ??= open();
    activeSession.usedAt = now;
    return activeSession;
  };

  const postOnce = (current: ApnsSession, path: string, headers: Readonly<Record<string, string>>, body: string) =>
    new Promise<ApnsResponse>((resolve, reject) => {
      const fail = (message: string): void => {
        timer.cancel();
        reject(`${host}: ${message}`);
      };
      const timer = clock.after(RESPONSE_TIMEOUT_MS, () => {
        fail(`no response within ${RESPONSE_TIMEOUT_MS / 1_000} s`);
        // A dead connection is useless to the other requests as well.
        current.session.destroy();
      });
      const send = async (): Promise<void> => {
        await current.ready;
        if (isClosed(current)) return fail(current.error ?? "connection closed");
        const response = await sendRequest(current.session, path, headers, body);
        timer.cancel();
        resolve(response);
      };
      send().catch((error: Error) => fail(current.error ?? error.message));
    });

  return {
    async post(path, headers, body) {
      const known = activeSession;
      const current = liveSession();
      const beganAt = clock.monotonicMs();
      try {
        return await postOnce(current, path, headers, body);
      } catch (reason) {
        if (activeSession === current) activeSession = null;
        // The service closes old connections; a request in flight is retried once.
        if (current !== known || clock.monotonicMs() - beganAt >= RESPONSE_TIMEOUT_MS) throw reason;
        return postOnce(liveSession(), path, headers, body);
      }
    },
    close() {
      activeSession?.session.destroy();
      activeSession = null;
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
    request.on("response", (response) => {
      status = Number(response[":status"]);
      retryAfter = response["retry-after"] === undefined ? null : String(response["retry-after"]);
    });
    request.setEncoding("utf8");
    request.on("data", (part: string) => {
      length += part.length;
      if (length <= MAX_RESPONSE_LENGTH) parts.push(part);
    });
    request.on("error", reject);
    request.on("close", () => {
      if (status === 0) reject(new Error("connection closed"));
      else resolve({ status, retryAfter, body: parts.join("") });
    });
    request.end(body);
  });
}

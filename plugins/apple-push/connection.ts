import { type ClientHttp2Session, connect } from "node:http2";
import type { Clock } from "#plugin-api";

/** What the service answered. */
export interface ServiceAnswer {
  status: number;
  retryAfter: string | null;
  body: string;
}

/** A connection to a push service that is kept, and opened again when it is gone. */
export interface Connection {
  /** Rejects when the service can't be reached or does not answer in time. */
  post(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<ServiceAnswer>;
  close(): void;
}

const ANSWER_MS = 20_000;
/** No answer is longer. own choice */
const MOST_ANSWER = 10_000;

/** Makes a connection that is opened when something is posted. */
export function createConnection(
  { host, port, certificateAuthority }: { host: string; port: number; certificateAuthority: string | null },
  clock: Clock,
): Connection {
  let session: ClientHttp2Session | null = null;

  const opened = (): ClientHttp2Session => {
    if (session && !session.closed && !session.destroyed) return session;
    const made = connect(`https://${host}:${port}`, {
      minVersion: "TLSv1.2",
      ...(certificateAuthority === null ? {} : { ca: certificateAuthority }),
    });
    // What is wrong with it reaches those who wait for an answer.
    made.on("error", () => undefined);
    made.setMaxListeners(0);
    made.on("goaway", () => {
      if (session === made) session = null;
    });
    session = made;
    return made;
  };

  const once = (current: ClientHttp2Session, path: string, headers: Readonly<Record<string, string>>, body: string) =>
    new Promise<ServiceAnswer>((resolve, reject) => {
      const request = current.request({ ":method": "POST", ":path": path, ...headers });
      const parts: string[] = [];
      let [status, retryAfter, length] = [0, null as string | null, 0];
      const fail = (words: string): void => {
        timer.cancel();
        reject(`${host}: ${words}`);
      };
      const timer = clock.after(ANSWER_MS, () => {
        fail(`no answer within ${ANSWER_MS / 1_000} s`);
        // A connection on which nothing comes back is of no use to the others either.
        current.destroy();
      });
      current.once("error", (error) => fail(error.message));
      request.on("response", (answer) => {
        status = Number(answer[":status"]);
        retryAfter = answer["retry-after"] === undefined ? null : String(answer["retry-after"]);
      });
      request.setEncoding("utf8");
      request.on("data", (part: string) => {
        length += part.length;
        if (length <= MOST_ANSWER) parts.push(part);
      });
      request.on("error", (error) => fail(error.message));
      request.on("close", () => {
        timer.cancel();
        if (status === 0) fail("it broke off");
        else resolve({ status, retryAfter, body: parts.join("") });
      });
      request.end(body);
    });

  return {
    async post(path, headers, body) {
      const known = session;
      const current = opened();
      const beganAt = clock.monotonicMs();
      try {
        return await once(current, path, headers, body);
      } catch (words) {
        if (session === current) session = null;
        // The service ends connections that were long open; what was on its way is asked for once more.
        if (current !== known || clock.monotonicMs() - beganAt >= ANSWER_MS) throw words;
        return once(opened(), path, headers, body);
      }
    },
    close() {
      session?.destroy();
      session = null;
    },
  };
}

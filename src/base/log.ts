import { type DestinationStream, type Logger, pino } from "pino";

/** Carillon's log: pino JSON lines. */
export type Log = Logger;

/** Keys whose values never reach a log line, at any of the first three levels. */
const SECRET_KEYS = ["password", "token", "access_token", "accessToken", "authorization", "cookie", "secret", "config"];

/** Makes the process log on `stream` (stderr by default, so that stdout stays for answers). */
export function createLog(options: { level?: string; stream?: DestinationStream } = {}): Log {
  const paths = SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]);
  return pino(
    { level: options.level ?? "info", base: null, redact: { paths, censor: "[redacted]" } },
    options.stream ?? pino.destination({ dest: 2, sync: true }),
  );
}

/** A log that writes nothing, for pure tests and tools. */
export const silentLog: Log = pino({ level: "silent" });

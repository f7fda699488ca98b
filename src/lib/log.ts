import { type DestinationStream, type Logger, pino, stdSerializers } from "pino";

/** The log: pino, JSON lines. */
export type Log = Logger;

/** Keys whose values never reach a log line, on the first three levels of nesting. */
const SECRET_KEYS: ReadonlySet<string> = new Set([
  ...["password", "token", "access_token", "accessToken", "authorization", "cookie", "secret", "config"],
]);
const REDACTION_DEPTH = 3;

/** Creates the process's log on `stream` (stderr by default, so that stdout stays free for command output). */
export function createLog(options: { level?: string; stream?: DestinationStream } = {}): Log {
  return pino(
    {
      level: options.level ?? "info",
      base: null,
      // Covers the bindings of child loggers; redaction below the first level costs 30 µs per line.
      redact: { paths: [...SECRET_KEYS], censor: "[redacted]" },
      formatters: { log: redacted },
      // The error is serialized after `formatters.log`.
      serializers: { err: (error: Error) => redactedError(stdSerializers.err(error)) },
    },
    options.stream ?? stderrStream(),
  );
}

/** The default log destination. */
export function stderrStream(): DestinationStream {
  return pino.destination({ dest: 2, sync: true });
}

/** A copy of `values` with "[redacted]" under secret keys, three levels deep. */
export function redactSecrets<T extends object>(values: T): T {
  return redacted(values);
}

/** Copies only what contains a secret. */
function redacted<T extends object>(values: T, level = 1): T {
  let copy: Record<string, unknown> | null = null;
  for (const [key, value] of Object.entries(values)) {
    if (level === 1 && key === "err") continue;
    const shown = SECRET_KEYS.has(key)
      ? "[redacted]"
      : level < REDACTION_DEPTH && isPlain(value)
        ? redacted(value, level + 1)
        : value;
    if (shown === value) continue;
    copy ??= (Array.isArray(values) ? [...values] : { ...values }) as Record<string, unknown>;
    copy[key] = shown;
  }
  return (copy ?? values) as T;
}

function redactedError(shown: unknown): unknown {
  return isPlain(shown) ? redacted(shown, 2) : shown;
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
}

/** A log that writes nothing, for tests and tools. */
export const silentLog: Log = pino({ level: "silent" });

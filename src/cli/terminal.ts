import { CallerError, UpstreamError } from "../lib/errors.ts";
import { EXIT } from "./exit-codes.ts";
import { describeSystemError } from "./system-errors.ts";

/** What a command may use of the process it runs in. */
export interface Terminal {
  /** One line to stdout: answers only. */
  out(line: string): void;
  /** One line to stderr: everything for people. */
  err(line: string): void;
  /** True when people read stderr as it is written, and nothing keeps it. */
  readonly errIsTerminal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks whoever sits at the terminal for a word that is not shown; null when nobody does. */
  askSecret(question: string): Promise<string | null>;
  /** Calls `stop` at SIGTERM and SIGINT until the function returned is called. */
  onStop(stop: (signal: "SIGTERM" | "SIGINT") => void): () => void;
}

/** A command that could not do its work: how the process ends, what happened, what to do next. */
export interface CommandError {
  exitCode: number;
  message: string;
  next: string | null;
}

/** Writes a fault to stderr in the form of all commands and gives its exit code. */
export function printCommandError(terminal: Terminal, { exitCode, message, next }: CommandError): number {
  terminal.err(`carillon: ${message}`);
  if (next !== null) terminal.err(`  ${next}`);
  return exitCode;
}

/** What an error that came out of a command means for its user. */
export function toCommandError(error: unknown): CommandError {
  if (error instanceof CallerError) {
    const aboutWords = error.type === "invalid-value" || error.type === "required";
    return { exitCode: aboutWords ? EXIT.usage : EXIT.failure, message: error.message, next: null };
  }
  if (error instanceof UpstreamError) {
    const aboutData = "dataDir" in error.context;
    return { exitCode: aboutData ? EXIT.dataDirectory : EXIT.failure, message: error.message, next: null };
  }
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === "string" && code.startsWith("SQLITE_IOERR")) {
    const next = "Check the disk, then start again: what was acknowledged is kept.";
    return { exitCode: EXIT.disk, message: "the disk failed while writing", next };
  }
  return { exitCode: EXIT.failure, ...(describeSystemError(error) ?? { message: messageOf(error), next: null }) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

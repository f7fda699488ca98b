import { CallerError, UpstreamError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import { describeSystemError } from "./system-errors.ts";

/** A failed command: exit code, message and next step. */
export interface CommandError {
  exitCode: number;
  message: string;
  next: string | null;
}

/** Prints an error to stderr in the form of all commands and returns its exit code. */
export function printCommandError(terminal: Terminal, { exitCode, message, next }: CommandError): number {
  terminal.err(`carillon: ${message}`);
  if (next !== null) terminal.err(`  ${next}`);
  return exitCode;
}

export function toCommandError(error: unknown): CommandError {
  if (error instanceof CallerError) {
    const isUsageError = error.type === "invalid-value" || error.type === "required";
    return { exitCode: isUsageError ? EXIT.usage : EXIT.failure, message: error.message, next: null };
  }
  if (error instanceof UpstreamError) {
    const isDataDirectoryError = "dataDir" in error.context;
    return { exitCode: isDataDirectoryError ? EXIT.dataDirectory : EXIT.failure, message: error.message, next: null };
  }
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === "string" && code.startsWith("SQLITE_IOERR")) {
    const next = "Check the disk, then start again; acknowledged writes are kept.";
    return { exitCode: EXIT.disk, message: "disk write failed", next };
  }
  return { exitCode: EXIT.failure, ...(describeSystemError(error) ?? { message: messageOf(error), next: null }) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

import { accessSync, constants, existsSync, mkdirSync, opendirSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { UpstreamError } from "../lib/errors.ts";

const { R_OK, W_OK, X_OK } = constants;

/**
 * Creates `dataDir` if it is missing. Throws UpstreamError (`starting`) when the file `database` cannot be written
 * there.
 */
export function prepareDataDirectory(dataDir: string, database: string): void {
  try {
    createDirectory(dataDir);
    accessSync(dataDir, R_OK | W_OK | X_OK);
    const path = join(dataDir, database);
    if (existsSync(path)) accessSync(path, R_OK | W_OK);
  } catch (error) {
    throw toStartupError(dataDir, error);
  }
}

/** Throws UpstreamError (`starting`) when `dataDir` exists but cannot be read. */
export function assertDataDirectoryReadable(dataDir: string): void {
  try {
    opendirSync(dataDir).closeSync();
    accessSync(dataDir, R_OK | X_OK);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw toStartupError(dataDir, error);
  }
}

/**
 * Creates one level at a time: Node's recursive mkdir loops forever on file systems such as /proc that report ENOENT
 * for every folder.
 */
function createDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const above = dirname(path);
  if (above !== path) createDirectory(above);
  mkdirSync(path, { mode: 0o700 });
}

function toStartupError(dataDir: string, error: unknown): unknown {
  const message = ERROR_MESSAGES[codeOf(error) ?? ""];
  if (message === undefined) return error;
  return new UpstreamError("starting", message(dataDir), { dataDir }, error);
}

const permissionMessage = (dataDir: string): string =>
  `The user ${processUserName()} has no access to the folder ${dataDir}. Change its owner (chown -R ${processUserName()} ${dataDir}) or run as its owner.`;
const notDirectoryMessage = (dataDir: string): string =>
  `${dataDir} is a file or is below a file. It must be a folder.`;

const ERROR_MESSAGES: Readonly<Record<string, (dataDir: string) => string>> = {
  EACCES: permissionMessage,
  EPERM: permissionMessage,
  EEXIST: notDirectoryMessage,
  ENOTDIR: notDirectoryMessage,
  ENOENT: (dataDir) => `Failed to create the folder ${dataDir}. Use another folder.`,
  EROFS: (dataDir) => `Failed to write to ${dataDir}: the file system is mounted read-only. Use another folder.`,
};

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | null)?.code;
}

/** Name of the user that runs this process; the numeric id if the system has no name for it. */
export function processUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "");
  }
}

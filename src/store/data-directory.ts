import { accessSync, constants, existsSync, mkdirSync, opendirSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { UpstreamError } from "../lib/errors.ts";

const { R_OK, W_OK, X_OK } = constants;

/** Makes `dataDir` when it is missing. Throws UpstreamError (about the data directory) when `database` can't be kept in it. */
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

/** Throws UpstreamError (about the data directory) when `dataDir` is there and can't be looked into. */
export function assertDataDirectoryReadable(dataDir: string): void {
  try {
    opendirSync(dataDir).closeSync();
    accessSync(dataDir, R_OK | X_OK);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw toStartupError(dataDir, error);
  }
}

/** Level by level: Node's own way tries without end where the system says of each folder that it is missing, as /proc does. */
function createDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const above = dirname(path);
  if (above !== path) createDirectory(above);
  mkdirSync(path, { mode: 0o700 });
}

function toStartupError(dataDir: string, error: unknown): unknown {
  const words = ERROR_MESSAGES[codeOf(error) ?? ""];
  if (words === undefined) return error;
  return new UpstreamError("starting", words(dataDir), { dataDir }, error);
}

const permissionMessage = (dataDir: string): string =>
  `The user ${processUserName()} may not use the folder ${dataDir}. Give it to that user (chown -R ${processUserName()} ${dataDir}), or run this as its owner.`;
const notDirectoryMessage = (dataDir: string): string => `${dataDir} is a file, or lies below one. Name a folder.`;

const ERROR_MESSAGES: Readonly<Record<string, (dataDir: string) => string>> = {
  EACCES: permissionMessage,
  EPERM: permissionMessage,
  EEXIST: notDirectoryMessage,
  ENOTDIR: notDirectoryMessage,
  ENOENT: (dataDir) => `The folder ${dataDir} can't be made. Name another one.`,
  EROFS: (dataDir) => `Nothing can be written at ${dataDir}: its disk is mounted read-only. Name another folder.`,
};

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | null)?.code;
}

/** Who runs this; the number where the system has no name for it. */
export function processUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "");
  }
}

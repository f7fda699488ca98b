import { processUserName } from "../store/data-directory.ts";

/** Properties of a failed system call in Node's errors. */
interface SystemError {
  code?: string;
  syscall?: string;
  address?: string;
  port?: number;
  path?: string;
}

interface ErrorText {
  message: string;
  next: string | null;
}

/** Message and next step for a failed system call; null for any other error. */
export function describeSystemError(error: unknown): ErrorText | null {
  const systemError = (error ?? {}) as SystemError;
  return describeAddressError(systemError) ?? describeFileError(systemError);
}

/** Errors of listen and bind; null for any other error. */
function describeAddressError({ code, syscall, address, port }: SystemError): ErrorText | null {
  if (syscall !== "listen" && syscall !== "bind") return null;
  const at = `${address?.includes(":") ? `[${address}]` : address}:${port}`;
  const other =
    "choose another address: --listen HOST:PORT (port 0 takes a free port), for TLS tls.listen in the settings.";
  if (code === "EADDRINUSE")
    return { message: `another program already listens at ${at}.`, next: `Stop it, or ${other}` };
  if (code === "EADDRNOTAVAIL") {
    const next = "0.0.0.0 listens at all addresses of this machine, 127.0.0.1 accepts local connections only.";
    return { message: `${address} is not an address of this machine.`, next };
  }
  if (code === "EACCES")
    return {
      message: `the user ${processUserName()} is not allowed to listen at ${at}.`,
      next: `Ports above 1023 need no privileges: ${other}`,
    };
  return null;
}

/** Errors of files and folders; null for any other error. */
function describeFileError({ code, path }: SystemError): ErrorText | null {
  if (code === "ENOSPC") return { message: "the disk is full.", next: "Free some space, then try again." };
  if (path === undefined) return null;
  if (code === "ENOENT") return { message: `${path} not found.`, next: null };
  if (code === "EISDIR") return { message: `${path} is a folder; name a file.`, next: null };
  if (code === "ENOTDIR") return { message: `${path} is below a file; name a folder.`, next: null };
  if (code === "EROFS") return { message: `${path} is on a read-only file system.`, next: null };
  if (code !== "EACCES" && code !== "EPERM") return null;
  const next = "Change the owner (chown), or run the command as its owner.";
  return { message: `the user ${processUserName()} has no permission for ${path}.`, next };
}

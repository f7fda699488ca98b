import { processUserName } from "../store/data-directory.ts";

/** What Node says of a system call that failed. */
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

/** What the system refused, and what to do next; null for a fault of another kind. */
export function describeSystemError(error: unknown): ErrorText | null {
  const fault = (error ?? {}) as SystemError;
  return describeAddressError(fault) ?? describeFileError(fault);
}

/** An address that can't be listened at; null for any other fault. */
function describeAddressError({ code, syscall, address, port }: SystemError): ErrorText | null {
  if (syscall !== "listen" && syscall !== "bind") return null;
  const at = `${address?.includes(":") ? `[${address}]` : address}:${port}`;
  const other =
    "choose another address: --listen HOST:PORT (port 0 takes a free one), for TLS tls.listen in the settings.";
  if (code === "EADDRINUSE")
    return { message: `another program listens at ${at} already.`, next: `End it, or ${other}` };
  if (code === "EADDRNOTAVAIL") {
    const next = "0.0.0.0 listens at all addresses of this machine, 127.0.0.1 for this machine alone.";
    return { message: `${address} is no address of this machine.`, next };
  }
  if (code === "EACCES")
    return {
      message: `the user ${processUserName()} may not listen at ${at}.`,
      next: `Above port 1023 everybody may: ${other}`,
    };
  return null;
}

/** A file or folder that can't be used; null for any other fault. */
function describeFileError({ code, path }: SystemError): ErrorText | null {
  if (code === "ENOSPC") return { message: "the disk is full.", next: "Make room, then try again." };
  if (path === undefined) return null;
  if (code === "ENOENT") return { message: `there is no ${path}.`, next: null };
  if (code === "EISDIR") return { message: `${path} is a folder; name a file.`, next: null };
  if (code === "ENOTDIR") return { message: `${path} lies below a file; name a folder.`, next: null };
  if (code === "EROFS") return { message: `${path} lies on a disk that is mounted read-only.`, next: null };
  if (code !== "EACCES" && code !== "EPERM") return null;
  const next = "Give it to that user (chown), or run this as its owner.";
  return { message: `the user ${processUserName()} may not use ${path}.`, next };
}

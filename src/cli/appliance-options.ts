import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { type ApiClient, createApiClient } from "../api-client/api-client.ts";
import { CallerError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import { trustAuthority } from "../lib/trusted-authorities.ts";

/** Options that select the appliance a command talks to. */
export interface ApplianceOptions {
  url: string;
  token?: string;
  ca?: string;
}

export function addApplianceOptions(command: Command, terminal: Terminal): Command {
  return command
    .option(
      "--url <url>",
      "URL of the appliance; or set CARILLON_URL",
      terminal.env.CARILLON_URL || "http://127.0.0.1:8080",
    )
    .option(
      "--token <token>",
      "access token; CARILLON_TOKEN in the environment is safer, as other users can see command lines",
    )
    .option(
      "--ca <file>",
      "certificate authority of the appliance, as `carillon tls show` prints it; or set CARILLON_CA",
    );
}

/** A client for the appliance that the options select. Throws CallerError without a token. */
export function apiClientFrom({ url, token, ca }: ApplianceOptions, terminal: Terminal): ApiClient {
  const accessToken = token ?? terminal.env.CARILLON_TOKEN;
  const authority = ca ?? terminal.env.CARILLON_CA;
  if (authority) trustFile(authority);
  if (accessToken) return createApiClient(url, accessToken);
  throw new CallerError(
    "required",
    "Token missing: set CARILLON_TOKEN or add --token. `carillon init` printed one; `carillon token create` creates another.",
  );
}

function trustFile(path: string): void {
  let certificate: string;
  try {
    certificate = readFileSync(path, "utf8");
  } catch {
    throw new CallerError("invalid-value", `Can't read ${path}.`);
  }
  if (!trustAuthority(certificate))
    throw new CallerError(
      "invalid-value",
      "This Node cannot trust a file while it runs: set NODE_EXTRA_CA_CERTS instead.",
    );
}

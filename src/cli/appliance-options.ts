import type { Command } from "commander";
import { type ApiClient, createApiClient } from "../api-client/api-client.ts";
import { CallerError } from "../lib/errors.ts";
import type { Terminal } from "./terminal.ts";

/** Where a command finds the appliance that it is about. */
export interface ApplianceOptions {
  url: string;
  token?: string;
}

/** Adds the options that name an appliance. */
export function addApplianceOptions(command: Command, terminal: Terminal): Command {
  return command
    .option("--url <url>", "the appliance; or CARILLON_URL", terminal.env.CARILLON_URL || "http://127.0.0.1:8080")
    .option("--token <token>", "token to ask it with; better give CARILLON_TOKEN in the environment");
}

/** A client for the appliance that the options name. Throws CallerError without a token. */
export function apiClientFrom({ url, token }: ApplianceOptions, terminal: Terminal): ApiClient {
  const known = token ?? terminal.env.CARILLON_TOKEN;
  if (known) return createApiClient(url, known);
  throw new CallerError(
    "required",
    "A token is missing: export CARILLON_TOKEN, or add --token. `init` printed one; carillon token create makes another.",
  );
}

import { createHash } from "node:crypto";
import extensions from "../../resources/devices/extensions.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { RowBody } from "../storage/transaction-program.ts";

/** Member of a row of the cloud: marks of its encrypted secrets, by field. No field has such a name. */
export const SECRET_MARKS = "secret-marks";

/** Encrypted secrets of a stored row, by field; those in free JSON (a plugin's configuration) as `config.<name>`. */
export function encryptedSecrets(
  { fields }: AnyResource,
  row: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, spec] of Object.entries(fields)) {
    const value = row[name];
    if (spec.kind === "secret" && spec.stored !== "hash" && isSealed(value)) found[name] = value;
    if (spec.kind !== "json" || typeof value !== "object" || value === null || Array.isArray(value)) continue;
    for (const [member, inner] of Object.entries(value)) if (isSealed(inner)) found[`${name}.${member}`] = inner;
  }
  return found;
}

/** Whether rows may have encrypted secrets: in a field for them, or in the configuration of a plugin. */
export function mayHaveSecrets({ name, fields }: AnyResource): boolean {
  return (
    name === extensions.name ||
    Object.values(fields).some((field) => field.kind === "secret" && field.stored !== "hash")
  );
}

function isSealed(value: unknown): value is string {
  return typeof value === "string" && value.startsWith("v1:");
}

/** Changes with the secret and reveals nothing: encryption is randomised. */
export function secretMark(sealed: string): string {
  return createHash("sha256").update(sealed).digest("hex").slice(0, 16);
}

/** The body of a row of the cloud with the marks of its secrets, so that the appliances know which ones to ask for. */
export function withSecretMarks(resource: AnyResource, row: Readonly<Record<string, unknown>>, body: RowBody): RowBody {
  if (!mayHaveSecrets(resource)) return body;
  const secrets = Object.entries(encryptedSecrets(resource, row));
  return { ...body, [SECRET_MARKS]: Object.fromEntries(secrets.map(([field, sealed]) => [field, secretMark(sealed)])) };
}

import users from "../resources/people/users.ts";
import type { RowOf, SystemValues } from "../schema/resource.ts";
import type { ScimDocument } from "./document.ts";
import { ScimRequestError } from "./scim-error.ts";

/** Row of a user. */
export type ScimUserRow = RowOf<typeof users>;

const MAX_NAME_LENGTH = 140;
const MAX_EMAIL_LENGTH = 254;
const EMAIL = /^[^\s@]+@[^\s@]+$/;

/** Builds the document of a user from the stored profile. */
export function buildUserDocument({
  id,
  scimProfile,
  createdAt,
  updatedAt,
}: Pick<ScimUserRow, "id" | "scimProfile" | "createdAt" | "updatedAt">): ScimDocument {
  const profile = JSON.parse(scimProfile ?? "{}") as ScimDocument;
  return {
    id,
    ...profile,
    meta: { created: new Date(createdAt).toISOString(), lastModified: new Date(updatedAt).toISOString() },
  };
}

/** Converts a document to API input for the user row, without the lock. Throws ScimRequestError `invalidValue`. */
export function parseUserInput(document: ScimDocument): {
  name: string;
  email: string | null;
  preferredLanguage?: string | null;
} {
  const { preferredLanguage: given } = document;
  const language = users.fields.preferredLanguage.values.find(
    (value) => value.toLowerCase() === String(given).toLowerCase(),
  );
  return {
    name: readDisplayName(document).slice(0, MAX_NAME_LENGTH),
    email: readEmail(document),
    ...(given === undefined ? {} : { preferredLanguage: language ?? null }),
  };
}

/** The system fields of a provisioned user. Throws ScimRequestError `invalidValue` without a userName. */
export function provisioningFields(document: ScimDocument): SystemValues<typeof users> {
  const { externalId } = document;
  return {
    source: "scim",
    scimUserName: readUserName(document),
    scimExternalId: typeof externalId === "string" ? externalId : null,
    scimActive: document.active === false ? 0 : 1,
    scimProfile: JSON.stringify(document),
  };
}

/** The userName in lower case, as it is compared. Throws ScimRequestError `invalidValue` if it is missing. */
export function readUserName({ userName }: ScimDocument): string {
  if (typeof userName !== "string" || userName.trim() === "") {
    throw new ScimRequestError("invalidValue", "Attribute userName is required.");
  }
  return userName.toLowerCase();
}

function readDisplayName(document: ScimDocument): string {
  const { displayName, name, userName } = document;
  const { formatted, givenName, familyName } = (name ?? {}) as Record<string, string | undefined>;
  const parts = [givenName, familyName].filter(Boolean).join(" ");
  return (
    ([displayName, formatted, parts].find((text) => typeof text === "string" && text.trim() !== "") as string) ??
    userName
  );
}

/** The primary address, else the work address, else the first one; else a userName that is an e-mail address. */
function readEmail({ emails, userName }: ScimDocument): string | null {
  const all = ((emails ?? []) as Record<string, unknown>[]).filter(({ value }) => typeof value === "string");
  const chosen = all.find(({ primary }) => primary === true) ?? all.find(({ type }) => type === "work") ?? all[0];
  const email = String(chosen?.value ?? userName).trim();
  const isAddress = EMAIL.test(email) && email.length <= MAX_EMAIL_LENGTH;
  if (chosen && !isAddress)
    throw new ScimRequestError("invalidValue", "Attribute emails is not valid. Must be an e-mail address.");
  return isAddress ? email : null;
}

import { type Attribute, ENTERPRISE_SCHEMA, GROUP_SCHEMA, type Schema, USER_SCHEMA } from "./attributes.ts";
import { GROUPS, type ResourceType, USERS } from "./document.ts";

/** What one request may be at most. own choice */
export const LIMITS = { page: 200, operations: 1_000, bytes: 1_572_864 } as const;

const MESSAGE = "urn:ietf:params:scim:schemas:core:2.0";

/** What this server can do. @source RFC 7643 §5 */
export function serviceProvider(base: string): object {
  return {
    schemas: [`${MESSAGE}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: true, maxOperations: LIMITS.operations, maxPayloadSize: LIMITS.bytes },
    filter: { supported: true, maxResults: LIMITS.page },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Bearer token",
        description: "A token that an administrator makes for the directory.",
        specUri: "https://www.rfc-editor.org/info/rfc6750",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
  };
}

/** The kinds of resources. @source RFC 7643 §6 */
export function resourceTypes(base: string): (object & { id: string })[] {
  return [USERS, GROUPS].map(({ name, endpoint, schema, extensions }: ResourceType) => ({
    schemas: [`${MESSAGE}:ResourceType`],
    id: name,
    name,
    endpoint,
    description: schema.description,
    schema: schema.id,
    schemaExtensions: extensions.map(({ id }) => ({ schema: id, required: false })),
    meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${name}` },
  }));
}

/** The schemas. @source RFC 7643 §7 */
export function schemas(base: string): (object & { id: string })[] {
  return [USER_SCHEMA, ENTERPRISE_SCHEMA, GROUP_SCHEMA].map((schema: Schema) => ({
    schemas: [`${MESSAGE}:Schema`],
    ...schema,
    attributes: schema.attributes.map(described),
    meta: { resourceType: "Schema", location: `${base}/Schemas/${schema.id}` },
  }));
}

/** With every characteristic that the RFC names. @source RFC 7643 §7 */
function described({ subAttributes, ...attribute }: Attribute): object {
  const isText = attribute.type === "string" || attribute.type === "reference";
  return {
    multiValued: false,
    required: false,
    ...(isText ? { caseExact: attribute.type === "reference" } : {}),
    mutability: "readWrite",
    returned: "default",
    ...(isText ? { uniqueness: "none" } : {}),
    ...attribute,
    ...(subAttributes ? { subAttributes: subAttributes.map(described) } : {}),
  };
}

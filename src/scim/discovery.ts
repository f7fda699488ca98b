import { GROUP_RESOURCE_TYPE, type ScimResourceType, USER_RESOURCE_TYPE } from "./document.ts";
import { ENTERPRISE_SCHEMA, GROUP_SCHEMA, type ScimAttribute, type ScimSchema, USER_SCHEMA } from "./schemas.ts";

/** Limits of one request: resources per page, bulk operations, bytes. */
export const SCIM_LIMITS = { page: 200, operations: 1_000, bytes: 1_572_864 } as const;

const SCHEMA_PREFIX = "urn:ietf:params:scim:schemas:core:2.0";

/** The service provider configuration. @source RFC 7643 §5 */
export function serviceProviderConfig(base: string): object {
  return {
    schemas: [`${SCHEMA_PREFIX}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: true, maxOperations: SCIM_LIMITS.operations, maxPayloadSize: SCIM_LIMITS.bytes },
    filter: { supported: true, maxResults: SCIM_LIMITS.page },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Bearer token",
        description: "A token that an administrator creates for the directory.",
        specUri: "https://www.rfc-editor.org/info/rfc6750",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
  };
}

/** The resource types. @source RFC 7643 §6 */
export function resourceTypes(base: string): (object & { id: string })[] {
  return [USER_RESOURCE_TYPE, GROUP_RESOURCE_TYPE].map(({ name, endpoint, schema, extensions }: ScimResourceType) => ({
    schemas: [`${SCHEMA_PREFIX}:ResourceType`],
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
  return [USER_SCHEMA, ENTERPRISE_SCHEMA, GROUP_SCHEMA].map((schema: ScimSchema) => ({
    schemas: [`${SCHEMA_PREFIX}:Schema`],
    ...schema,
    attributes: schema.attributes.map(describeAttribute),
    meta: { resourceType: "Schema", location: `${base}/Schemas/${schema.id}` },
  }));
}

/** Adds the default of every characteristic that the RFC defines. @source RFC 7643 §7 */
function describeAttribute({ subAttributes, ...attribute }: ScimAttribute): object {
  const isText = attribute.type === "string" || attribute.type === "reference";
  return {
    multiValued: false,
    required: false,
    ...(isText ? { caseExact: attribute.type === "reference" } : {}),
    mutability: "readWrite",
    returned: "default",
    ...(isText ? { uniqueness: "none" } : {}),
    ...attribute,
    ...(subAttributes ? { subAttributes: subAttributes.map(describeAttribute) } : {}),
  };
}

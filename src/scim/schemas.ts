/** An attribute definition. @source RFC 7643 §2.2, §7 */
export interface ScimAttribute {
  name: string;
  type: "string" | "boolean" | "complex" | "reference" | "dateTime";
  description: string;
  multiValued?: boolean;
  required?: boolean;
  caseExact?: boolean;
  mutability?: "readOnly" | "readWrite" | "immutable";
  returned?: "always" | "default";
  uniqueness?: "none" | "server";
  referenceTypes?: readonly string[];
  subAttributes?: readonly ScimAttribute[];
}

/** A schema; its attributes are in display order. */
export interface ScimSchema {
  id: string;
  name: string;
  description: string;
  attributes: readonly ScimAttribute[];
}

/** URN of the core schema of users. */
export const USER_SCHEMA_URN = "urn:ietf:params:scim:schemas:core:2.0:User";
/** URN of what organisations add to users. */
export const ENTERPRISE_SCHEMA_URN = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
/** URN of the core schema of groups. */
export const GROUP_SCHEMA_URN = "urn:ietf:params:scim:schemas:core:2.0:Group";

const textAttribute = (name: string, description: string, more: Partial<ScimAttribute> = {}): ScimAttribute => ({
  name,
  type: "string",
  description,
  ...more,
});

const TYPE_ATTRIBUTE = textAttribute("type", "Type of use, such as work.");
const PRIMARY_ATTRIBUTE: ScimAttribute = {
  name: "primary",
  type: "boolean",
  description: "Whether it is the preferred one.",
};

function multiValuedAttribute(
  name: string,
  description: string,
  subAttributes: readonly ScimAttribute[],
): ScimAttribute {
  return { name, type: "complex", description, multiValued: true, subAttributes };
}

function readOnlyAttribute(name: string, description: string): ScimAttribute {
  return textAttribute(name, description, { mutability: "readOnly", caseExact: true });
}

const REFERENCE_ATTRIBUTE: ScimAttribute = {
  name: "$ref",
  type: "reference",
  description: "Address of the resource.",
  mutability: "readOnly",
  caseExact: true,
  referenceTypes: ["User", "Group"],
};

/** Attributes of all resources, which no schema lists. @source RFC 7643 §3.1 */
export const COMMON_ATTRIBUTES: readonly ScimAttribute[] = [
  readOnlyAttribute("id", "The id here."),
  textAttribute("externalId", "The directory's own id.", { caseExact: true }),
  {
    name: "meta",
    type: "complex",
    description: "Metadata of the resource.",
    mutability: "readOnly",
    subAttributes: [
      readOnlyAttribute("resourceType", "Its type."),
      { name: "created", type: "dateTime", description: "When it was made.", mutability: "readOnly" },
      { name: "lastModified", type: "dateTime", description: "When it was last changed.", mutability: "readOnly" },
      readOnlyAttribute("location", "Its address."),
      readOnlyAttribute("version", "Its version."),
    ],
  },
];

/** The User schema. Passwords, photos, certificates, roles and entitlements are not stored. @source RFC 7643 §4.1 */
export const USER_SCHEMA: ScimSchema = {
  id: USER_SCHEMA_URN,
  name: "User",
  description: "A person that the directory provisions.",
  attributes: [
    textAttribute("userName", "Login name of the user in the directory.", { required: true, uniqueness: "server" }),
    {
      name: "name",
      type: "complex",
      description: "The parts of the name.",
      subAttributes: [
        textAttribute("formatted", "The whole name."),
        textAttribute("familyName", "Family name."),
        textAttribute("givenName", "Given name."),
        textAttribute("middleName", "Middle names."),
        textAttribute("honorificPrefix", "Title before the name."),
        textAttribute("honorificSuffix", "What follows the name."),
      ],
    },
    textAttribute("displayName", "Name shown to others."),
    textAttribute("nickName", "Nickname."),
    { name: "profileUrl", type: "reference", description: "Page about the user.", referenceTypes: ["external"] },
    textAttribute("title", "Job title."),
    textAttribute("userType", "Relationship to the organisation."),
    textAttribute("preferredLanguage", "Preferred language."),
    textAttribute("locale", "Locale for dates and numbers."),
    textAttribute("timezone", "Time zone of the user."),
    {
      name: "active",
      type: "boolean",
      description: "False: the user is locked, and all sessions and tokens are revoked.",
    },
    multiValuedAttribute("emails", "E-mail addresses; the primary, work or first one is used.", [
      textAttribute("value", "The address."),
      textAttribute("display", "Display text."),
      TYPE_ATTRIBUTE,
      PRIMARY_ATTRIBUTE,
    ]),
    multiValuedAttribute("phoneNumbers", "Phone numbers.", [
      textAttribute("value", "The number."),
      textAttribute("display", "Display text."),
      TYPE_ATTRIBUTE,
      PRIMARY_ATTRIBUTE,
    ]),
    multiValuedAttribute("addresses", "Postal addresses.", [
      textAttribute("formatted", "The whole address."),
      textAttribute("streetAddress", "Street and number."),
      textAttribute("locality", "Town."),
      textAttribute("region", "Region."),
      textAttribute("postalCode", "Code of the town."),
      textAttribute("country", "Country."),
      TYPE_ATTRIBUTE,
      PRIMARY_ATTRIBUTE,
    ]),
    {
      ...multiValuedAttribute("groups", "Directory groups of the user.", [
        readOnlyAttribute("value", "Id of the group."),
        REFERENCE_ATTRIBUTE,
        readOnlyAttribute("display", "Its name."),
        readOnlyAttribute("type", "Type of membership: direct."),
      ]),
      mutability: "readOnly",
    },
  ],
};

/** The enterprise extension of users. @source RFC 7643 §4.3 */
export const ENTERPRISE_SCHEMA: ScimSchema = {
  id: ENTERPRISE_SCHEMA_URN,
  name: "EnterpriseUser",
  description: "Enterprise attributes of a user.",
  attributes: [
    textAttribute("employeeNumber", "Number in the organisation."),
    textAttribute("costCenter", "Cost centre."),
    textAttribute("organization", "Organisation."),
    textAttribute("division", "Division."),
    textAttribute("department", "Department."),
    {
      name: "manager",
      type: "complex",
      description: "Manager of the user.",
      subAttributes: [
        textAttribute("value", "Id of that user."),
        textAttribute("$ref", "Its address."),
        textAttribute("displayName", "Its name."),
      ],
    },
  ],
};

/** The Group schema. @source RFC 7643 §4.2 */
export const GROUP_SCHEMA: ScimSchema = {
  id: GROUP_SCHEMA_URN,
  name: "Group",
  description: "A directory group, which can be linked to security groups and distribution lists.",
  attributes: [
    textAttribute("displayName", "Name of the group in the directory.", { required: true, uniqueness: "server" }),
    multiValuedAttribute("members", "Users in the group. Nested groups are not supported.", [
      textAttribute("value", "Id of the user.", { mutability: "immutable", caseExact: true }),
      REFERENCE_ATTRIBUTE,
      readOnlyAttribute("display", "Its name."),
      readOnlyAttribute("type", "User."),
    ]),
  ],
};

/** Core attributes that are accepted but not stored; directories send them by default. */
export const IGNORED_ATTRIBUTES: ReadonlySet<string> = new Set(
  ["password", "ims", "photos", "entitlements", "roles", "x509Certificates", "schemas"].map((name) =>
    name.toLowerCase(),
  ),
);

/** Finds an attribute by name, ignoring case. @source RFC 7643 §2.1 */
export function findAttribute(attributes: readonly ScimAttribute[], name: string): ScimAttribute | null {
  const wanted = name.toLowerCase();
  return attributes.find((attribute) => attribute.name.toLowerCase() === wanted) ?? null;
}

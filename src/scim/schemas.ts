/** An attribute as schemas describe it. @source RFC 7643 §2.2, §7 */
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

/** A schema: its attributes in the order in which they are shown. */
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

const TYPE_ATTRIBUTE = textAttribute("type", "What it is used for, such as work.");
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

/** Of all resources, in no schema's list. @source RFC 7643 §3.1 */
export const COMMON_ATTRIBUTES: readonly ScimAttribute[] = [
  readOnlyAttribute("id", "The id here."),
  textAttribute("externalId", "The directory's own id.", { caseExact: true }),
  {
    name: "meta",
    type: "complex",
    description: "What is known of the resource itself.",
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

/** What users have. own choice: passwords, pictures, certificates, roles and entitlements are not kept. @source RFC 7643 §4.1 */
export const USER_SCHEMA: ScimSchema = {
  id: USER_SCHEMA_URN,
  name: "User",
  description: "A person that the directory provisions.",
  attributes: [
    textAttribute("userName", "What the directory's log-in calls the user.", { required: true, uniqueness: "server" }),
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
    textAttribute("displayName", "What others call the user."),
    textAttribute("nickName", "What friends call the user."),
    { name: "profileUrl", type: "reference", description: "Page about the user.", referenceTypes: ["external"] },
    textAttribute("title", "What the user is in the organisation."),
    textAttribute("userType", "How the user belongs to the organisation."),
    textAttribute("preferredLanguage", "Language in which the user wants to be addressed."),
    textAttribute("locale", "Where the user is, for times and numbers."),
    textAttribute("timezone", "Time zone of the user."),
    { name: "active", type: "boolean", description: "False: the user is shut out, and all that was open ends." },
    multiValuedAttribute("emails", "E-mail addresses; the primary one, of work, or first one is the user's here.", [
      textAttribute("value", "The address."),
      textAttribute("display", "How it is shown."),
      TYPE_ATTRIBUTE,
      PRIMARY_ATTRIBUTE,
    ]),
    multiValuedAttribute("phoneNumbers", "Phone numbers.", [
      textAttribute("value", "The number."),
      textAttribute("display", "How it is shown."),
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
      ...multiValuedAttribute("groups", "Groups of the directory that the user is in.", [
        readOnlyAttribute("value", "Id of the group."),
        REFERENCE_ATTRIBUTE,
        readOnlyAttribute("display", "Its name."),
        readOnlyAttribute("type", "How: direct."),
      ]),
      mutability: "readOnly",
    },
  ],
};

/** What organisations say of their people. @source RFC 7643 §4.3 */
export const ENTERPRISE_SCHEMA: ScimSchema = {
  id: ENTERPRISE_SCHEMA_URN,
  name: "EnterpriseUser",
  description: "What an organisation says of its people.",
  attributes: [
    textAttribute("employeeNumber", "Number in the organisation."),
    textAttribute("costCenter", "Cost centre."),
    textAttribute("organization", "Organisation."),
    textAttribute("division", "Division."),
    textAttribute("department", "Department."),
    {
      name: "manager",
      type: "complex",
      description: "Whom the user reports to.",
      subAttributes: [
        textAttribute("value", "Id of that user."),
        textAttribute("$ref", "Its address."),
        textAttribute("displayName", "Its name."),
      ],
    },
  ],
};

/** What groups have. @source RFC 7643 §4.2 */
export const GROUP_SCHEMA: ScimSchema = {
  id: GROUP_SCHEMA_URN,
  name: "Group",
  description: "A group of people in the directory, to which security groups and lists are tied here.",
  attributes: [
    textAttribute("displayName", "What the directory calls the group.", { required: true, uniqueness: "server" }),
    multiValuedAttribute("members", "Users in the group. own choice: no groups in groups.", [
      textAttribute("value", "Id of the user.", { mutability: "immutable", caseExact: true }),
      REFERENCE_ATTRIBUTE,
      readOnlyAttribute("display", "Its name."),
      readOnlyAttribute("type", "User."),
    ]),
  ],
};

/** Attributes of the core that are understood and not kept. own choice: directories send them unasked. */
export const IGNORED_ATTRIBUTES: ReadonlySet<string> = new Set(
  ["password", "ims", "photos", "entitlements", "roles", "x509Certificates", "schemas"].map((name) =>
    name.toLowerCase(),
  ),
);

/** The attribute of a name, whatever its case. @source RFC 7643 §2.1 */
export function findAttribute(attributes: readonly ScimAttribute[], name: string): ScimAttribute | null {
  const asked = name.toLowerCase();
  return attributes.find((attribute) => attribute.name.toLowerCase() === asked) ?? null;
}
